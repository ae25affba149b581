// SearXNG: an operator's own instance, with `json` among its `search.formats`.
import { z } from "zod";
import { fitting, maybe, type SearchBackend } from "./backend.js";

const answer = z.object({ results: z.array(z.unknown()) });
const entry = z.object({ title: z.string(), url: z.string(), content: maybe, publishedDate: maybe });

export const searxng: SearchBackend = {
  name: "SearXNG",
  url: undefined,
  request: ({ query }, { base, key }) => ({
    url: `${base}/search?${new URLSearchParams({ q: query, format: "json" })}`,
    headers: { accept: "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
  }),
  results: (value) => {
    const { data } = answer.safeParse(value);
    return (
      data &&
      fitting(data.results, entry).map(({ title, url, content, publishedDate }) => ({
        title,
        url,
        snippet: content ?? "",
        published: publishedDate ?? undefined,
      }))
    );
  },
  advice: {
    403: "the operator must add json to search.formats in the instance's settings.yml",
    404: "the operator must set agent.web.search.url to the instance's own address",
    429: "the operator must let this server through the instance's limiter",
  },
};

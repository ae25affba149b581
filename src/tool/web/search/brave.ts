// The Brave Search API.
import { z } from "zod";
import { fitting, maybe, type SearchBackend } from "./backend.js";

// An answer without a single page has no `web`.
const answer = z.object({ type: z.literal("search"), web: z.object({ results: z.array(z.unknown()) }).optional() });
const entry = z.object({ title: z.string(), url: z.string(), description: maybe, page_age: maybe });

const wrongKey = "the operator must check the key (BRAVE_API_KEY, or agent.web.search.keyEnv)";

export const brave: SearchBackend = {
  name: "Brave",
  url: "https://api.search.brave.com",
  request: ({ query, count }, { base, key }) => ({
    url: `${base}/res/v1/web/search?${new URLSearchParams({ q: query, count: String(count), text_decorations: "false" })}`,
    headers: { accept: "application/json", "x-subscription-token": key ?? "" },
  }),
  results: (value) => {
    const { data } = answer.safeParse(value);
    return (
      data &&
      fitting(data.web?.results, entry).map(({ title, url, description, page_age }) => ({
        title,
        url,
        snippet: description ?? "",
        published: page_age ?? undefined,
      }))
    );
  },
  advice: {
    401: wrongKey,
    403: wrongKey,
    // What it says of a key that it does not know, and of a query that is too long.
    422: `ask with fewer words; if that does not help, ${wrongKey}`,
    429: "wait a moment and try again; if that does not help, the plan is used up",
  },
};

// The Tavily Search API.
import { z } from "zod";
import { fitting, maybe, type SearchBackend } from "./backend.js";

const answer = z.object({ results: z.array(z.unknown()) });
const entry = z.object({ title: z.string(), url: z.string(), content: maybe, published_date: maybe });

const wrongKey = "the operator must check the key (TAVILY_API_KEY, or agent.web.search.keyEnv)";
const usedUp = "the plan is used up; the operator must raise it";

export const tavily: SearchBackend = {
  name: "Tavily",
  url: "https://api.tavily.com",
  request: ({ query, count }, { base, key }) => ({
    url: `${base}/search`,
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ query, max_results: count, search_depth: "basic" }),
  }),
  results: (value) => {
    const { data } = answer.safeParse(value);
    return (
      data &&
      fitting(data.results, entry).map(({ title, url, content, published_date }) => ({
        title,
        url,
        snippet: content ?? "",
        published: published_date ?? undefined,
      }))
    );
  },
  advice: {
    400: "ask with fewer words",
    401: wrongKey,
    403: wrongKey,
    429: "wait a moment and try again",
    432: usedUp,
    433: usedUp,
  },
};

// The Responses API: whether it is served, and what built-in tools show as.
import { z } from "zod";
import { section } from "./rules.js";
import type { Layer } from "./sources.js";

const builtInShapes = ["mcp", "function"] as const;

export interface ResponsesConfig {
  /** Whether `/v1/responses` and `/v1/models` are served. */
  readonly enabled: boolean;
  /** What built-in tools show as that have no item type of their own. */
  readonly builtInTools: (typeof builtInShapes)[number];
}

export const defaultResponses: ResponsesConfig = { enabled: true, builtInTools: "mcp" };

export const responsesSchema = section({
  enabled: z.boolean("true or false").optional(),
  builtInTools: z.enum(builtInShapes, `one of ${builtInShapes.join(", ")}`).optional(),
});

export const responsesOf = (layers: readonly Layer[]): ResponsesConfig => {
  const { enabled, builtInTools } =
    layers.findLast(({ values }) => values.responses !== undefined)?.values.responses ?? {};
  return {
    enabled: enabled ?? defaultResponses.enabled,
    builtInTools: builtInTools ?? defaultResponses.builtInTools,
  };
};

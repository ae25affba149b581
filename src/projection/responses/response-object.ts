// The response itself: every key of it, also where there is nothing to say (strict clients look for them).
import type { Usage } from "../../thread/schema.js";
import type { Echo, Item, ResponseObject, ResponseStatus, ResponseUsage } from "./wire.js";

export interface ResponseFacts {
  readonly id: string;
  /** Seconds. */
  readonly createdAt: number;
  readonly completedAt: number | null;
  readonly status: ResponseStatus;
  readonly output: readonly Item[];
  readonly usage: ResponseUsage | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete: string | null;
}

export function responseObject(facts: ResponseFacts, echo: Echo): ResponseObject {
  const { include: _, ...said } = echo;
  return {
    id: facts.id,
    object: "response",
    created_at: facts.createdAt,
    completed_at: facts.completedAt,
    status: facts.status,
    error: facts.error,
    incomplete_details: facts.incomplete === null ? null : { reason: facts.incomplete },
    output: facts.output,
    usage: facts.usage,
    ...said,
  };
}

/** What a segment used: all of its run so far, without what the segments before it used. */
export function usageOf(now: Usage | undefined, before: Usage | undefined): ResponseUsage | null {
  if (!now) return null;
  const less = (field: "inputTokens" | "cachedInputTokens" | "outputTokens" | "reasoningTokens"): number =>
    Math.max(0, Number(now[field] - (before?.[field] ?? 0n)));
  const [input, output] = [less("inputTokens"), less("outputTokens")];
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: less("cachedInputTokens") },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: less("reasoningTokens") },
    total_tokens: input + output,
  };
}

// How a sub-run ended, for people: one line.
import { counted, oneLine } from "../words.js";
import type { SubRunEnd } from "./sub-runs.js";

export function endWords({ outcome, finishReason, errorMessage, toolCalls, durationMs }: SubRunEnd): string {
  switch (outcome) {
    case "succeeded":
      return `Sub-agent finished (${counted(toolCalls, "tool call", "tool calls")}, ${spanWords(durationMs)})`;
    case "incomplete":
      return `Stopped: ${Object.hasOwn(reasons, finishReason) ? reasons[finishReason] : oneLine(finishReason) || "cut off"}`;
    case "cancelled":
      return "Sub-agent was cancelled";
    case "failed":
    case "interrupted":
      return `Sub-agent failed: ${oneLine(errorMessage) || outcome}`;
  }
}

const lengthReached = "reply too long";

/** Heddle's reasons, and what providers call theirs. Others are told as they are. */
const reasons: Readonly<Record<string, string>> = {
  step_limit: "step limit",
  time_limit: "time limit",
  token_limit: "token limit",
  length: lengthReached,
  max_tokens: lengthReached,
  model_length: lengthReached,
  content_filter: "filtered by the provider",
};

/** `800 ms`, `41 s`, `12 min`. */
function spanWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}

// Calls whose input was cut off with their reply: because it reached its length limit, or because the provider filtered it.
import type { EndReason } from "../model/model.js";
import { ToolCallOutcome } from "../thread/schema.js";
import type { CallEnd } from "./record-end.js";
import type { CallInput } from "./streamed-call.js";

/** How such a call ends. Undefined: it is whole. */
export function cutOff({ checked, text }: CallInput, reason: EndReason): CallEnd | undefined {
  if (reason !== "truncated" && reason !== "filtered") return undefined;
  // Nothing counts as an empty input, unless something may have been meant to come.
  const isBroken = checked?.ok ? text.trim() === "" : checked?.kind === "invalid_json";
  if (!isBroken) return undefined;
  const message = "The input was cut off";
  const hint =
    reason === "truncated"
      ? "The reply reached its length limit: write a shorter input"
      : "The provider filtered the reply";
  return {
    outcome: ToolCallOutcome.REJECTED,
    summary: message,
    error: { kind: "truncated_input", message },
    modelText: `The call was not run. ${message}. ${hint}.`,
  };
}

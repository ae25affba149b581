// Enum values as words: AWAITING_APPROVAL is "awaiting approval".
import { type ToolCallError, ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";

/** A value that this version does not know, or that is not set, is "unknown". */
export function word(values: Readonly<Record<number, string>>, value: number): string {
  return value === 0 ? "unknown" : (values[value]?.toLowerCase().replaceAll("_", " ") ?? "unknown");
}

/** A reader that meets no outcome shows a failure. */
export const outcomeWord = (outcome: ToolCallOutcome): string =>
  outcome === ToolCallOutcome.UNSPECIFIED ? "failed" : word(ToolCallOutcome, outcome);

/** The parts that say something, with commas between them. */
export const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join(", ");

/** What an error adds to the summary that stands beside it: many messages begin with its very words. */
export function errorText({ kind, code, message }: ToolCallError, summary: string): string {
  const isRepeated = summary !== "" && message.startsWith(summary);
  return joined(kind, code, isRepeated ? message.slice(summary.length).replace(/^[\s.,:;]+/, "") : message);
}

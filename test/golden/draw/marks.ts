// What endings look like, and how texts, times and sizes are written into a picture.
import { RunOutcome, ToolCallOutcome } from "../../../src/thread/schema.js";

export const callMarks: Readonly<Record<ToolCallOutcome, string>> = {
  [ToolCallOutcome.UNSPECIFIED]: "?",
  [ToolCallOutcome.SUCCEEDED]: "✓",
  [ToolCallOutcome.FAILED]: "✗",
  [ToolCallOutcome.DENIED]: "⊘",
  [ToolCallOutcome.REJECTED]: "⊘",
  [ToolCallOutcome.DISCARDED]: "⊘",
  [ToolCallOutcome.CANCELLED]: "■",
  [ToolCallOutcome.TIMED_OUT]: "■",
  [ToolCallOutcome.INTERRUPTED]: "↯",
};

export const runMarks: Readonly<Record<RunOutcome, string>> = {
  [RunOutcome.UNSPECIFIED]: "?",
  [RunOutcome.SUCCEEDED]: "✓",
  [RunOutcome.FAILED]: "✗",
  [RunOutcome.CANCELLED]: "■",
  [RunOutcome.INCOMPLETE]: "■",
  [RunOutcome.INTERRUPTED]: "↯",
};

export const legend =
  "✓ succeeded · ✗ failed · ⊘ never ran (rejected, denied, discarded) · ■ stopped (cancelled, out of time, limit) · ↯ interrupted";

/** One line, in which a line break can be seen. */
export const visible = (text: string): string => text.replaceAll("\n", "⏎");

export const quoted = (text: string): string => `“${visible(text)}”`;

/** ` (a, b)`, or nothing. */
export const inBrackets = (...facts: readonly string[]): string => {
  const said = facts.filter((fact) => fact !== "");
  return said.length === 0 ? "" : ` (${said.join(", ")})`;
};

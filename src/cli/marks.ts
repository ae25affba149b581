// One sign for each way to end, the same wherever an end is shown.
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import type { Style } from "./terminal.js";

export interface Mark {
  readonly icon: string;
  readonly paint: keyof Style;
}

export const marks = {
  succeeded: { icon: "✓", paint: "green" },
  failed: { icon: "✗", paint: "red" },
  /** Called off or refused: neither success nor failure. */
  calledOff: { icon: "⊘", paint: "yellow" },
  /** It broke off, and what it has done is not known. */
  interrupted: { icon: "↯", paint: "red" },
} as const satisfies Record<string, Mark>;

/** A reader that meets no outcome shows a failure. */
export function markOfCall(outcome: ToolCallOutcome): Mark {
  switch (outcome) {
    case ToolCallOutcome.SUCCEEDED:
      return marks.succeeded;
    case ToolCallOutcome.CANCELLED:
    case ToolCallOutcome.DENIED:
    case ToolCallOutcome.DISCARDED:
      return marks.calledOff;
    case ToolCallOutcome.INTERRUPTED:
      return marks.interrupted;
    default:
      return marks.failed;
  }
}

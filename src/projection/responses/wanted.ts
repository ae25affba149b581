// Which bodies are read for an event of a call: those that the response tells of it. A run may have thousands of calls that are not the
// response's, and each body is a read.
import type { ThreadEvent } from "../../thread/event.js";
import { ToolCallOutcome } from "../../thread/schema.js";
import type { CallFacts } from "./call-items.js";
import type { Open } from "./output.js";

/** What an event only tells of. */
export type Body = "input" | "output" | "result" | "tools";

/** A call that is not over. */
export interface OpenCall {
  facts: CallFacts;
  /** Undefined: nothing of it has been shown. */
  shown: Open | undefined;
  /** It shows when its turn comes: calls that run one at a time, and one of them may end the response. */
  isLater: boolean;
  /** Its input was complete before the response began, and was not read: most such calls never show. */
  isUnread: boolean;
  code: string;
  /** Of a function: how far the item has come. It is done with its input, unless that may have been cut off. */
  input: "open" | "complete" | "given";
}

interface Telling {
  /** Whether the event belongs to the response. */
  readonly isOwn: boolean;
  /** What the request wants to see. */
  readonly include: readonly string[];
}

export function wantedOf({ payload }: ThreadEvent, call: OpenCall, telling: Telling): readonly Body[] {
  switch (payload.case) {
    case "toolCallInputCompleted":
      return telling.isOwn ? ["input"] : [];
    case "toolCallApprovalRequested":
    case "toolCallApprovalResolved":
    case "toolCallStarted":
      return telling.isOwn && call.isUnread ? ["input"] : [];
    case "toolCallComplete":
      return [...lateInput(call, telling), ...given(call, payload.value.outcome, telling)];
    default:
      return [];
  }
}

/** Of one that shows only now that it is over. */
const lateInput = ({ isLater, isUnread }: OpenCall, { isOwn }: Telling): readonly Body[] =>
  isOwn && isLater && isUnread ? ["input"] : [];

function given({ facts, shown, isLater }: OpenCall, outcome: ToolCallOutcome, telling: Telling): readonly Body[] {
  const { shape, isAnswered } = facts;
  // Whatever a search of the run has found can be cited, also by a later response.
  if (shape === "web_search" || shape === "file_search") return outcome === ToolCallOutcome.SUCCEEDED ? ["result"] : [];
  if (!telling.isOwn || (!shown && !isLater)) return [];
  const isCode = shape === "code_interpreter" && telling.include.includes("code_interpreter_call.outputs");
  return shape === "mcp" || isAnswered || isCode ? ["output"] : [];
}

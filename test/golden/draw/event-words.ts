// One event in a picture: its name, without what the tree says already, and what it carries.
import { durationText, sizeText } from "../../../src/cli/format.js";
import { errorText, outcomeWord, word } from "../../../src/cli/words.js";
import type { StoredPayload, ThreadEvent } from "../../../src/thread/event.js";
import {
  ApprovalDecision,
  Executor,
  OutputStream,
  Role,
  RunOutcome,
  SuspendReason,
  TextPurpose,
  ToolCallPhase,
} from "../../../src/thread/schema.js";
import { callMarks, inBrackets, quoted, runMarks, visible } from "./marks.js";

export interface EventWords {
  /** `toolCallInputDelta` → `InputDelta`. */
  readonly name: string;
  readonly text: string;
  /** What goes on below it. */
  readonly more?: string;
}

export const wordsOf = ({ payload }: ThreadEvent): EventWords => {
  const stored = payload as StoredPayload;
  return { name: nameOf(stored.case), text: textOf(stored), ...moreOf(stored) };
};

/** An error that says more than the summary does. */
function moreOf(payload: StoredPayload): { more?: string } {
  if (payload.case !== "toolCallComplete") return {};
  const { error, summary } = payload.value;
  const more = error && error.message !== summary && errorText(error, summary);
  return more ? { more } : {};
}

/** A call's and a message's own events stand below it: its name is not repeated. */
function nameOf(name: StoredPayload["case"]): string {
  const short = name.replace(/^(toolCall|message|reasoning)(?=[A-Z])/, "");
  return short.charAt(0).toUpperCase() + short.slice(1);
}

function textOf(payload: StoredPayload): string {
  switch (payload.case) {
    case "runStarted":
      return payload.value.model;
    case "runSuspended":
      return word(SuspendReason, payload.value.reason);
    case "runCompleted": {
      const { outcome, finishReason, usage, errorMessage } = payload.value;
      const used = usage?.inputTokens ? `${usage.inputTokens} tokens in, ${usage.outputTokens} out` : "";
      const said = errorMessage && `: ${quoted(errorMessage)}`;
      return `${runMarks[outcome]} ${word(RunOutcome, outcome)}${said}${inBrackets(finishReason, used)}`;
    }
    case "messageCreated":
      return word(Role, payload.value.role);
    case "messageDelta":
    case "reasoningDelta":
      return quoted(payload.value.text);
    case "messageCompleted":
      return payload.value.incomplete
        ? "incomplete"
        : payload.value.refusal && `refused: ${quoted(payload.value.refusal)}`;
    case "toolCallCreated": {
      const { toolName, title, attempt } = payload.value;
      return `${toolName}, ${quoted(title)}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
    }
    case "toolCallInputDelta":
      return visible(payload.value.text);
    case "toolCallTextDelta": {
      const { field, purpose, text } = payload.value;
      return `${word(TextPurpose, purpose)}, ${field}: ${quoted(text)}`;
    }
    case "toolCallInputCompleted": {
      const { summary, inputBytes, deltasTruncated } = payload.value;
      return `${quoted(summary)}${inBrackets(sizeText(inputBytes), deltasTruncated ? "deltas truncated" : "")}`;
    }
    case "toolCallApprovalRequested":
      return quoted(payload.value.reason);
    case "toolCallApprovalResolved": {
      const { decision, resolvedBy } = payload.value;
      return `${word(ApprovalDecision, decision)}${resolvedBy && ` by ${resolvedBy}`}`;
    }
    case "toolCallStarted": {
      const { executor, summary } = payload.value;
      const where = executor === Executor.SERVER ? "" : `for ${executor === Executor.MCP ? "MCP" : "a client"}: `;
      return `${where}${quoted(summary)}`;
    }
    case "toolCallClaimed":
      return `by ${payload.value.executorName}`;
    case "toolCallProgress": {
      const { phase, completed, total, message, elapsed } = payload.value;
      const count = completed === undefined ? "" : `${completed}${total === undefined ? "" : ` of ${total}`}`;
      const busy = phase === ToolCallPhase.UNSPECIFIED ? "" : word(ToolCallPhase, phase);
      const said = message && quoted(message);
      const facts = inBrackets(count, elapsed ? `after ${durationText(elapsed)}` : "");
      return `${[busy, said].filter(Boolean).join(", ")}${facts}`;
    }
    case "toolCallOutputDelta": {
      const { stream, offset, text } = payload.value;
      return `${word(OutputStream, stream)} from byte ${offset}: ${quoted(text)}`;
    }
    case "toolCallComplete": {
      const { outcome, summary, error, duration, exitCode, resultBytes } = payload.value;
      const facts = inBrackets(
        duration ? durationText(duration) : "",
        exitCode === undefined ? "" : `exit code ${exitCode}`,
        resultBytes > 0n ? `result ${sizeText(resultBytes)}` : "",
        error && error.message === summary ? errorText(error, summary) : "",
      );
      return `${callMarks[outcome]} ${outcomeWord(outcome)}: ${quoted(summary)}${facts}`;
    }
    case "toolDiscoveryStarted":
      return payload.value.serverLabel;
    case "toolDiscoveryComplete": {
      const { success, toolCount, errorMessage } = payload.value;
      return success ? `✓ ${toolCount} ${toolCount === 1 ? "tool" : "tools"}` : `✗ ${quoted(errorMessage)}`;
    }
    default:
      return "";
  }
}

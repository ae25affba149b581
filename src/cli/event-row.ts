// What each kind of event says to a person: one table, a row for each kind.
import {
  Closing_Reason,
  ToolCallApprovalResolved_Decision as Decision,
  OutputStream,
  PlanEntry_Status,
  type PlanUpdated,
  ProcessOutcome,
  Role,
  type RunCompleted,
  type RunSuspended,
  type StreamThreadEventsResponse,
  SuspendReason,
  TextPurpose,
  type ToolCallApprovalResolved,
  type ToolCallComplete,
  type ToolCallCreated,
  ToolCallPhase,
  type ToolCallProgress,
} from "../../gen/heddle/v1/event_pb.js";
import type { ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { durationText, sizeText } from "./format.js";
import { markOfCall, marks } from "./marks.js";
import { runEndOf } from "./run-end.js";
import { clip, type Style, safeLine } from "./terminal.js";
import { errorText, exitCodeText, joined, outcomeWord, word } from "./words.js";

export interface Row {
  readonly icon: string;
  readonly word: string;
  /** Safe for a terminal. */
  readonly text: string;
  readonly paint?: keyof Style;
}

/** What Created said of a call that is not over. */
export interface KnownCall {
  readonly title: string;
  readonly kind: ToolKind;
}

export interface Known {
  readonly style: Style;
  readonly calls: ReadonlyMap<string, KnownCall>;
}

const longestDelta = 100;

/** Where to look for what a sub-agent does. */
const childText = ({ childThreadId }: { childThreadId: string }): string =>
  childThreadId === "" ? "" : `its thread is ${childThreadId}`;

/** Who runs it, where that is not the server. */
const sourceText = ({ source }: Pick<ToolCallCreated, "source">): string =>
  source?.source.case === "client" ? `run by ${source.source.value.name || "a client"}` : "";

export function rowOf({ payload }: StreamThreadEventsResponse, known: Known): Row {
  const { dim } = known.style;
  switch (payload.case) {
    case "runStarted": {
      const { model, producer } = payload.value;
      return {
        icon: "▶",
        word: "run",
        text: safeLine(joined("started", model, producer && `by ${producer}`)),
        paint: "cyan",
      };
    }
    case "runSuspended":
      return { icon: "‖", word: "run", text: waiting(payload.value), paint: "yellow" };
    case "runResumed":
      return { icon: "▶", word: "run", text: "goes on", paint: "cyan" };
    case "runCompleted":
      return runEnd(payload.value);
    case "messageCreated":
      return { icon: "›", word: "message", text: word(Role, payload.value.role) };
    case "messageDelta":
      return delta("text", payload.value.text);
    case "messageCompleted": {
      const { incomplete, refusal, attachments } = payload.value;
      const refused = refusal && `refused: ${clip(refusal, longestDelta)}`;
      const images = attachments.length > 0 && `with ${attachments.length} image${attachments.length > 1 ? "s" : ""}`;
      const text = safeLine(joined(incomplete ? "cut off" : "complete", images || "", refused));
      return { icon: "›", word: "message", text };
    }
    case "reasoningDelta":
      return delta("reasoning", payload.value.text);
    case "reasoningCompleted":
      return { icon: "›", word: "reasoning", text: "complete" };
    case "planUpdated":
      return { icon: "≡", word: "plan", text: planText(payload.value) };
    case "toolCallCreated":
      return {
        icon: "○",
        word: "named",
        text: `${nameOf(payload.value, known)} ${dim(safeLine(joined(payload.value.toolCallId, sourceText(payload.value), childText(payload.value))))}`,
      };
    case "toolCallInputDelta":
      return delta("input", payload.value.text);
    case "toolCallTextDelta":
      return delta(payload.value.purpose === TextPurpose.CODE ? "code" : "says", payload.value.text);
    case "toolCallInputCompleted":
      return {
        icon: "◌",
        word: "input",
        text: about(payload.value, known, { facts: [sizeText(payload.value.inputBytes)] }),
      };
    case "toolCallApprovalRequested":
      return {
        icon: "?",
        word: "approval",
        text: about(payload.value, known, { facts: [payload.value.reason] }),
        paint: "yellow",
      };
    case "toolCallApprovalResolved":
      return answered(payload.value, known);
    case "toolCallStarted":
      return { icon: "●", word: "started", text: about(payload.value, known), paint: "cyan" };
    case "toolCallClaimed":
      return {
        icon: "●",
        word: "claimed",
        text: about(payload.value, known, { summary: `by ${payload.value.executorName}` }),
      };
    case "toolCallProgress":
      return { icon: "◐", word: "progress", text: about(payload.value, known, progress(payload.value)) };
    case "toolCallOutputDelta":
      return delta(payload.value.stream === OutputStream.STDERR ? "stderr" : "output", payload.value.text);
    case "toolCallComplete":
      return completed(payload.value, known);
    case "toolDiscoveryStarted":
      return { icon: "○", word: "discovery", text: `asking ${safeLine(payload.value.serverLabel)} for its tools` };
    case "toolDiscoveryComplete": {
      const { serverLabel, success, toolCount, errorMessage } = payload.value;
      return success
        ? { ...marks.succeeded, word: "discovery", text: `${safeLine(serverLabel)} has ${toolCount} tools` }
        : { ...marks.failed, word: "discovery", text: safeLine(`${serverLabel}: ${errorMessage}`) };
    }
    case "processStarted": {
      const { processId, command } = payload.value;
      return { icon: "●", word: "process", text: safeLine(`${processId} started: ${command}`), paint: "cyan" };
    }
    case "processExited": {
      const { processId, summary, outcome, exitCode } = payload.value;
      const isWell = outcome === ProcessOutcome.STOPPED || (outcome === ProcessOutcome.EXITED && exitCode === 0);
      return {
        ...(isWell ? marks.succeeded : marks.failed),
        word: "process",
        text: safeLine(`${processId}: ${summary}`),
      };
    }
    case "ready":
      return { icon: "·", word: "ready", text: `the head is ${payload.value.headSequence}`, paint: "dim" };
    case "caughtUp":
      return { icon: "·", word: "caught up", text: `at ${payload.value.headSequence}`, paint: "dim" };
    case "heartbeat":
      return { icon: "·", word: "heartbeat", text: `after ${payload.value.afterSequence}`, paint: "dim" };
    case "closing":
      return { icon: "·", word: "closing", text: word(Closing_Reason, payload.value.reason), paint: "dim" };
    case undefined: // A newer writer. Say so rather than guess.
      return { icon: "·", word: "unknown", text: "an event that this version does not know", paint: "dim" };
    default:
      payload satisfies never;
      return { icon: "·", word: "unknown", text: "" };
  }
}

interface AboutCall {
  readonly toolCallId: string;
  readonly toolName?: string;
  readonly summary?: string;
}

/** `Tool: summary (fact, fact)` */
function about(call: AboutCall, known: Known, extra: { summary?: string; facts?: readonly string[] } = {}): string {
  const summary = extra.summary ?? call.summary ?? "";
  const facts = joined(...(extra.facts ?? []));
  const parts = [
    `${nameOf(call, known)}${summary === "" ? "" : `: ${safeLine(summary)}`}`,
    facts === "" ? "" : known.style.dim(`(${safeLine(facts)})`),
  ];
  return parts.filter(Boolean).join(" ");
}

/** The title that Created gave, else what the event itself says, else the call's id: a follower may have come later. */
function nameOf({ toolCallId, toolName }: AboutCall, { style, calls }: Known): string {
  return style.bold(safeLine(calls.get(toolCallId)?.title || toolName || `call ${toolCallId.slice(0, 8)}`));
}

const delta = (what: string, text: string): Row => ({
  icon: "…",
  word: what,
  text: clip(safeLine(clip(text, longestDelta)), longestDelta),
  paint: "dim",
});

function completed(complete: ToolCallComplete, known: Known): Row {
  const { duration, error, outcome } = complete;
  const facts = [
    duration === undefined ? "" : durationText(duration),
    exitCodeText({ ...complete, kind: known.calls.get(complete.toolCallId)?.kind }),
    error === undefined ? "" : errorText(error, complete.summary, outcome),
  ];
  return { ...markOfCall(outcome), word: outcomeWord(outcome), text: about(complete, known, { facts }) };
}

function answered(resolved: ToolCallApprovalResolved, known: Known): Row {
  const isAllowed = resolved.decision === Decision.ALLOWED;
  const by = resolved.resolvedBy && `by ${resolved.resolvedBy}`;
  const summary = joined(word(Decision, resolved.decision), by, resolved.reason);
  const mark = isAllowed ? marks.succeeded : marks.calledOff;
  return { ...mark, word: "approval", text: about(resolved, known, { summary }) };
}

function progress({ phase, completed: done, total, message, startedSummary, elapsed }: ToolCallProgress) {
  const count = done === undefined ? "" : total === undefined ? `${done}` : `${done} of ${total}`;
  return {
    summary: message || startedSummary,
    facts: [
      phase === ToolCallPhase.UNSPECIFIED ? "" : word(ToolCallPhase, phase),
      count,
      elapsed === undefined ? "" : durationText(elapsed),
    ],
  };
}

function waiting({ reason, openToolCallIds }: RunSuspended): string {
  const what = { [SuspendReason.CLIENT_TOOL]: "a client to run a tool", [SuspendReason.APPROVAL]: "an approval" }[
    reason as number
  ];
  return `waits for ${what ?? "something outside"}${openToolCallIds.length > 1 ? ` (${openToolCallIds.length} calls)` : ""}`;
}

function runEnd(run: RunCompleted): Row {
  const { mark, outcome, why, tokens } = runEndOf(run);
  return { ...mark, word: "run", text: safeLine(joined(why === "" ? outcome : `${outcome}: ${why}`, tokens)) };
}

function planText({ entries }: PlanUpdated): string {
  const done = entries.filter(({ status }) => status === PlanEntry_Status.COMPLETED).length;
  const current = entries.find(({ status }) => status === PlanEntry_Status.IN_PROGRESS);
  return `${done} of ${entries.length} done${current === undefined ? "" : `, now: ${safeLine(current.content)}`}`;
}

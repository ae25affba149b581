// The live view of a run as a pure fold: events in, lines out. What is over leaves as finished lines, once and in order; what
// is open stays in the view, to be drawn again and again (live-view-open.ts). It knows no terminal.
// It is long because it is one table of all events: what becomes of each is read in one place.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  ToolCallApprovalResolved_Decision as Decision,
  Role,
  type RunCompleted,
  type StreamThreadEventsResponse,
  SuspendReason,
  TextPurpose,
  type ToolCallApprovalResolved,
  type ToolCallComplete,
  type ToolCallCreated,
} from "../../gen/heddle/v1/event_pb.js";
import { Executor } from "../../gen/heddle/v1/tool_call_pb.js";
import { rowOf } from "./event-row.js";
import {
  allowedCallLine,
  completeCallLines,
  elapsedText,
  newCall,
  type OpenCall,
  withCode,
  withOutput,
  withProgress,
} from "./live-view-call.js";
import { emptyLine, type Line, lineOf } from "./live-view-line.js";
import type { OpenQuestion } from "./live-view-question.js";
import { addText, endText, newParagraph, noTail, type Paragraph } from "./live-view-text.js";
import { asksUser, optionsText } from "./question-options.js";
import { runEndOf } from "./run-end.js";
import { plainStyle, type Style, safeLine } from "./terminal.js";
import { joined } from "./words.js";

/** A text that is being written: the agent's answer, or its reasoning. */
export interface OpenText {
  readonly type: "text";
  readonly id: string;
  readonly paint: keyof Style | undefined;
  readonly paragraph: Paragraph;
}

export type OpenItem = OpenText | OpenCall;

export interface View {
  readonly state: "idle" | "running" | "over";
  /** In the order in which they began. */
  readonly open: readonly OpenItem[];
  /** What the last finished line belongs to: an empty line stands between things of different groups. */
  readonly lastGroup: string;
  /** When the last event came. */
  readonly touchedMs: number;
  /** Since when the server is away. */
  readonly awayMs: number | undefined;
  /** When the run began, by the server's clock. */
  readonly startMs: number | undefined;
  /** What somebody is asked at this moment. */
  readonly question: OpenQuestion | undefined;
  /** The last suspension was told: so is its end. */
  readonly isPauseTold: boolean;
}

export interface Step {
  readonly view: View;
  /** Lines that are done, in order. */
  readonly finished: readonly Line[];
}

export const newView: View = {
  state: "idle",
  open: [],
  lastGroup: "",
  touchedMs: 0,
  awayMs: undefined,
  startMs: undefined,
  question: undefined,
  isPauseTold: false,
};

export const callGroup = "calls";
const noteGroup = "notes";

/** What an open item belongs to. What is said through a tool is a text like any other. */
export const groupOf = (item: OpenItem): string => (item.type === "call" && !isSpeaking(item) ? callGroup : item.id);

/** The agent says something through the call: that is what is shown of it. */
export const isSpeaking = ({ speech, stage }: OpenCall): boolean =>
  stage === "writing" && (speech.hasBegun || speech.pending !== "");

/** Contract: called with every event of one run in order; `nowMs` never goes back. */
export function foldEvent(before: View, event: StreamThreadEventsResponse, nowMs: number): Step {
  const view = { ...before, touchedMs: nowMs };
  const { payload } = event;
  switch (payload.case) {
    case "runStarted": {
      const startMs = event.time && timestampMs(event.time);
      return finish({ ...view, state: "running", startMs }, noteGroup, [
        lineOf(`▶ ${safeLine(payload.value.model || "run started")}`, "dim"),
        lineOf(`  thread ${safeLine(event.threadId)}`, "dim"), // Apart: what is taken with a double click is the id.
      ]);
    }
    case "runCompleted":
      return completed(view, payload.value, event.time && timestampMs(event.time));
    case "messageCreated":
      return payload.value.role === Role.ASSISTANT ? opened(view, newText(payload.value.messageId)) : nothing(view);
    case "messageDelta":
      return written(view, payload.value.messageId, payload.value.text);
    case "messageCompleted": {
      const { messageId, refusal, incomplete } = payload.value;
      const remarks = [
        ...(refusal === "" ? [] : [lineOf(safeLine(`refused: ${refusal}`), "red")]),
        ...(incomplete ? [lineOf("(cut off)", "dim")] : []),
      ];
      return ended(view, messageId, remarks);
    }
    case "reasoningDelta": {
      const { reasoningId, text } = payload.value;
      if (view.open.some(({ id }) => id === reasoningId)) return written(view, reasoningId, text);
      const begun = opened(view, newText(reasoningId, "dim"));
      const step = written(begun.view, reasoningId, text);
      return { view: step.view, finished: [...begun.finished, ...step.finished] };
    }
    case "reasoningCompleted":
      return ended(view, payload.value.reasoningId, []);
    case "toolCallCreated":
      return opened(view, callOf(view, payload.value, nowMs));
    case "toolCallInputDelta": {
      const { toolCallId, text } = payload.value;
      // Raw JSON is nothing to read, but what a question offers stands in it alone.
      return changed(view, toolCallId, (call) =>
        call.asked === undefined ? call : { ...call, asked: call.asked + text },
      );
    }
    case "toolCallTextDelta": {
      const { toolCallId, purpose, text } = payload.value;
      if (purpose === TextPurpose.SPEECH) return spoken(view, toolCallId, (speech) => addText(speech, text));
      return changed(view, toolCallId, (call) => withCode(call, text));
    }
    case "toolCallInputCompleted": {
      const { toolCallId, summary } = payload.value;
      const ready = (call: OpenCall): OpenCall => ({
        ...call,
        stage: "ready",
        summary,
        sinceMs: nowMs,
        tail: noTail,
      });
      const offered = spoken(view, toolCallId, (speech, { asked = "" }) => addText(speech, optionsText(asked)));
      const said = spoken(offered.view, toolCallId, endSpeech);
      return {
        view: changed(said.view, toolCallId, ready).view,
        finished: [...offered.finished, ...said.finished],
      };
    }
    case "toolCallApprovalRequested": {
      const { toolCallId, summary, reason } = payload.value;
      const note = joined("waits for an approval", reason);
      return changed(view, toolCallId, (call) => ({ ...call, stage: "waiting", summary, note, sinceMs: nowMs }));
    }
    case "toolCallApprovalResolved":
      return answered(view, payload.value, nowMs);
    case "toolCallStarted": {
      const { toolCallId, summary, executor } = payload.value;
      const isOffered = executor === Executor.CLIENT;
      return changed(view, toolCallId, (call) => ({
        ...call,
        stage: isOffered ? "waiting" : "running",
        note: isOffered ? "waits for a client to run it" : "",
        summary: summary || call.summary,
        sinceMs: nowMs,
      }));
    }
    case "toolCallClaimed": {
      const note = `run by ${payload.value.executorName}`;
      return changed(view, payload.value.toolCallId, (call) => ({ ...call, stage: "running", note, sinceMs: nowMs }));
    }
    case "toolCallProgress": {
      const progress = payload.value;
      return changed(view, progress.toolCallId, (call) => withProgress(call, progress, nowMs));
    }
    case "toolCallOutputDelta": {
      const { toolCallId, text } = payload.value;
      return changed(view, toolCallId, (call) => withOutput(call, text));
    }
    case "toolCallComplete":
      return callEnded(view, payload.value);
    case "runSuspended": {
      // A call that waits for a yes says so itself, and so does the question.
      const isPauseTold = payload.value.reason !== SuspendReason.APPROVAL;
      return isPauseTold ? told({ ...view, isPauseTold }, event) : nothing(view);
    }
    case "runResumed":
      return view.isPauseTold ? told({ ...view, isPauseTold: false }, event) : nothing(view);
    case "planUpdated":
    case "toolDiscoveryStarted":
    case "toolDiscoveryComplete":
    case "processExited":
      return told(view, event);
    case "processStarted": // Its call says so.
    case "ready":
    case "caughtUp":
    case "heartbeat":
    case "closing":
    case undefined: // A newer writer. Keep quiet rather than guess.
      return nothing(view);
    default:
      payload satisfies never;
      return nothing(view);
  }
}

/** A line of the command's own. */
export const addNote = (view: View, text: string): Step => finish(view, noteGroup, [lineOf(safeLine(text), "yellow")]);

export const setAway = (view: View, awayMs: number | undefined): View => ({ ...view, awayMs });

export const setQuestion = (view: View, question: OpenQuestion | undefined): View => ({ ...view, question });

/** In the words of `heddle follow`. */
function told(view: View, event: StreamThreadEventsResponse): Step {
  const { icon, text, paint } = rowOf(event, { style: plainStyle, calls: new Map() });
  return finish(view, noteGroup, [lineOf(`${icon} ${text}`, paint)]);
}

const nothing = (view: View): Step => ({ view, finished: [] });

/** What begins comes after what was said before it: its end must not overtake a line that only waits for its own. */
function opened(before: View, item: OpenItem): Step {
  const finished: Line[] = [];
  let view = before;
  for (const each of before.open) {
    if (each.type !== "text" || each.paragraph.pending === "") continue;
    const step = written(view, each.id, "\n");
    view = step.view;
    finished.push(...step.finished);
  }
  return { view: { ...view, open: [...view.open, item] }, finished };
}

const newText = (id: string, paint?: keyof Style): OpenText => ({ type: "text", id, paint, paragraph: newParagraph });

const closed = (view: View, id: string): View => ({ ...view, open: view.open.filter((item) => item.id !== id) });

function callOf(view: View, created: ToolCallCreated, nowMs: number): OpenCall {
  const parent = view.open.find(({ id }) => id === created.parentToolCallId);
  const depth = parent?.type === "call" ? parent.depth + 1 : 0;
  return newCall({
    id: created.toolCallId,
    title: created.title || created.toolName,
    kind: created.kind,
    depth,
    sinceMs: nowMs,
    asked: asksUser(created.toolName) ? "" : undefined,
  });
}

function finish(view: View, group: string, lines: readonly Line[]): Step {
  if (lines.length === 0) return nothing(view);
  const gap = view.lastGroup === "" || view.lastGroup === group ? [] : [emptyLine];
  return { view: { ...view, lastGroup: group }, finished: [...gap, ...lines] };
}

function written(view: View, id: string, text: string): Step {
  const item = view.open.find((each) => each.id === id);
  if (item?.type !== "text") return nothing(view);
  const { paragraph, lines } = addText(item.paragraph, text);
  const step = finish(
    view,
    id,
    lines.map((line) => lineOf(line, item.paint)),
  );
  return { ...step, view: replaced(step.view, { ...item, paragraph }) };
}

function ended(view: View, id: string, remarks: readonly Line[]): Step {
  const item = view.open.find((each) => each.id === id);
  if (item?.type !== "text") return nothing(view);
  const rest = endText(item.paragraph).map((line) => lineOf(line, item.paint));
  return finish(closed(view, id), id, [...rest, ...remarks]);
}

const replaced = (view: View, item: OpenItem): View => ({
  ...view,
  open: view.open.map((each) => (each.id === item.id ? item : each)),
});

function changed(view: View, id: string, change: (call: OpenCall) => OpenCall): Step {
  const call = view.open.find((each) => each.id === id);
  return nothing(call?.type === "call" ? replaced(view, change(call)) : view);
}

/** A yes stays to be read. A no is the call's end, which says why. */
function answered(view: View, { toolCallId, decision, resolvedBy }: ToolCallApprovalResolved, nowMs: number): Step {
  const item = view.open.find(({ id }) => id === toolCallId);
  const { view: after } = changed(view, toolCallId, (call) => ({ ...call, stage: "ready", note: "", sinceMs: nowMs }));
  if (item?.type !== "call" || decision !== Decision.ALLOWED) return nothing(after);
  return finish(after, callGroup, [allowedCallLine(item, resolvedBy)]);
}

/** The lines that a call's speech completes leave as text of the agent's. */
function spoken(
  view: View,
  id: string,
  say: (speech: Paragraph, call: OpenCall) => { paragraph: Paragraph; lines: string[] },
): Step {
  const call = view.open.find((each) => each.id === id);
  if (call?.type !== "call") return nothing(view);
  const { paragraph, lines } = say(call.speech, call);
  const step = finish(
    view,
    id,
    lines.map((line) => lineOf(line)),
  );
  return { ...step, view: replaced(step.view, { ...call, speech: paragraph }) };
}

function endSpeech(speech: Paragraph): { paragraph: Paragraph; lines: string[] } {
  const lines = endText(speech);
  return { paragraph: { ...speech, pending: "", hasBegun: speech.hasBegun || lines.length > 0 }, lines };
}

/** What was said has been read: a line that says that it was said would only repeat it. */
function callEnded(view: View, complete: ToolCallComplete): Step {
  const { view: after, finished } = spoken(view, complete.toolCallId, endSpeech);
  const call = after.open.find((each) => each.id === complete.toolCallId);
  if (call?.type !== "call") return { view: after, finished };
  const isSaid = complete.success && call.speech.hasBegun;
  const step = finish(closed(after, call.id), callGroup, isSaid ? [] : completeCallLines(call, complete));
  return { view: step.view, finished: [...finished, ...step.finished] };
}

function completed(view: View, run: RunCompleted, endMs: number | undefined): Step {
  const { mark, outcome, why, tokens } = runEndOf(run);
  const tookMs = view.startMs === undefined || endMs === undefined ? undefined : Math.max(0, endMs - view.startMs);
  const facts = joined(tookMs === undefined ? "" : elapsedText(tookMs), tokens);
  const line: Line = [
    { text: `${mark.icon} ${outcome}`, paint: mark.paint },
    { text: why === "" ? "" : `: ${safeLine(why)}` },
    { text: facts === "" ? "" : `  ${safeLine(facts)}`, paint: "dim" },
  ];
  return finish({ ...view, state: "over", open: [] }, "end", [line]);
}

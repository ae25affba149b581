// One tool call in the live view: what its events make of it, and the lines it takes while it is open and when it is over.
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import type { ToolCallComplete, ToolCallProgress } from "../../gen/heddle/v1/event_pb.js";
import type { ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { durationText } from "./format.js";
import { type Line, lineOf, type Segment } from "./live-view-line.js";
import {
  addCodeToTail,
  addToTail,
  newParagraph,
  noTail,
  type Paragraph,
  shownTail,
  type Tail,
} from "./live-view-text.js";
import { markOfCall, marks } from "./marks.js";
import { spinnerAt } from "./spinner.js";
import { safeLine } from "./terminal.js";
import { errorText, exitCodeText, joined, outcomeWord, phaseText } from "./words.js";

export interface OpenCall {
  readonly type: "call";
  readonly id: string;
  readonly title: string;
  readonly kind: ToolKind;
  /** How many calls this one is a part of. */
  readonly depth: number;
  /** `writing`: the model writes the input. `waiting`: for somebody outside. */
  readonly stage: "writing" | "ready" | "waiting" | "running";
  /** What it is about to do, or does. */
  readonly summary: string;
  /** Since when it is in its stage, as the view's clock counts. */
  readonly sinceMs: number;
  /** What it waits for, or is busy with. */
  readonly note: string;
  readonly progress: Progress | undefined;
  /** What it printed; while the input is being written, the code in it. */
  readonly tail: Tail;
  /** What the agent says through it. */
  readonly speech: Paragraph;
  /** The raw input of a question to the user, as far as it is known; undefined where it is none. */
  readonly asked: string | undefined;
}

interface Progress {
  readonly completed: number;
  readonly total: number | undefined;
}

export const newCall = (
  created: Pick<OpenCall, "id" | "title" | "kind" | "depth" | "sinceMs" | "asked">,
): OpenCall => ({
  type: "call",
  ...created,
  stage: "writing",
  summary: "",
  note: "",
  progress: undefined,
  tail: noTail,
  speech: newParagraph,
});

export const withOutput = (call: OpenCall, text: string): OpenCall => ({ ...call, tail: addToTail(call.tail, text) });

export const withCode = (call: OpenCall, text: string): OpenCall => ({ ...call, tail: addCodeToTail(call.tail, text) });

/** The event knows how long it has been running, also when this view came later. */
export function withProgress(call: OpenCall, progress: ToolCallProgress, nowMs: number): OpenCall {
  const { completed, total, phase, message, elapsed, startedSummary } = progress;
  return {
    ...call,
    summary: call.summary || startedSummary,
    note: phaseText(phase, message),
    progress: completed === undefined ? call.progress : { completed, total },
    sinceMs: elapsed === undefined ? call.sinceMs : nowMs - durationMs(elapsed),
  };
}

/** Elapsed time is worth reading from here on. */
const shortestShownMs = 1000;

/** `isStill`: nothing is known of it since `nowMs`. */
export function openCallLines(call: OpenCall, nowMs: number, isStill = false): Line[] {
  const elapsedMs = Math.max(0, nowMs - call.sinceMs);
  // What it says has been read; it is over in a moment, unless it is not.
  if (call.speech.hasBegun && elapsedMs < shortestShownMs) return [];
  const facts = joined(stageWords[call.stage], call.note);
  const head: Segment[] = [
    { text: `${indentOf(call)}${call.stage === "waiting" ? "?" : isStill ? "·" : spinnerAt(nowMs)} `, paint: "cyan" },
    ...nameAndSummary(call, call.summary),
    { text: facts === "" ? "" : `  ${safeLine(facts)}`, paint: call.stage === "waiting" ? "yellow" : "dim" },
    { text: elapsedMs < shortestShownMs ? "" : `  ${elapsedText(elapsedMs)}`, paint: "dim" },
  ];
  return [head, ...progressLines(call), ...tailOf(call)];
}

const stageWords: Readonly<Record<OpenCall["stage"], string>> = {
  writing: "preparing",
  ready: "",
  waiting: "",
  running: "",
};

/** The block as it stays: with how it ended, and the end of what it printed. */
export function completeCallLines(call: OpenCall, complete: ToolCallComplete): Line[] {
  const { icon, paint } = markOfCall(complete.outcome);
  const facts = joined(
    complete.success || saysOutcome(complete) ? "" : outcomeWord(complete.outcome),
    exitCodeText({ ...complete, kind: call.kind }),
    complete.error === undefined ? "" : errorText({ ...complete.error, kind: "" }, complete.summary, complete.outcome),
    complete.duration === undefined ? "" : durationText(complete.duration),
  );
  const head: Line = [
    { text: `${indentOf(call)}${icon} `, paint },
    ...nameAndSummary(call, complete.summary),
    { text: facts === "" ? "" : `  ${safeLine(facts)}`, paint: "dim" },
    // For `heddle call`, which shows the rest.
    { text: complete.success ? "" : `  ${safeLine(call.id)}`, paint: "dim" },
  ];
  return [head, ...tailOf(call)];
}

/** Somebody said yes to what it is about to do. */
export function allowedCallLine(call: OpenCall, by: string): Line {
  const { icon, paint } = marks.succeeded;
  return [
    { text: `${indentOf(call)}${icon} `, paint },
    ...nameAndSummary(call, call.summary),
    { text: `  ${safeLine(by === "" ? "allowed" : `allowed by ${by}`)}`, paint: "dim" },
  ];
}

const saysOutcome = ({ outcome, summary }: ToolCallComplete): boolean =>
  summary.toLowerCase().includes(outcomeWord(outcome));

const nameAndSummary = ({ title }: OpenCall, summary: string): Segment[] => [
  { text: safeLine(title), paint: "bold" },
  { text: summary === "" ? "" : `: ${safeLine(summary)}` },
];

const barCells = 20;

function progressLines(call: OpenCall): Line[] {
  if (call.progress === undefined) return [];
  const { completed, total } = call.progress;
  const indent = `${indentOf(call)}  `;
  if (total === undefined || total <= 0) return [lineOf(`${indent}${amount(completed)} done`, "dim")];
  const share = Math.min(1, Math.max(0, completed / total));
  const filled = Math.floor(share * barCells);
  const facts = ` ${Math.floor(share * 100)}%  ${amount(completed)} of ${amount(total)}`;
  return [
    [
      { text: `${indent}${"█".repeat(filled)}`, paint: "cyan" },
      { text: `${"░".repeat(barCells - filled)}${facts}`, paint: "dim" },
    ],
  ];
}

/** At most two places behind the point. */
const amount = (value: number): string => String(Math.round(value * 100) / 100);

const tailOf = (call: OpenCall): Line[] =>
  shownTail(call.tail).map((line) => lineOf(`${indentOf(call)}    ${line}`, "dim"));

const indentOf = ({ depth }: OpenCall): string => "  ".repeat(depth);

/** By tenths below a minute: it is read while it changes. */
export const elapsedText = (ms: number): string =>
  ms < 60_000 ? `${(Math.floor(ms / 100) / 10).toFixed(1)} s` : durationText(durationFromMs(ms));

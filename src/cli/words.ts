// Enum values as words: AWAITING_APPROVAL is "awaiting approval".
import { ToolCallPhase } from "../../gen/heddle/v1/event_pb.js";
import { type ToolCallError, ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";

/** A value that this version does not know, or that is not set, is "unknown". */
export function word(values: Readonly<Record<number, string>>, value: number): string {
  return value === 0 ? "unknown" : (values[value]?.toLowerCase().replaceAll("_", " ") ?? "unknown");
}

/** A reader that meets no outcome shows a failure. */
export const outcomeWord = (outcome: ToolCallOutcome): string =>
  outcome === ToolCallOutcome.UNSPECIFIED ? "failed" : word(ToolCallOutcome, outcome);

/** The parts that say something, with commas between them. */
export const joined = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join(", ");

/** What a call is busy with, beside its own words for it: `waiting` adds nothing to "Waiting for a yes". */
export const phaseText = (phase: ToolCallPhase, message: string): string => {
  const name = phase === ToolCallPhase.UNSPECIFIED ? "" : word(ToolCallPhase, phase);
  return name !== "" && message.toLowerCase().startsWith(name) ? message : joined(name, message);
};

/** What an error adds to the summary and the outcome that stand beside it: many say the same in the same words. */
export function errorText(
  { kind, code, message }: Pick<ToolCallError, "kind" | "code" | "message">,
  summary: string,
  outcome?: ToolCallOutcome,
): string {
  const said = outcome === undefined ? "" : outcomeWord(outcome);
  const isNew = (part: string) => !isWithin(`${said} ${summary}`.toLowerCase(), part);
  return joined(...[kind, code].filter(isNew), added(message, summary));
}

/** A short one may stand in a text by chance. */
const shortestCode = 4;
const isWithin = (said: string, code: string): boolean =>
  code.length >= shortestCode && said.includes(code.toLowerCase().replaceAll("_", " "));

/** What of the message the summary leaves out. */
function added(message: string, summary: string): string {
  if (message === "" || summary === "") return message;
  const bare = message.replace(/[\s.]+$/, "");
  if (summary.toLowerCase().includes(bare.toLowerCase())) return "";
  return newIn(message, summary) ?? message;
}

function newIn(message: string, summary: string): string | undefined {
  if (message.startsWith(summary)) return withoutStop(message.slice(summary.length));
  return summary.endsWith("…") ? behind(message, summary.slice(0, -1).trimEnd()) : goesOn(message, summary);
}

/** What follows words that were told; undefined where the last of them goes on. */
const withoutStop = (text: string): string | undefined => /^[;:,.!?…]*\s+(.*)$/s.exec(text)?.[1];

/** As much of a message as must stand at the end of a summary for the two to be the same text. */
const overlapUnits = 16;

/** Of a message that begins with what the summary says behind its outcome ("Discarded: …"), what follows. */
function goesOn(message: string, summary: string): string | undefined {
  const told = summary.replace(/^.*?: /, "").replace(/[\s.]+$/, "");
  const isSame = told.length >= overlapUnits && message.slice(0, told.length).toLowerCase() === told.toLowerCase();
  return isSame ? withoutStop(message.slice(told.length)) : undefined;
}

function behind(message: string, cut: string): string | undefined {
  const from = cut.indexOf(message.slice(0, overlapUnits));
  return from >= 0 && message.startsWith(cut.slice(from))
    ? `…${message.slice(cut.length - from).trimStart()}`
    : undefined;
}

const mayHaveRun: readonly ToolCallOutcome[] = [
  ToolCallOutcome.SUCCEEDED,
  ToolCallOutcome.FAILED,
  ToolCallOutcome.INTERRUPTED,
];

/** A command that ended by itself has an exit code, known or not. Empty where there is none, and where the summary says it. */
export function exitCodeText(call: {
  readonly kind: ToolKind | undefined;
  readonly outcome: ToolCallOutcome;
  readonly exitCode?: number | undefined;
  readonly summary: string;
}): string {
  const { kind, outcome, exitCode, summary } = call;
  if (exitCode === undefined)
    return kind === ToolKind.EXECUTE && mayHaveRun.includes(outcome) ? "exit code unknown" : "";
  const text = `exit code ${exitCode}`;
  return new RegExp(`\\b${text}\\b`, "i").test(summary) ? "" : text;
}

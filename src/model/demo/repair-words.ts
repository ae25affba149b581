// What the demo says while it repairs something.
import { cleanSummary } from "../../thread/summary.js";
import type { Place, TestRun } from "./investigate.js";
import { testCommand } from "./named-things.js";
import type { PlannedCall } from "./planned-call.js";
import { knownSlips, type Slip } from "./slips.js";
import type { Answer } from "./story.js";
import { counted, listed, noWorkspace, outcomeWords, quoted } from "./words.js";

const repairItems = ["Look around", "Find the bug", "Fix it", "Run the tests"];
const searchItems = repairItems.slice(0, 2);

/** `stage`: how many items are done. */
export function todoCall(stage: number, isToFix: boolean): PlannedCall {
  const statusOf = (index: number) => (index < stage ? "completed" : index === stage ? "in_progress" : "pending");
  const items = (isToFix ? repairItems : searchItems).map((content, index) => ({ content, status: statusOf(index) }));
  return { tool: "update_todos", input: { items } };
}

export const noFilesWords = `I can look at no files, and change none. ${noWorkspace}`;
export const passWords = `${testCommand} passes: there is no bug that the tests show, and I have changed nothing.`;

export function placeWords({ sources, tests, todos }: Place): string {
  const files = `I see ${counted(sources.length, "source", "sources")} and ${counted(tests.length, "test file", "test files")}`;
  return `${files}${todos && `, and ${todos} for TODO and FIXME`}. I run the tests.`;
}

export function failedWords(run: TestRun, files: readonly string[]): string {
  const reading = `I read ${listed(files)}.`;
  if (run.kind !== "failed") return run.kind === "not_run" ? `${run.why} ${reading}` : reading;
  return `${failure(run)} ${reading}`;
}

export const thoughts = (run: TestRun, names: readonly string[]): string[] => [
  run.kind === "failed" ? failure(run) : "I do not know which test fails.",
  `The test calls ${listed(names)}: a slip may be where that is defined.`,
  `I know ${knownSlips} kinds of slip by sight. It takes a real model to understand more.`,
];

export const foundWords = (slip: Slip): string => `In ${placeOf(slip)}, ${slip.reason}.`;

export const changeWords = (slip: Slip): string => `I change it to ${codeOf(slip.newText)}.`;

export const wouldChangeWords = (slip: Slip): string =>
  `I would change ${codeOf(slip.oldText)} to ${codeOf(slip.newText)} in ${placeOf(slip)}. You have not asked me to: nothing is changed.`;

/** It was denied, or could not be done. */
export const notChangedWords = (slip: Slip, answer: Answer | undefined): string =>
  [
    answer ? outcomeWords(answer) : "",
    `Nothing is changed. In ${placeOf(slip)}, I would have changed ${codeOf(slip.oldText)} to ${codeOf(slip.newText)}.`,
    answer?.outcome === "denied" ? "To allow it, answer yes on a terminal, or start with --yes." : "",
  ]
    .filter(Boolean)
    .join(" ");

export const untestedWords = (slip: Slip, run: TestRun): string =>
  `${changed(slip)}\nI do not know whether that helps: the tests were not run. ${run.kind === "not_run" ? run.why : ""}`.trim();

/** `failed`: the tests that fail for other reasons. */
export function doneWords(slip: Slip, failed: readonly string[]): string {
  const rest = `That test passes now; ${counted(failed.length, "other fails", "others fail")} still, the first is ${quoted(failed[0] ?? "")}.`;
  return `${changed(slip)}\n${failed.length === 0 ? `${testCommand} passes now.` : rest}`;
}

export const stuckWords = (slip: Slip, answer: Answer | undefined): string =>
  `${answer ? outcomeWords(answer) : ""} So the change is still there, though it does not help.\n${changed(slip)}`.trim();

export function notFoundWords(run: TestRun, read: readonly string[]): string {
  const where = read.length === 0 ? "I found no source to read" : `I read ${listed(read)}`;
  return `${where}, and saw none of the ${knownSlips} kinds of slip that I know. ${seen(run)} It takes a real model to find more; nothing is changed.`;
}

export const notMendedWords = (run: TestRun, slips: readonly Slip[]): string =>
  `I tried ${counted(slips.length, "change", "changes")}, and put back what did not help. ${seen(run)} It takes a real model to find more.`;

const seen = (run: TestRun): string => (run.kind === "failed" ? failure(run) : run.kind === "not_run" ? run.why : "");

function failure({ report: { failed, difference } }: Extract<TestRun, { kind: "failed" }>): string {
  const found = difference ? `: ${plain(difference.expected)} was expected, and ${plain(difference.actual)} came` : "";
  const others = failed.length > 1 ? ` ${counted(failed.length - 1, "other test fails", "other tests fail")} too.` : "";
  return `The test ${quoted(failed[0] ?? "")} fails${found}.${others}`;
}

/** Numbers and strings speak for themselves; what else there may be is cut. */
const plain = (value: string): string => cleanSummary(value, 60);

const changed = (slip: Slip): string =>
  [`Changed ${placeOf(slip)}: ${slip.reason}.`, `  - ${lineOf(slip.oldText)}`, `  + ${lineOf(slip.newText)}`].join(
    "\n",
  );

const placeOf = ({ path, line }: Slip): string => `${path}, line ${line}`;

const codeOf = (text: string): string => quoted(lineOf(text));

/** The line itself, without those above it that tell it from others. */
const lineOf = (text: string): string => text.split("\n").at(-1)!.trim();

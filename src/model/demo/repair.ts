// Finds a bug that a test shows and mends it, as far as a few rules go: run the tests, read the one that fails, look where what it
// calls is defined, look there for a slip, mend it, run the tests again. What is not found is said to be not found.
import { findSlip, lookAround, type Place, runTests, type TestRun } from "./investigate.js";
import type { PlannedCall } from "./planned-call.js";
import {
  changeWords,
  doneWords,
  foundWords,
  noFilesWords,
  notChangedWords,
  notFoundWords,
  notMendedWords,
  passWords,
  placeWords,
  stuckWords,
  todoCall,
  untestedWords,
  wouldChangeWords,
} from "./repair-words.js";
import type { Slip } from "./slips.js";
import type { Story } from "./story.js";

export interface RepairWish {
  /** Else it is only to be found. */
  readonly isToFix: boolean;
}

/** Undefined: the words ask for neither. */
export function repairWish(text: string): RepairWish | undefined {
  if (/\b(?:fix|repair|debug)\b/i.test(text)) return { isToFix: true };
  return /\bfind\b[^.!?\n]{0,100}\bbugs?\b/i.test(text) ? { isToFix: false } : undefined;
}

/** What it takes to do all of it. */
export const repairTools = ["list_directory", "glob_files", "grep_files", "read_file", "run_command", "edit_file"];

/** So many slips are tried. */
const mostTries = 3;

export function* repair({ isToFix }: RepairWish): Story {
  const place = yield* lookAround(isToFix);
  if (place === undefined) return noFilesWords;
  const tests = yield* runTests(place, { words: placeWords(place), calls: [todoCall(1, isToFix)] });
  if (tests.kind === "passed") return passWords;
  const { slips, read } = yield* findSlip(place, tests);
  const [first] = slips;
  if (first === undefined) return notFoundWords(tests, read);
  yield { words: "", calls: [todoCall(2, isToFix), { tool: "inform_user", input: { message: foundWords(first) } }] };
  if (!isToFix) return wouldChangeWords(first);
  return yield* mend(place, tests, slips.slice(0, mostTries));
}

/** One slip after the other; what does not help is put back. */
function* mend(place: Place, tests: TestRun, slips: readonly Slip[]): Story {
  for (const slip of slips) {
    const [edited] = yield { words: changeWords(slip), calls: [edit(slip)] };
    if (edited?.outcome !== "succeeded") return notChangedWords(slip, edited);
    if (tests.kind !== "failed") return untestedWords(slip, tests);
    const again = yield* runTests(place, { words: "I run the tests again.", calls: [] });
    if (again.kind === "not_run") return untestedWords(slip, again);
    if (again.kind === "passed") return yield* wrapUp(place, slip);
    if (!again.report.failed.includes(tests.report.failed[0]!)) return doneWords(slip, again.report.failed);
    const [undone] = yield { words: "That was not it: I put it back.", calls: [edit(reversed(slip))] };
    if (undone?.outcome !== "succeeded") return stuckWords(slip, undone);
  }
  return notMendedWords(tests, slips);
}

const edit = ({ path, oldText, newText }: Slip): PlannedCall => ({
  tool: "edit_file",
  input: { path, old_text: oldText, new_text: newText },
});

const reversed = (slip: Slip): Slip => ({ ...slip, oldText: slip.newText, newText: slip.oldText });

function* wrapUp({ hasGit }: Place, slip: Slip): Story {
  yield { words: "They pass.", calls: [todoCall(4, true), ...(hasGit ? [{ tool: "git_diff", input: {} }] : [])] };
  const summary = doneWords(slip, []);
  yield { words: "", calls: [{ tool: "work_complete", input: { summary } }] };
  return summary;
}

// The looking part of a repair: what is there, which test fails, and where a slip may have made it fail.
import { testCommand } from "./named-things.js";
import type { PlannedCall } from "./planned-call.js";
import { failedWords, thoughts, todoCall } from "./repair-words.js";
import { findSlips, type Slip } from "./slips.js";
import { definitionPattern, isTestFile, testedNames } from "./source-names.js";
import type { Answer, Story, StoryStep } from "./story.js";
import {
  firstPlace,
  foundFiles,
  listedNames,
  matchCount,
  matchedFiles,
  numberedLines,
  readTestReport,
  type TestReport,
} from "./tool-texts.js";
import { listed, outcomeWords } from "./words.js";

export interface Place {
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  /** How many notes of things left to do: `3 matches in 2 files`. Empty: not known. */
  readonly todos: string;
  readonly hasPackage: boolean;
  readonly hasGit: boolean;
}

export type TestRun =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly report: TestReport }
  /** `why`: a sentence. */
  | { readonly kind: "not_run"; readonly why: string };

const sourcePattern = "**/*.{js,mjs,cjs,ts}";
/** Files that are read at a time: a demo need not read everything. */
const readAtOnce = 4;

/** Undefined: there is nothing to look at. */
export function* lookAround(isToFix: boolean): Story<Place | undefined> {
  const [, listing] = yield { words: "", calls: [todoCall(0, isToFix), call("list_directory", { path: "." })] };
  if (listing?.outcome !== "succeeded") return undefined;
  const names = listedNames(listing.result);
  const hasPackage = names.includes("package.json");
  const hasGit = names.includes(".git/");
  const [globbed, searched] = yield {
    words: "",
    calls: [
      call("glob_files", { pattern: sourcePattern }),
      call("grep_files", { pattern: "\\b(?:TODO|FIXME)\\b" }),
      ...(hasGit ? [call("gather", { command: "git status --short" })] : []),
      ...(hasPackage && !hasGit ? [call("gather", { command: "node --version" })] : []),
    ],
  };
  const todos = searched?.outcome === "succeeded" ? matchCount(searched.result) : "";
  const files = globbed?.outcome === "succeeded" ? foundFiles(globbed.result) : [];
  const tests = files.filter(isTestFile);
  return { sources: files.filter((file) => !isTestFile(file)), tests, todos, hasPackage, hasGit };
}

/** What goes with the call, and is said before it, in the same reply. */
export function* runTests({ hasPackage }: Place, { words, calls }: StoryStep): Story<TestRun> {
  if (!hasPackage)
    return {
      kind: "not_run",
      why: `There is no package.json, and ${testCommand} is all that I know of running tests.`,
    };
  const answers = yield { words, calls: [...calls, call("run_command", { command: testCommand })] };
  const ran = answers.at(-1)!;
  if (ran.outcome === "succeeded") return { kind: "passed" };
  if (ran.outcome !== "failed") return { kind: "not_run", why: outcomeWords(ran) };
  const report = readTestReport(ran.result);
  return report.failed.length > 0 ? { kind: "failed", report } : { kind: "not_run", why: outcomeWords(ran) };
}

export interface Found {
  /** The most suspicious first. */
  readonly slips: readonly Slip[];
  /** The files in which they were looked for. */
  readonly read: readonly string[];
}

export function* findSlip(place: Place, tests: TestRun): Story<Found> {
  const defining = yield* findDefining(place, tests);
  const slips = yield* readForSlips(defining, "");
  if (slips.length > 0) return { slips, read: defining };
  const others = place.sources.filter((file) => !defining.includes(file)).slice(0, readAtOnce);
  const words = defining.length > 0 ? `There I see nothing: I read ${listed(others)} too.` : "";
  return { slips: yield* readForSlips(others, words), read: [...defining, ...others] };
}

/** The files that define what the failing test calls; of all tests, where it is not known which one fails. */
function* findDefining({ sources, tests }: Place, run: TestRun): Story<readonly string[]> {
  const at = run.kind === "failed" ? firstPlace(run.report.details, [...tests, ...sources]) : undefined;
  if (at && !isTestFile(at.file)) return [at.file];
  const suspects = at ? [at.file] : tests.slice(0, readAtOnce);
  if (suspects.length === 0) return [];
  const answers = yield { words: failedWords(run, suspects), calls: suspects.map(readCall) };
  const names = new Set(answers.flatMap(({ result }) => testedNames(numberedLines(result), at?.line)));
  if (names.size === 0) return [];
  const [, found] = yield {
    words: `${suspects.length === 1 ? "It calls" : "They call"} ${listed([...names])}: I look where that is defined.`,
    calls: [
      call("think", { thoughts: thoughts(run, [...names]) }),
      call("grep_files", { pattern: definitionPattern([...names]) }),
    ],
  };
  const files = found?.outcome === "succeeded" ? matchedFiles(found.result) : [];
  return files.filter((file) => sources.includes(file)).slice(0, readAtOnce);
}

function* readForSlips(files: readonly string[], words: string): Story<readonly Slip[]> {
  if (files.length === 0) return [];
  const answers = yield { words: words || `I read ${listed(files)}.`, calls: files.map(readCall) };
  return answers.flatMap(({ outcome, result }: Answer, index) =>
    outcome === "succeeded" ? findSlips(files[index]!, numberedLines(result)) : [],
  );
}

const readCall = (path: string): PlannedCall => call("read_file", { path });
const call = (tool: string, input: PlannedCall["input"]): PlannedCall => ({ tool, input });

// What tools write for a model, read back: listings, matches, numbered lines, and how tests went. Text of another make gives nothing.
import { escaped } from "./escaped.js";

/** The names of a listing: `path/: 12 entries`, then `name/`, `name (12 bytes)` a line. */
export const listedNames = (result: string): string[] =>
  result
    .split("\n")
    .slice(1)
    .map((line) => line.replace(/ \([^()]*\)$/, ""));

/** The paths of `3 files`, then one a line. */
export const foundFiles = (result: string): string[] =>
  result
    .split("\n")
    .slice(1)
    .filter((line) => line !== "" && !isNote(line));

/** The paths of files with matches: a path, then `12: the line` for each. */
export const matchedFiles = (result: string): string[] =>
  result
    .split("\n")
    .slice(1)
    .filter((line) => line !== "" && !isNote(line) && !/^(?:\d+[:-] |--$)/.test(line));

/** `(2 directories could not be read)`. */
const isNote = (line: string): boolean => /^\(.*\)$/.test(line);

/** `3 matches in 2 files`. */
export const matchCount = (result: string): string => /^[^(;\n]*/.exec(result)?.[0].trim() ?? "";

export interface SourceLine {
  readonly number: number;
  readonly text: string;
}

/** The lines of a file, after a heading, each with its number and a tab before it. */
export const numberedLines = (result: string): SourceLine[] =>
  result.split("\n").flatMap((line) => {
    const [, number, text] = /^(\d+)\t(.*)$/s.exec(line) ?? [];
    return number === undefined ? [] : [{ number: Number(number), text: text ?? "" }];
  });

export interface TestReport {
  /** The names of the tests that failed, in order. */
  readonly failed: readonly string[];
  /** What was expected and what came instead, of the first one. */
  readonly difference: { readonly expected: string; readonly actual: string } | undefined;
  /** From the first failure on. */
  readonly details: string;
}

/** Both ways in which Node's own test runner reports: TAP, and with signs. */
export function readTestReport(result: string): TestReport {
  const marks = [...result.matchAll(/^[^\S\n]*(?:not ok \d+ - |✖ )(?!failing tests:)(.+)$/gm)];
  const details = marks[0] === undefined ? "" : result.slice(marks[0].index);
  const expected = /^\s*expected: (.+?),?$/m.exec(details)?.[1];
  const actual = /^\s*actual: (.+?),?$/m.exec(details)?.[1];
  return {
    failed: [...new Set(marks.map(([, name]) => name!.replace(/ \([\d.]+ms\)$/, "").trim()))],
    difference: expected === undefined || actual === undefined ? undefined : { expected, actual },
    details,
  };
}

/** The first place in the report, in one of the files. */
export function firstPlace(details: string, files: readonly string[]): { file: string; line: number } | undefined {
  const places = files.flatMap((file) => {
    const at = new RegExp(`(?<![\\w.-])${escaped(file)}:(\\d+)`).exec(details);
    return at === null ? [] : [{ file, line: Number(at[1]), index: at.index }];
  });
  const [first] = places.sort((a, b) => a.index - b.index);
  return first && { file: first.file, line: first.line };
}

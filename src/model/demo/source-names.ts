// What a test's source says about where to look: what it imports from the project, and what of that it calls.
import { escaped } from "./escaped.js";
import type { SourceLine } from "./tool-texts.js";

const importForms = [
  /\bimport\s*\{([^}]*)\}\s*from\s*["']\.{1,2}\//g,
  /\bimport\s+(\w+)\s+from\s*["']\.{1,2}\//g,
  /\b(?:const|let|var)\s*\{([^}]*)\}\s*=\s*require\(\s*["']\.{1,2}\//g,
  /\b(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*["']\.{1,2}\//g,
];

/** The names of the project that the test around `line` calls; those that the whole file imports where that says nothing. */
export function testedNames(lines: readonly SourceLine[], line: number | undefined): string[] {
  const imported = importedNames(lines.map(({ text }) => text).join("\n"));
  const body = line === undefined ? "" : testAround(lines, line);
  const called = imported.filter((name) => new RegExp(`(?<![\\w$])${escaped(name)}\\s*\\(`).test(body));
  return called.length > 0 ? called : imported;
}

function importedNames(source: string): string[] {
  const lists = importForms.flatMap((form) => [...source.matchAll(form)].map(([, names]) => names!));
  const names = lists.flatMap((list) => list.split(",").map((name) => name.trim().split(/\s+as\s+|\s*:\s*/)[0]!));
  return [...new Set(names.filter((name) => /^[\w$]+$/.test(name)))];
}

/** From the line that opens a test down to the one that opens the next. */
function testAround(lines: readonly SourceLine[], line: number): string {
  const opens = lines.filter(({ text }) => /^\s*(?:test|it)(?:\.\w+)?\(/.test(text)).map(({ number }) => number);
  const from = opens.findLast((number) => number <= line) ?? line;
  const to = opens.find((number) => number > line) ?? Number.POSITIVE_INFINITY;
  return lines
    .filter(({ number }) => number >= from && number < to)
    .map(({ text }) => text)
    .join("\n");
}

/** Finds where the names are defined. */
export function definitionPattern(names: readonly string[]): string {
  const [only, ...others] = names.map((name) => escaped(name));
  return `\\b(?:function|const|class) ${others.length === 0 ? only : `(?:${[only, ...others].join("|")})`}\\b`;
}

export const isTestFile = (path: string): boolean => /(?:^|\/)(?:tests?|__tests__)\/|\.(?:test|spec)\.\w+$/.test(path);

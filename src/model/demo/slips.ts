// Slips of the pen that can be told by sight. It takes a model to understand a program; the demo only knows these, and says so.
import type { SourceLine } from "./tool-texts.js";

export interface Slip {
  readonly path: string;
  readonly line: number;
  /** Stands once in the file. */
  readonly oldText: string;
  readonly newText: string;
  /** What looks wrong: the end of a sentence. */
  readonly reason: string;
}

interface Rule {
  readonly reason: string;
  /** The line as it should be; undefined where it is fine. `above`: the comment right above it; `below`: what follows. */
  mend(line: string, around: { readonly above: string; readonly below: string }): string | undefined;
}

/** How many lines below a loop count as its body. */
const bodyLines = 8;

const rules: readonly Rule[] = [
  {
    reason: "the comment includes the limit, the comparison does not",
    mend: (line, { above }) => {
      const comparison = { over: /(?<=[\w)\]] )>(?= [\w(])/, under: /(?<=[\w)\]] )<(?= [\w(])/ };
      if (/\b(?:or more|or above|at least|or longer)\b/i.test(above)) return replaced(line, comparison.over, ">=");
      if (/\b(?:or less|or fewer|or below|at most|up to)\b/i.test(above)) return replaced(line, comparison.under, "<=");
      return undefined;
    },
  },
  {
    reason: "the loop stops before the last one",
    mend: (line, { below }) => {
      const [, index] = /\bfor \(let (\w+) = 0; \1 < [\w.]+\.length - 1;/.exec(line) ?? [];
      // One that looks at the next one is right to stop there.
      if (index === undefined || new RegExp(`\\b${index} \\+ 1\\b`).test(below)) return undefined;
      return replaced(line, /(?<=\.length) - 1(?=;)/, "");
    },
  },
  {
    reason: "the loop goes one beyond the last one",
    mend: (line) =>
      /\bfor \(let (\w+) = 0; \1 <= [\w.]+\.length;/.test(line)
        ? replaced(line, /<=(?= [\w.]+\.length;)/, "<")
        : undefined,
  },
  {
    reason: "the condition sets a value where it should compare",
    mend: (line) => replaced(line, /(?<=\bif \([\w.]+ )=(?= [\w."'`]+\))/, "==="),
  },
];

/** How many kinds of slip the demo knows. */
export const knownSlips = rules.length;

export function findSlips(path: string, lines: readonly SourceLine[]): Slip[] {
  return lines.flatMap(({ text }, at) => {
    if (isComment(text)) return [];
    const below = lines
      .slice(at, at + bodyLines)
      .map((line) => line.text)
      .join("\n");
    const around = { above: commentAbove(lines, at), below };
    for (const { reason, mend } of rules) {
      const mended = mend(text, around);
      if (mended !== undefined) return [slipAt({ path, lines, at, mended, reason })];
    }
    return [];
  });
}

function commentAbove(lines: readonly SourceLine[], at: number): string {
  const comment = [];
  for (let above = at - 1; above >= 0 && isComment(lines[above]!.text); above--) comment.unshift(lines[above]!.text);
  return comment.join(" ");
}

const isComment = (text: string): boolean => /^\s*(?:\/\/|\/\*|\*)/.test(text);

const replaced = (line: string, form: RegExp, text: string): string | undefined =>
  form.test(line) ? line.replace(form, text) : undefined;

interface Found {
  readonly path: string;
  readonly lines: readonly SourceLine[];
  readonly at: number;
  readonly mended: string;
  readonly reason: string;
}

/** With as many lines above it as it takes for the old text to stand once in the file, and for the new one not to stand there yet. */
function slipAt({ path, lines, at, mended, reason }: Found): Slip {
  const source = lines.map(({ text }) => text).join("\n");
  const { number: line, text } = lines[at]!;
  let head = "";
  for (let from = at; from > 0 && (isTwice(source, head + text) || source.includes(head + mended)); from--)
    head = `${lines[from - 1]!.text}\n${head}`;
  return { path, line, oldText: head + text, newText: head + mended, reason };
}

const isTwice = (source: string, text: string): boolean => source.indexOf(text) !== source.lastIndexOf(text);

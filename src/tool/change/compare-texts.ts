// What differs between two texts, as hunks. Always a right answer, in bounded time: where the shortest one would take too long,
// everything between the first and the last difference is one exchange; where even that is too large to show, it is only counted.
// No clock decides which: the same texts give the same hunks.
import { diffArrays } from "diff";
import { countLines, countSigned, type Hunk, type HunkLine, linesOf } from "./hunk.js";

/** Lines around a change that are shown with it. */
const contextLines = 3;
/** Beyond these, the shortest difference is not looked for. */
const comparedLines = 20_000;
const comparedEdits = 1_000;
/** Beyond these, the lines are only counted. */
const shownUnits = 1_000_000;
const shownLines = 50_000;

export interface Comparison {
  /** Undefined when there is too much to show. */
  readonly hunks: readonly Hunk[] | undefined;
  readonly added: number;
  readonly removed: number;
  /** The first line that differs, in the new text, from 1. Undefined when nothing does. */
  readonly firstLine: number | undefined;
}

export function compareTexts(before: string, after: string): Comparison {
  if (before === after) return { hunks: [], added: 0, removed: 0, firstLine: undefined };
  const start = commonStart(before, after);
  const end = commonEnd(before, after, start);
  const out = before.slice(start, before.length - end);
  const into = after.slice(start, after.length - end);
  const linesBefore = countLines(before.slice(0, start));
  const [linesOut, linesInto] = [countLines(out), countLines(into)];
  if (out.length + into.length > shownUnits || linesOut + linesInto > shownLines)
    return { hunks: undefined, added: linesInto, removed: linesOut, firstLine: linesBefore + 1 };
  const changed = compareLines(linesOf(out), linesOf(into));
  const lead = lastLines(before.slice(0, start)).map(kept);
  const trail = firstLines(before.slice(before.length - end)).map(kept);
  return {
    hunks: hunksOf([...lead, ...changed, ...trail], linesBefore - lead.length + 1),
    added: countSigned(changed, "+"),
    removed: countSigned(changed, "-"),
    firstLine: linesBefore + changed.findIndex(({ sign }) => sign !== " ") + 1,
  };
}

/** How far both texts are the same from their start, in whole lines. */
function commonStart(before: string, after: string): number {
  const most = Math.min(before.length, after.length);
  let at = 0;
  while (at < most && before.charCodeAt(at) === after.charCodeAt(at)) at++;
  return at === 0 ? 0 : before.lastIndexOf("\n", at - 1) + 1;
}

/** How much of both texts is the same at their end, in whole lines, none of which belongs to the common start. */
function commonEnd(before: string, after: string, start: number): number {
  const most = Math.min(before.length, after.length) - start;
  let length = 0;
  while (length < most && before.charCodeAt(before.length - 1 - length) === after.charCodeAt(after.length - 1 - length))
    length++;
  const startsLine = (text: string): boolean => {
    const at = text.length - length;
    return at === start || text[at - 1] === "\n";
  };
  if (startsLine(before) && startsLine(after)) return length;
  const lineEnd = before.indexOf("\n", before.length - length);
  return lineEnd === -1 ? 0 : before.length - lineEnd - 1;
}

function compareLines(before: readonly string[], after: readonly string[]): HunkLine[] {
  const exchange = [...before.map(removed), ...after.map(added)];
  if (before.length === 0 || after.length === 0 || exchange.length > comparedLines) return exchange;
  // Numbers for lines: comparing two long lines again and again would cost their length each time.
  const numbers = new Map<string, number>();
  for (const line of [...before, ...after]) if (!numbers.has(line)) numbers.set(line, numbers.size);
  const numbered = (line: string): number => numbers.get(line)!;
  const changes = diffArrays(before.map(numbered), after.map(numbered), { maxEditLength: comparedEdits });
  if (changes === undefined) return exchange;
  let inBefore = 0;
  let inAfter = 0;
  return changes.flatMap((change) => {
    const [wasBefore, isAfter] = [inBefore, inAfter];
    if (!change.added) inBefore += change.count;
    if (!change.removed) inAfter += change.count;
    if (change.added) return after.slice(isAfter, inAfter).map(added);
    return before.slice(wasBefore, inBefore).map(change.removed ? removed : kept);
  });
}

const kept = (text: string): HunkLine => ({ sign: " ", text });
const removed = (text: string): HunkLine => ({ sign: "-", text });
const added = (text: string): HunkLine => ({ sign: "+", text });

function lastLines(text: string): string[] {
  let from = text.length;
  for (let count = 0; count < contextLines && from > 0; count++)
    from = from < 2 ? 0 : text.lastIndexOf("\n", from - 2) + 1;
  return linesOf(text.slice(from));
}

function firstLines(text: string): string[] {
  let to = 0;
  for (let count = 0; count < contextLines && to < text.length; count++) to = text.indexOf("\n", to) + 1 || text.length;
  return linesOf(text.slice(0, to));
}

/** Changes with at most twice the context between them belong to one hunk. `first` is the number of the first line. */
function hunksOf(lines: readonly HunkLine[], first: number): Hunk[] {
  const hunks: Hunk[] = [];
  let oldLine = first;
  let newLine = first;
  let at = 0;
  const passTo = (end: number): readonly HunkLine[] => {
    const passed = lines.slice(at, end);
    oldLine += countSigned(passed, " ", "-");
    newLine += countSigned(passed, " ", "+");
    at = end;
    return passed;
  };
  for (let change = nextChange(lines, 0); change !== -1; change = nextChange(lines, at)) {
    passTo(Math.max(at, change - contextLines));
    const [oldStart, newStart] = [oldLine, newLine];
    let last = change;
    for (let next = change; next !== -1 && next - last <= 2 * contextLines + 1; next = nextChange(lines, last + 1))
      last = next;
    const passed = passTo(Math.min(last + contextLines + 1, lines.length));
    hunks.push({
      oldStart: oldLine === oldStart ? oldStart - 1 : oldStart,
      newStart: newLine === newStart ? newStart - 1 : newStart,
      lines: passed,
    });
  }
  return hunks;
}

const nextChange = (lines: readonly HunkLine[], from: number): number => {
  for (let at = from; at < lines.length; at++) if (lines[at]!.sign !== " ") return at;
  return -1;
};

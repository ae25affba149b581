// Why a text was not found, as far as it can be seen, and what to do next: half a sentence.
import { oneLine } from "../words.js";
import { linesOf } from "./hunk.js";

/** Beyond these the hint is a plain one: it is a service, not the work. */
const searchedUnits = 250_000;
const searchedLines = 5_000;
const comparedUnits = 120;
const shownUnits = 80;
/** Below this, two lines have nothing to do with each other. */
const likeness = 0.5;

export function missHint(text: string, sought: string): string {
  if (text === "") return "the file is empty: write it with write_file";
  const plain = "read the file again and copy the text from it";
  if (text.length > searchedUnits) return plain;
  const loose = findLoosely(text, sought);
  if (loose !== undefined) return `from line ${loose} on it differs only in white space: copy the text exactly`;
  const nearest = nearestLine(text, sought);
  return nearest === undefined ? plain : `the nearest is line ${nearest.line}, "${nearest.shown}": ${plain}`;
}

/** The line where the text would be found if every white space were like any other. */
function findLoosely(text: string, sought: string): number | undefined {
  const bare = sought.replace(/\s+/g, "");
  if (bare === "") return undefined;
  const at = text.replace(/\s+/g, "").indexOf(bare);
  if (at === -1) return undefined;
  let [line, seen] = [1, 0];
  for (const char of text) {
    if (char === "\n") line++;
    if (/\s/.test(char)) continue;
    if (seen >= at) break;
    seen += char.length;
  }
  return line;
}

/** The line most like the first line that is sought. */
function nearestLine(text: string, sought: string): { line: number; shown: string } | undefined {
  const wanted = pairsOf(linesOf(sought).find((line) => line.trim() !== "") ?? "");
  let best: { line: number; shown: string } | undefined;
  let bestLikeness = likeness;
  for (const [index, line] of linesOf(text).slice(0, searchedLines).entries()) {
    const found = likenessOf(wanted, pairsOf(line));
    if (found <= bestLikeness) continue;
    bestLikeness = found;
    best = { line: index + 1, shown: oneLine(line.trim().slice(0, shownUnits)) };
  }
  return best;
}

/** Pairs of neighbouring characters. */
function pairsOf(line: string): ReadonlySet<string> {
  const bare = line.replace(/\s+/g, "").slice(0, comparedUnits);
  return new Set(Array.from({ length: Math.max(0, bare.length - 1) }, (_, at) => bare.slice(at, at + 2)));
}

/** From 0 to 1 (Dice). */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  let common = 0;
  for (const pair of one) if (other.has(pair)) common++;
  return (2 * common) / (one.size + other.size);
}

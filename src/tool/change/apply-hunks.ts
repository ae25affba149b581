// Applies hunks to a text. A hunk fits where all its old lines stand, to the letter: at the line it names, or else at the only
// other place. No line is guessed, and of several places none is chosen.
import { type Hunk, linesOf } from "./hunk.js";

export type Applied =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false /** From 0. */; readonly hunk: number; readonly why: Misfit };

export type Misfit =
  | { readonly kind: "differs"; readonly line: number; readonly found: string | undefined; readonly wanted: string }
  | { readonly kind: "many"; readonly lines: readonly number[] }
  | { readonly kind: "beyond_end"; readonly lines: number }
  | { readonly kind: "too_long" };

/** Lines that are looked at in all, in search of hunks that are not where they say. */
const searchedLines = 20_000_000;
/** Of a hunk that fits in several places, how many are told. */
const toldPlaces = 5;

export function applyHunks(text: string, hunks: readonly Hunk[]): Applied {
  const lines = linesOf(text);
  const pieces: string[] = [];
  let done = 0;
  /** How far the last hunk was from where it said. */
  let drift = 0;
  let searched = 0;
  for (const [index, hunk] of hunks.entries()) {
    const old = hunk.lines.filter(({ sign }) => sign !== "+").map(({ text }) => text);
    // Without old lines, it says the line before it.
    const said = old.length === 0 ? hunk.oldStart : hunk.oldStart - 1;
    let at = said + drift;
    if (old.length === 0 && (at < done || at > lines.length))
      return { ok: false, hunk: index, why: { kind: "beyond_end", lines: lines.length } };
    if (at < done || !standsAt(lines, old, at)) {
      searched += lines.length - done;
      if (searched > searchedLines) return { ok: false, hunk: index, why: { kind: "too_long" } };
      const places = placesOf(lines, old, done);
      if (places.length === 0) return { ok: false, hunk: index, why: misfit(lines, old, Math.max(at, done)) };
      if (places.length > 1)
        return { ok: false, hunk: index, why: { kind: "many", lines: places.map((place) => place + 1) } };
      at = places[0]!;
    }
    drift = at - said;
    pushAll(pieces, lines.slice(done, at));
    pushAll(
      pieces,
      hunk.lines.filter(({ sign }) => sign !== "-").map(({ text }) => text),
    );
    done = at + old.length;
  }
  pushAll(pieces, lines.slice(done));
  const broken = pieces.slice(0, -1).findIndex((piece) => !piece.endsWith("\n"));
  if (broken === -1) return { ok: true, text: pieces.join("") };
  // "No newline at end of file" was said of a line that is not the last one.
  const why = { kind: "differs", line: broken + 1, found: undefined, wanted: pieces[broken]! } as const;
  return { ok: false, hunk: hunks.length - 1, why };
}

function standsAt(lines: readonly string[], old: readonly string[], at: number): boolean {
  return at + old.length <= lines.length && old.every((line, index) => lines[at + index] === line);
}

/** Where the old lines stand, from `from` on; no more places than are told. In one pass (Knuth, Morris, Pratt). */
function placesOf(lines: readonly string[], old: readonly string[], from: number): number[] {
  const borders = bordersOf(old);
  const places: number[] = [];
  let matched = 0;
  for (let at = from; at < lines.length && places.length < toldPlaces; at++) {
    while (matched > 0 && lines[at] !== old[matched]) matched = borders[matched - 1]!;
    if (lines[at] === old[matched]) matched++;
    if (matched < old.length) continue;
    places.push(at - old.length + 1);
    matched = borders[matched - 1]!;
  }
  return places;
}

/** For each line of the pattern, how many lines before it, with it, also begin the pattern. */
function bordersOf(pattern: readonly string[]): number[] {
  const borders = [0];
  let matched = 0;
  for (let at = 1; at < pattern.length; at++) {
    while (matched > 0 && pattern[at] !== pattern[matched]) matched = borders[matched - 1]!;
    if (pattern[at] === pattern[matched]) matched++;
    borders.push(matched);
  }
  return borders;
}

/** The first line that is not as the hunk has it, where the hunk says. */
function misfit(lines: readonly string[], old: readonly string[], at: number): Misfit {
  const index = old.findIndex((line, offset) => lines[at + offset] !== line);
  return { kind: "differs", line: at + index + 1, found: lines[at + index], wanted: old[index]! };
}

/** Spreading a long list into a call would overflow the stack. */
function pushAll(target: string[], more: readonly string[]): void {
  for (const piece of more) target.push(piece);
}

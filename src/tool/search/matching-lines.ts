// The lines of a text that match, with lines around them.

export interface FoundLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** False: it only stands beside one that matches. */
  readonly match: boolean;
}

export interface LineSearch {
  readonly regex: RegExp;
  /** Lines before and behind each match. */
  readonly context: number;
  /** Further matches are counted only. */
  readonly maxMatches: number;
  /** So much text of lines is kept. */
  readonly maxUnits: number;
}

export interface LinesFound {
  readonly lines: FoundLine[];
  /** All of them. */
  readonly matches: number;
  readonly shownMatches: number;
  readonly units: number;
}

/** Longer ones are cut to what stands around the match. */
const maxLineUnits = 400;
const unitsBeforeMatch = 100;

export function matchingLines(text: string, search: LineSearch): LinesFound {
  const all = text.split("\n");
  // A file that ends with a line end has no empty line behind it.
  if (all.at(-1) === "") all.pop();
  const lines: FoundLine[] = [];
  let [matches, shownMatches, units] = [0, 0, 0];
  /** The last line that is in the list, and the last one that is to be. */
  let [listed, wanted] = [-1, -1];
  const list = (index: number, at: number | undefined): void => {
    const line = cutAround(all[index]!.replace(/\r$/, ""), at ?? 0);
    lines.push({ number: index + 1, text: line, match: at !== undefined });
    units += line.length;
    listed = index;
  };
  for (const [index, line] of all.entries()) {
    const at = search.regex.exec(line.endsWith("\r") ? line.slice(0, -1) : line)?.index;
    if (at !== undefined) matches++;
    if (at !== undefined && shownMatches < search.maxMatches && units < search.maxUnits) {
      shownMatches++;
      for (let before = Math.max(listed + 1, index - search.context); before < index; before++) list(before, undefined);
      list(index, at);
      wanted = index + search.context;
    } else if (index <= wanted) list(index, at);
  }
  return { lines, matches, shownMatches, units };
}

function cutAround(line: string, at: number): string {
  if (line.length <= maxLineUnits) return line;
  const from = Math.max(0, Math.min(at - unitsBeforeMatch, line.length - maxLineUnits));
  const to = from + maxLineUnits;
  const middle = line.slice(from, to).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  return `${from > 0 ? "…" : ""}${middle}${to < line.length ? "…" : ""}`;
}

// A hunk of a unified diff, and lines as a diff counts them.

/** A line with its ending, if it has one. Only `\n` ends a line: a `\r` before it belongs to the line. */
export interface HunkLine {
  /** Stays, is taken out, or is put in. */
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

export interface Hunk {
  /** The first line of it, from 1. Where it has no lines on a side: the line before it. */
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly HunkLine[];
}

/** The lines of a text, each with its ending. An empty text has none. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

/** How many lines a text has, without taking it apart. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return text === "" || text.endsWith("\n") ? count : count + 1;
}

/** How many lines of a hunk have one of the signs. */
export const countSigned = (lines: readonly HunkLine[], ...signs: readonly HunkLine["sign"][]): number =>
  lines.reduce((count, { sign }) => (signs.includes(sign) ? count + 1 : count), 0);

// Lines of the live view: text with paint beside it, so that measuring and cutting never meet a colour code.
import { headWithin, widthOf } from "./live-view-width.js";
import type { Style } from "./terminal.js";

export interface Segment {
  /** Safe for a terminal, without line ends. */
  readonly text: string;
  readonly paint?: keyof Style | undefined;
}

export type Line = readonly Segment[];

export const lineOf = (text: string, paint?: keyof Style): Line => [{ text, paint }];

export const emptyLine: Line = [];

export const plainText = (line: Line): string => line.map(({ text }) => text).join("");

export const paintedText = (line: Line, style: Style): string =>
  line.map(({ text, paint }) => (paint === undefined ? text : style[paint](text))).join("");

export const lineWidth = (line: Line): number => line.reduce((width, { text }) => width + widthOf(text), 0);

/** The line in one row: a cut is shown. */
export function clipLine(line: Line, columns: number): Line {
  if (lineWidth(line) <= columns) return line;
  let room = columns - 1;
  const shown: Segment[] = [];
  for (const segment of line) {
    const text = headWithin(segment.text, room);
    shown.push({ ...segment, text });
    room -= widthOf(text);
    if (text !== segment.text) break;
  }
  return [...shown, { text: "…", paint: shown.at(-1)?.paint }];
}

/** The text in rows, broken at spaces where there are any. At least one row. */
export function wrapText(text: string, columns: number): string[] {
  const rows: string[] = [];
  let rest = text;
  while (widthOf(rest) > columns) {
    const row = headWithin(rest, Math.max(columns, 2));
    const space = row.lastIndexOf(" ");
    const end = space > row.length / 2 ? space + 1 : row.length;
    rows.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end);
  }
  return [...rows, rest];
}

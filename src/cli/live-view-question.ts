// A question on the terminal: what would happen, as far as it fits, and the line where the answer is typed. What does not fit is
// counted, and the command that shows it is named: nobody should say yes to a preview that only looks as if it were whole.
import { clipLine, type Line, lineOf, type Segment } from "./live-view-line.js";
import { headWithin, widthOf } from "./live-view-width.js";
import { prompt, promptHint, type Question } from "./run-question.js";
import { safeLine } from "./terminal.js";

export interface OpenQuestion {
  readonly question: Question;
  /** What is typed so far. */
  readonly typed: string;
  /** What was typed before was no answer. */
  readonly isUnclear: boolean;
}

interface Room {
  readonly columns: number;
  readonly room: number;
}

const indent = "  ";
const bodyIndent = "    ";
/** Of a row that goes on with the line above: it must not pass for a line of its own. */
const restIndent = "  ↪ ";
const cursor = "▌";

/** At most `room` lines, and at least the heading and the line to type in. */
export const questionLines = (open: OpenQuestion, at: Room): Line[] => [
  ...askedLines(open.question, { ...at, room: at.room - 1 }),
  typingLine(open, at.columns),
];

/** The question without the line to type in. */
export function askedLines({ heading, why, body, seeAll }: Question, { columns, room }: Room): Line[] {
  const head: Line = [
    { text: "? ", paint: "yellow" },
    { text: heading.title, paint: "bold" },
    { text: heading.summary === "" ? "" : `: ${heading.summary}` },
  ];
  const top = [
    ...wrapLine(head, columns, Math.max(1, room - 2)),
    ...(why === "" || room < 3 ? [] : [clipLine(lineOf(`${indent}${why}`, "dim"), columns)]),
  ];
  const free = room - top.length;
  const rows = bodyRows(body, columns, free + 1);
  if (rows.length <= free) return [...top, ...rows.map(({ row }) => row)];
  const shown = rows.slice(0, Math.max(0, free - 1));
  // A line that is shown in part counts as one that is not.
  const left = body.length - (rows[shown.length]?.index ?? body.length);
  const more = lineOf(`${indent}… ${left} more ${left === 1 ? "line" : "lines"}, not shown: ${seeAll}`, "yellow");
  return [...top, ...shown.map(({ row }) => row), ...(free > 0 ? [clipLine(more, columns)] : [])];
}

interface Row {
  readonly row: Line;
  /** Of the line that it is a part of. */
  readonly index: number;
}

/** No more of them than are needed: a preview may be long, and is drawn again and again. */
function bodyRows(body: readonly Line[], columns: number, most: number): Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < body.length && rows.length < most; index++) {
    const wrapped = wrapLine(body[index]!, Math.max(1, columns - bodyIndent.length), most - rows.length);
    for (const [place, row] of wrapped.entries())
      rows.push({ row: [{ text: place === 0 ? bodyIndent : restIndent }, ...row], index });
  }
  return rows;
}

/** The end of what is typed is what is looked at. */
function typingLine({ typed, isUnclear }: OpenQuestion, columns: number): Line {
  const question = `${indent}${isUnclear ? promptHint : ""}${prompt}`;
  const asked = headWithin(question, Math.max(0, columns - shortestTyping));
  const text = safeLine(typed);
  const room = Math.max(1, columns - widthOf(asked) - 1);
  return [
    { text: asked, paint: "yellow" },
    { text: widthOf(text) <= room ? text : `…${tailWithin(text, room - 1)}` },
    { text: cursor },
  ];
}

const shortestTyping = 10;

function tailWithin(text: string, columns: number): string {
  let tail = text;
  while (tail !== "" && widthOf(tail) > columns) tail = tail.slice([...tail][0]!.length);
  return tail;
}

/** What one column may take: a letter with all of its marks. Only so much is looked at for each row. */
const unitsPerColumn = 8;

/** The line in as many rows as it takes, and not more than `most` of them. */
function wrapLine(line: Line, columns: number, most: number): Line[] {
  const rows: Segment[][] = [[]];
  let free = columns;
  for (const segment of line) {
    let at = 0;
    while (at < segment.text.length) {
      const rest = segment.text.slice(at, at + columns * unitsPerColumn);
      // A character that is wider than the whole row is not left out.
      const piece = headWithin(rest, free) || (free === columns ? [...rest][0]! : "");
      if (piece !== "") rows.at(-1)!.push({ ...segment, text: piece });
      at += piece.length;
      free -= widthOf(piece);
      if (at >= segment.text.length) break;
      if (rows.length === most) return rows;
      rows.push([]);
      free = columns;
    }
  }
  return rows;
}

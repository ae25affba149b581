// The open part of the live view as lines that fit the terminal: what is drawn again and again until it is over.

import { callGroup, groupOf, isSpeaking, type OpenItem, type View } from "./live-view.js";
import { elapsedText, openCallLines } from "./live-view-call.js";
import { clipLine, emptyLine, type Line, lineOf, wrapText } from "./live-view-line.js";
import { type OpenQuestion, questionLines } from "./live-view-question.js";
import { shownLine } from "./live-view-text.js";
import { spinnerAt } from "./spinner.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

interface Block {
  readonly group: string;
  readonly lines: readonly Line[];
}

/** Silence of the model that is worth a word. */
const silenceMs = 1000;
/** A terminal smaller than this is drawn as if it had so many. */
const fewestColumns = 20;
const fewestRows = 4;

/** At most `rows - 1` lines, each in one row: the last row is the cursor's. */
export function openLines(view: View, nowMs: number, size: Size): Line[] {
  // One column stays free: terminals disagree about what a line that fills its row does to the cursor.
  const columns = Math.max(fewestColumns, size.columns) - 1;
  const room = Math.max(fewestRows, size.rows) - 1;
  if (view.question !== undefined) return aroundQuestion(view, view.question, { nowMs, columns, room, isStill: false });
  const { awayMs } = view;
  if (awayMs !== undefined && nowMs - awayMs >= silenceMs) {
    // What is open stays as it was when the server was last heard.
    const open = openParts(view, { nowMs: awayMs, columns, room: room - 2, isStill: true });
    const away = lineOf(
      `${spinnerAt(nowMs)} waiting for the server, ${Math.floor((nowMs - awayMs) / 1000)} s`,
      "yellow",
    );
    return [...open, ...(open.length === 0 && view.lastGroup === "" ? [] : [emptyLine]), clipLine(away, columns)];
  }
  const open = openParts(view, { nowMs, columns, room, isStill: false });
  return open.length === 0 && view.state === "running" ? silence(view, nowMs) : open;
}

interface Room {
  readonly nowMs: number;
  readonly columns: number;
  readonly room: number;
  readonly isStill: boolean;
}

/** Beside a question the rest is short: what is asked comes first. */
const rowsBesideQuestion = 3;

function aroundQuestion(view: View, question: OpenQuestion, at: Room): Line[] {
  // The call that is asked about is the question.
  const others = { ...view, open: view.open.filter(({ id }) => id !== question.question.toolCallId) };
  const wanted = openParts(others, { ...at, room: rowsBesideQuestion }).length;
  const beside = wanted === 0 ? 0 : Math.min(wanted + 1, Math.max(0, at.room - fewestQuestionRows));
  const lines = questionLines(question, { columns: at.columns, room: at.room - beside });
  const free = at.room - lines.length - 1;
  const open = free > 0 ? openParts(others, { ...at, room: free }) : [];
  const isFirst = open.length === 0 && view.lastGroup === "";
  return [...open, ...(isFirst || lines.length + open.length >= at.room ? [] : [emptyLine]), ...lines];
}

/** Heading, why, something of what would happen, what is left of it, and the line to type in. */
const fewestQuestionRows = 5;

function openParts(view: View, at: Room): Line[] {
  const blocks = view.open.map((item) => blockOf(item, at)).filter(({ lines }) => lines.length > 0);
  if (blocks.length === 0) return [];
  const whole = spaced(view.lastGroup, blocks);
  const lines = whole.length <= at.room ? whole : shortened(blocks, at.room);
  return lines.map((line) => clipLine(line, at.columns));
}

function blockOf(item: OpenItem, { nowMs, columns, isStill }: Room): Block {
  const group = groupOf(item);
  if (item.type === "call" && !isSpeaking(item)) return { group, lines: openCallLines(item, nowMs, isStill) };
  const { pending } = item.type === "call" ? item.speech : item.paragraph;
  const text = shownLine(pending);
  const paint = item.type === "call" ? undefined : item.paint;
  return { group, lines: text === "" ? [] : wrapText(text, columns).map((row) => lineOf(row, paint)) };
}

function spaced(lastGroup: string, blocks: readonly Block[]): Line[] {
  let before = lastGroup;
  return blocks.flatMap(({ group, lines }) => {
    const gap = before === "" || before === group ? [] : [emptyLine];
    before = group;
    return [...gap, ...lines];
  });
}

/** One line of each call, and of texts the newest rows that fit. What is still too much is counted. */
function shortened(blocks: readonly Block[], room: number): Line[] {
  const rowsLeft = Math.max(1, room - blocks.length + 1);
  const lines = blocks.flatMap(({ group, lines: all }) =>
    group === callGroup ? all.slice(0, 1) : all.slice(-rowsLeft),
  );
  if (lines.length <= room) return lines;
  return [...lines.slice(0, room - 1), lineOf(`… and ${lines.length - room + 1} more`, "dim")];
}

function silence(view: View, nowMs: number): Line[] {
  const ms = nowMs - view.touchedMs;
  if (ms < silenceMs) return [];
  const line = lineOf(`${spinnerAt(nowMs)} waiting for the model  ${elapsedText(ms)}`, "dim");
  return view.lastGroup === "" ? [line] : [emptyLine, line];
}

// Text that arrives in pieces, made lines for a terminal: whole lines leave as they are complete, the last one waits. What
// tools and models write may hold anything: it is made safe line by line, when a sequence that came in two pieces is whole.
import { terminalSequence } from "../thread/summary.js";
import { safeLine } from "./terminal.js";

const tab = "    ";

/** One line as a terminal would show it, and nothing that does more than show. A carriage return begins the line anew. */
export function shownLine(raw: string): string {
  const line = raw.replace(/\r+$/, "");
  const visible = line.slice(line.lastIndexOf("\r") + 1).replace(terminalSequence, "");
  return safeLine(visible.replaceAll("\t", tab)).trimEnd();
}

/** A text that is being written: what is not yet a whole line, and the empty lines that only count when more follows. */
export interface Paragraph {
  readonly pending: string;
  readonly blanks: number;
  readonly hasBegun: boolean;
}

export const newParagraph: Paragraph = { pending: "", blanks: 0, hasBegun: false };

/** A line that never ends is broken here. */
const longestPending = 8192;

/** A carriage return too: in words, unlike in what a tool prints, nothing may be lost. One at the end may be half of a line end. */
const lineEnd = /\r?\n|\r(?!\n|$)/;

/** Adds a piece; `lines` are those that it completes, safe for a terminal. Empty lines at the start and the end are dropped. */
export function addText(paragraph: Paragraph, text: string): { paragraph: Paragraph; lines: string[] } {
  const parts = (paragraph.pending + text).split(lineEnd);
  let pending = parts.pop()!;
  if (pending.length > longestPending) {
    parts.push(pending);
    pending = "";
  }
  return take({ ...paragraph, pending }, parts);
}

/** Nothing follows: the last line is complete. */
export function endText(paragraph: Paragraph): string[] {
  return take({ ...paragraph, pending: "" }, [paragraph.pending]).lines;
}

function take(paragraph: Paragraph, whole: readonly string[]): { paragraph: Paragraph; lines: string[] } {
  let { blanks, hasBegun } = paragraph;
  const lines: string[] = [];
  for (const raw of whole) {
    const line = shownLine(raw);
    if (line === "") {
      blanks++;
      continue;
    }
    if (hasBegun) lines.push(...Array.from({ length: Math.min(blanks, mostBlanks) }, () => ""));
    lines.push(line);
    blanks = 0;
    hasBegun = true;
  }
  return { paragraph: { ...paragraph, blanks, hasBegun }, lines };
}

const mostBlanks = 2;

/** The last lines of what a tool printed, as they came. */
export interface Tail {
  readonly lines: readonly string[];
  readonly pending: string;
  /** There was more before them. */
  readonly isCut: boolean;
}

export const noTail: Tail = { lines: [], pending: "", isCut: false };

export const tailLines = 5;
const longestTailLine = 1000;

export function addToTail(tail: Tail, text: string): Tail {
  // Of a piece only its end can be seen.
  const parts = (tail.pending + text).slice(-(tailLines + 1) * longestTailLine).split("\n");
  const pending = parts.pop()!.slice(-longestTailLine);
  const lines = [...tail.lines, ...parts.filter((part) => part.trim() !== "")];
  const isCut = tail.isCut || lines.length > tailLines;
  return { lines: lines.slice(-tailLines), pending, isCut };
}

/** Code that is being written: each line of it counts, also where only a carriage return ends it. */
export const addCodeToTail = (tail: Tail, code: string): Tail => addToTail(tail, code.replaceAll("\r", "\n"));

/** Safe for a terminal. */
export const shownTail = ({ lines, pending }: Tail): string[] =>
  [...lines, pending]
    .map(shownLine)
    .filter((line) => line !== "")
    .slice(-tailLines);

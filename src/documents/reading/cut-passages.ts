// Cuts a document into passages: at headings and pages always, else between paragraphs, else between lines, and within a line
// only where one is longer than a passage may be. Every line that is not blank is in exactly one passage, or in several that share
// it and nothing else.
import type { Passage } from "../passage.js";
import type { DocumentText } from "./document-text.js";
import { type HeadingLine, headingLines } from "./headings.js";

/** In UTF-16 units. A passage is closed where a paragraph ends, once it has the first; none has more than the second. */
const wantedUnits = 1_000;
const mostUnits = 1_500;

/** Throws `RangeError` when there are more than `atMost`. */
export function cutPassages(document: DocumentText, atMost: number): Passage[] {
  const cutter = new Cutter(atMost);
  const headings = document.hasHeadings ? headingLines(document.lines) : new Map<number, HeadingLine>();
  const pageStarts = new Set(document.pageStarts);
  document.lines.forEach((line, index) => {
    if (pageStarts.has(index)) cutter.beginPage();
    const heading = headings.get(index);
    if (heading !== undefined) cutter.beginSection(heading);
    cutter.add(line, index + 1);
    if (heading !== undefined || headings.get(index - 1)?.isUnderlined) cutter.headingAdded();
  });
  return cutter.end();
}

class Cutter {
  readonly #atMost: number;
  readonly #passages: Passage[] = [];
  #headings: HeadingLine[] = [];
  #page = 0;
  /** The passage that is being filled. Blank lines inside are kept, those around it are not. */
  #lines: string[] = [];
  #firstLine = 0;
  #units = 0;
  /** Nothing but headings so far: what stands below them belongs to them. */
  #isOnlyHeadings = true;

  constructor(atMost: number) {
    this.#atMost = atMost;
  }

  beginPage(): void {
    this.#close();
    this.#page++;
  }

  beginSection(heading: HeadingLine): void {
    if (!this.#isOnlyHeadings) this.#close();
    this.#headings = [...this.#headings.filter(({ level }) => level < heading.level), heading];
  }

  /** The line that was added last is a heading, or the line under one. */
  headingAdded(): void {
    this.#isOnlyHeadings = true;
  }

  add(line: string, number: number): void {
    if (line.trim() === "") this.#blank();
    else {
      if (this.#units + line.length > mostUnits) this.#close();
      if (line.length > mostUnits) this.#addHuge(line, number);
      else this.#take(line, number);
    }
  }

  end(): Passage[] {
    this.#close();
    return this.#passages;
  }

  /** The end of a paragraph. */
  #blank(): void {
    if (this.#lines.length === 0) return;
    this.#lines.push("");
    this.#units++;
    if (this.#units >= wantedUnits) this.#close();
  }

  #addHuge(line: string, number: number): void {
    for (const piece of pieces(line)) {
      this.#take(piece, number);
      this.#close();
    }
  }

  #take(line: string, number: number): void {
    if (this.#lines.length === 0) this.#firstLine = number;
    this.#lines.push(line);
    this.#units += line.length + 1;
    this.#isOnlyHeadings = false;
  }

  #close(): void {
    while (this.#lines.at(-1) === "") this.#lines.pop();
    if (this.#lines.length > 0) this.#keep();
    this.#lines = [];
    this.#units = 0;
    this.#isOnlyHeadings = true;
  }

  #keep(): void {
    if (this.#passages.length >= this.#atMost) throw new RangeError(`more than ${this.#atMost} passages`);
    this.#passages.push({
      firstLine: this.#firstLine,
      lastLine: this.#firstLine + this.#lines.length - 1,
      page: this.#page === 0 ? undefined : this.#page,
      headings: this.#headings.map(({ title }) => title),
      text: this.#lines.join("\n"),
    });
  }
}

/** A line that is too long, cut behind a sentence, else behind a word, else between characters. */
function* pieces(line: string): Generator<string> {
  for (let from = 0; from < line.length; ) {
    const window = line.slice(from, from + mostUnits);
    const length = from + window.length < line.length ? cutIn(window) : window.length;
    yield line.slice(from, from + length);
    from += length;
  }
}

function cutIn(window: string): number {
  const half = window.length / 2;
  const sentence = Math.max(...[". ", "! ", "? ", "。", "！", "？"].map((end) => window.lastIndexOf(end) + end.length));
  if (sentence > half) return sentence;
  const space = window.lastIndexOf(" ") + 1;
  if (space > half) return space;
  return /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
}

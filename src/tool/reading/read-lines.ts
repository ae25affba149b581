// Some lines of a text file, read once from its start in bounded memory, however large the file and however long its lines.
import type { ReadHandle } from "../workspace/waiting.js";

export interface LineRange {
  /** The first line, from 1. */
  readonly offset: number;
  /** At most so many lines, */
  readonly limit: number;
  /** and so many bytes of them; one line is always given. */
  readonly maxBytes: number;
  /** Of each line, at most so many units. */
  readonly maxLineUnits: number;
  /** Lines behind the range are only counted, and only so far into the file. */
  readonly countBytes: number;
}

export interface LinesRead {
  /** Without line ends, and without a byte-order mark. */
  readonly lines: string[];
  /** How many of them are not whole. */
  readonly cutLines: number;
  /** Undefined when the file is too large to count them all. */
  readonly totalLines: number | undefined;
  /** Lines end with CR LF. */
  readonly crlf: boolean;
}

const pieceBytes = 64 * 1024;

/** The beginning of a file, which tells what it is. */
export async function readStart(handle: ReadHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Undefined when it is no UTF-8 text. `start` is what `readStart` gave. Contract: `signal` is looked at between pieces. */
export async function readLines(
  { handle, start }: { handle: ReadHandle; start: Buffer },
  range: LineRange,
  signal: AbortSignal,
): Promise<LinesRead | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const collector = new Collector(range);
  let buffer = start;
  let bytesRead = start.length;
  for (let position = start.length; ; ) {
    signal.throwIfAborted();
    const text = decoded(decoder, bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead));
    if (text === undefined || text.includes("\0")) return undefined;
    collector.add(text);
    if (bytesRead === 0) return collector.end();
    if (collector.isFull && position >= range.countBytes) return collector.stop();
    if (bytesRead === pieceBytes) {
      if (buffer === start) buffer = Buffer.allocUnsafe(pieceBytes);
      ({ bytesRead } = await handle.read(buffer, 0, pieceBytes, position));
      position += bytesRead;
    } else bytesRead = 0; // A file gives less only at its end.
  }
}

/** Without bytes: the end, where half a character is an error. */
function decoded(decoder: TextDecoder, bytes: Uint8Array | undefined): string | undefined {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

class Collector {
  readonly #range: LineRange;
  readonly #lines: string[] = [];
  #bytes = 0;
  #cutLines = 0;
  #crlf = false;
  #full = false;
  /** The number of the line that we are in. */
  #number = 1;
  /** What is kept of it, how long it is, and how it ends so far. */
  #kept = "";
  #units = 0;
  #last = "";

  constructor(range: LineRange) {
    this.#range = range;
  }

  get isFull(): boolean {
    return this.#full;
  }

  add(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      this.#grow(text, from, end);
      this.#endLine();
      from = end + 1;
    }
    this.#grow(text, from, text.length);
  }

  end(): LinesRead {
    // A file that ends with a line end has no empty line behind it.
    if (this.#units > 0) this.#endLine();
    return this.#read(this.#number - 1);
  }

  stop(): LinesRead {
    return this.#read(undefined);
  }

  #read(totalLines: number | undefined): LinesRead {
    return { lines: this.#lines, cutLines: this.#cutLines, totalLines, crlf: this.#crlf };
  }

  #grow(text: string, from: number, to: number): void {
    if (from === to) return;
    this.#units += to - from;
    this.#last = text[to - 1]!;
    // One unit more than is given: a carriage return at the border is not part of the line.
    const room = this.#range.maxLineUnits + 1 - this.#kept.length;
    if (this.#isWanted && room > 0) this.#kept += text.slice(from, Math.min(to, from + room));
  }

  get #isWanted(): boolean {
    return !this.#full && this.#number >= this.#range.offset;
  }

  #endLine(): void {
    if (this.#isWanted) this.#take();
    this.#number++;
    this.#kept = "";
    this.#units = 0;
    this.#last = "";
  }

  #take(): void {
    const isCrlf = this.#last === "\r";
    const units = isCrlf ? this.#units - 1 : this.#units;
    const isCut = units > this.#range.maxLineUnits;
    const line = isCut ? wholeCharacters(this.#kept.slice(0, this.#range.maxLineUnits)) : this.#kept.slice(0, units);
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#lines.length > 0 && this.#bytes + bytes > this.#range.maxBytes) {
      this.#full = true;
      return;
    }
    this.#bytes += bytes;
    this.#crlf ||= isCrlf;
    if (isCut) this.#cutLines++;
    this.#lines.push(line);
    this.#full = this.#lines.length >= this.#range.limit;
  }
}

const wholeCharacters = (text: string): string => text.replace(/[\uD800-\uDBFF]$/, "");

// One stream of a process, in bounded memory however much comes: the text as it arrives, the beginning for the record, the end
// for the model. A character that is cut between two pieces is put together again.

export interface OutputLimits {
  /** What is passed on as it comes, and kept for the record. */
  readonly wholeBytes: number;
  /** What is kept of the end. */
  readonly tailBytes: number;
}

/** Both streams together stay below what a model is given at most. */
export const outputLimits: OutputLimits = { wholeBytes: 16 * 1024 * 1024, tailBytes: 24 * 1024 };

const mostPieces = 64;
/** What is kept before the tail, so that a cut through a character can be seen. */
const longestCharacter = 4;

export class KeptOutput {
  readonly #limits: OutputLimits;
  readonly #onText: (text: string) => void;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #whole: Buffer[] = [];
  #wholeBytes = 0;
  #end: Buffer[] = [];
  #endBytes = 0;
  #bytes = 0;
  #isOpen = true;

  constructor(onText: (text: string) => void, limits: OutputLimits = outputLimits) {
    this.#onText = onText;
    this.#limits = limits;
  }

  /** How much came. */
  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#keepEnd(piece);
    if (!this.#isOpen) return;
    const room = this.#limits.wholeBytes - this.#wholeBytes;
    const kept = piece.length <= room ? piece : piece.subarray(0, room);
    this.#whole.push(kept);
    this.#wholeBytes += kept.length;
    this.#tell(this.#decoder.decode(kept, { stream: true }));
    if (kept !== piece) this.#closeWhole("\n[More output was left out]\n");
  }

  /** Nothing more comes. */
  close(): void {
    if (this.#isOpen) this.#closeWhole("");
  }

  /** From the beginning up to the limit, with a last line that says what is missing. */
  whole(): string {
    const text = decoded(Buffer.concat(this.#whole));
    const missing = this.#bytes - this.#wholeBytes;
    return missing === 0 ? text : `${text}\n[${missing} more bytes were left out]\n`;
  }

  /** The end, from the beginning of a line where one is near, with a first line that says what is missing. */
  tail(): string {
    const end = Buffer.concat(this.#end);
    if (this.#bytes <= this.#limits.tailBytes) return decoded(end);
    const kept = end.subarray(cutBefore(end, end.length - this.#limits.tailBytes));
    return `[${this.#bytes - kept.length} bytes before this were left out]\n${decoded(kept)}`;
  }

  /** Whole pieces fall off at the front; where they are many and small they are joined first. */
  #keepEnd(piece: Buffer): void {
    const { tailBytes } = this.#limits;
    if (this.#end.length >= mostPieces) this.#end = [Buffer.concat(this.#end)];
    this.#end.push(piece);
    this.#endBytes += piece.length;
    while (this.#endBytes - this.#end[0]!.length >= tailBytes + longestCharacter)
      this.#endBytes -= this.#end.shift()!.length;
  }

  #closeWhole(words: string): void {
    this.#isOpen = false;
    this.#tell(this.#decoder.decode() + words);
  }

  #tell(text: string): void {
    if (text !== "") this.#onText(text);
  }
}

/** A tail that begins with half a line is hard to read; one that begins a long line later has lost too much. */
const nearBytes = 1024;
const lineFeed = 0x0a;

/** Where the tail begins: behind the next line break, or else at the next character. */
function cutBefore(bytes: Buffer, from: number): number {
  const lineEnd = bytes.indexOf(lineFeed, Math.max(from - 1, 0));
  if (lineEnd >= 0 && lineEnd - from < nearBytes && lineEnd + 1 < bytes.length) return lineEnd + 1;
  let at = from;
  while (at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at++;
  return at;
}

const decoded = (bytes: Buffer): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

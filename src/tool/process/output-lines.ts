// What a background process printed, line by line and in the order in which it came, both streams together. Memory is bounded: the
// oldest lines go, and the numbers of those that stay do not change, so that a reader can go on where it was.

export interface OutputLine {
  /** From 1 on. */
  readonly number: number;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** What a line takes in memory beside its text. */
const lineOverhead = 64;
/** What is longer is broken, so that one line without an end is not all there is. */
const longestLineUnits = 8 * 1024;

export class OutputLines {
  readonly #mostBytes: number;
  readonly #onChange: () => void;
  readonly #open = { stdout: new OpenLine(), stderr: new OpenLine() };
  /** Those before `#from` are dropped, and wait to be cleared away. */
  #lines: OutputLine[] = [];
  #from = 0;
  #count = 0;
  #heldBytes = 0;
  #printedBytes = 0;

  /** `onChange`: called when it may hold more or less than before. */
  constructor(mostBytes: number, onChange: () => void = () => {}) {
    this.#mostBytes = mostBytes;
    this.#onChange = onChange;
  }

  /** All that was printed. */
  get printedBytes(): number {
    return this.#printedBytes;
  }

  /** What is held in memory. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Lines that came, also those that are gone. */
  get count(): number {
    return this.#count;
  }

  /** Lines that are gone: those up to this number. */
  get dropped(): number {
    return this.#count - (this.#lines.length - this.#from);
  }

  add(stream: OutputLine["stream"], piece: Buffer): void {
    this.#printedBytes += piece.length;
    for (const text of this.#open[stream].add(piece)) this.#push({ number: ++this.#count, stream, text });
    this.shrinkTo(this.#mostBytes);
    this.#onChange();
  }

  /** Nothing more comes: what has no line break at its end is a line all the same. */
  close(): void {
    for (const stream of ["stdout", "stderr"] as const)
      for (const text of this.#open[stream].close()) this.#push({ number: ++this.#count, stream, text });
    this.shrinkTo(this.#mostBytes);
    this.#onChange();
  }

  /** Lets the oldest lines go. */
  shrinkTo(bytes: number): void {
    while (this.#heldBytes > bytes && this.#from < this.#lines.length)
      this.#heldBytes -= sizeOf(this.#lines[this.#from++]!);
    // Cleared away seldom: it takes as long as what stays is.
    if (this.#from <= this.#lines.length / 2) return;
    this.#lines = this.#lines.slice(this.#from);
    this.#from = 0;
  }

  /** The first lines behind a number, as many as are there. */
  after(number: number, most: number): readonly OutputLine[] {
    const from = this.#from + Math.max(0, number - this.dropped);
    return this.#lines.slice(from, from + most);
  }

  last(most: number): readonly OutputLine[] {
    return this.#lines.slice(Math.max(this.#from, this.#lines.length - most));
  }

  /** What has come of lines that have no end yet. */
  unfinished(): readonly Omit<OutputLine, "number">[] {
    return (["stdout", "stderr"] as const).flatMap((stream) => {
      const text = this.#open[stream].text;
      return text === "" ? [] : [{ stream, text }];
    });
  }

  #push(line: OutputLine): void {
    this.#lines.push(line);
    this.#heldBytes += sizeOf(line);
  }
}

const sizeOf = ({ text }: OutputLine): number => 2 * text.length + lineOverhead;

/** The line of one stream that is being written. */
class OpenLine {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #text = "";

  get text(): string {
    return this.#text;
  }

  /** The lines that the piece completes. */
  add(piece: Buffer): string[] {
    return this.#completed(this.#decoder.decode(piece, { stream: true }));
  }

  close(): string[] {
    const lines = this.#completed(this.#decoder.decode());
    const rest = this.#text;
    this.#text = "";
    return rest === "" ? lines : [...lines, rest];
  }

  #completed(text: string): string[] {
    const lines = `${this.#text}${text}`.split("\n");
    const rest = broken(lines.pop()!);
    this.#text = rest.pop()!;
    return [...lines.flatMap((line) => broken(line.endsWith("\r") ? line.slice(0, -1) : line)), ...rest];
  }
}

/** Pieces of a line, none of which is too long, cut between characters. */
function broken(line: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (line.length - from > longestLineUnits) {
    const end = from + longestLineUnits;
    const isPair = line.charCodeAt(end - 1) >> 10 === 0x36;
    pieces.push(line.slice(from, isPair ? end - 1 : end));
    from = isPair ? end - 1 : end;
  }
  return [...pieces, line.slice(from)];
}

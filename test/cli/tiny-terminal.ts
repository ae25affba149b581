// A terminal that knows just what the live view sends: lines that wrap and scroll, wide characters, cursor up, erase below.
// Anything else is an error, so that the view cannot start to use what is not tested.
import { widthOf } from "../../src/cli/live-view-width.js";

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what it reads.
const token = /\u001b\[(\??)(\d*)([A-Za-z])|\r|\n|[^\u001b\r\n]+/gy;

export class TinyTerminal {
  columns: number;
  readonly rows: number;
  isCursorVisible = true;
  /** Every row from the first ever written; the screen is the last `rows` of them. An array of cells; "" follows a wide one. */
  #grid: string[][] = [[]];
  #top = 0;
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    token.lastIndex = 0;
    while (token.lastIndex < text.length) {
      const at = token.lastIndex;
      const match = token.exec(text);
      if (match === null) throw new Error(`the terminal does not know ${JSON.stringify(text.slice(at, at + 12))}`);
      const [piece, mark, number, command] = match;
      if (piece === "\r") this.#column = 0;
      else if (piece === "\n") this.#lineFeed();
      else if (command === undefined) this.#print(piece);
      else this.#control(`${mark}${command}`, number ?? "");
    }
  }

  /** Everything that was ever written and not erased, without trailing blanks. */
  get text(): string[] {
    const lines = this.#grid.map((row) =>
      row
        .map((cell) => cell ?? " ")
        .join("")
        .trimEnd(),
    );
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }

  /** What is to be seen. */
  get screen(): string[] {
    return this.text.slice(this.#top);
  }

  /** Becomes narrower or wider; lines that no longer fit are broken, as most terminals do. */
  resize(columns: number): void {
    const cursorLine = this.#row;
    const grid: string[][] = [];
    for (const [index, row] of this.#grid.entries()) {
      if (index === cursorLine) this.#row = grid.length;
      const length = row.findLastIndex((cell) => cell !== undefined && cell !== " ") + 1;
      for (let start = 0; start === 0 || start < length; start += columns) grid.push(row.slice(start, start + columns));
    }
    this.#grid = grid;
    this.columns = columns;
    this.#top = Math.max(0, grid.length - this.rows);
  }

  #print(text: string): void {
    for (const { segment } of graphemes.segment(text)) {
      const width = widthOf(segment);
      if (this.#column + width > this.columns) this.#lineFeed();
      const row = this.#grid[this.#row]!;
      while (row.length < this.#column) row.push(" ");
      row[this.#column] = segment;
      if (width === 2) row[this.#column + 1] = "";
      this.#column += width;
    }
  }

  #lineFeed(): void {
    this.#column = 0;
    this.#row++;
    this.#grid[this.#row] ??= [];
    this.#top = Math.max(this.#top, this.#row - this.rows + 1);
  }

  #control(command: string, number: string): void {
    if (command === "m") return;
    if (command === "A") this.#row = Math.max(this.#top, this.#row - Number(number || 1));
    else if (command === "J" && number === "") {
      this.#grid.length = this.#row + 1;
      this.#grid[this.#row]!.length = Math.min(this.#grid[this.#row]!.length, this.#column);
    } else if (command === "?l" || command === "?h") {
      if (number === "25") this.isCursorVisible = command === "?h";
      else if (number !== "2026") throw new Error(`the terminal has no mode ${number}`);
    } else throw new Error(`the terminal does not know ${command}`);
  }
}

// A terminal that knows what the live view sends: text, colours, cursor up, erase below. Every character is one cell wide.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what it reads.
const token = /\u001b\[(\??)([\d;]*)([A-Za-z])|\r|\n|[^\u001b\r\n]+/gy;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the beginning of one.
const unfinished = /\u001b(?:\[[?\d;]*)?$/;

/** Colours and weights by their codes; a name with "!" ends one. */
const styles = {
  0: "!",
  1: "bold",
  2: "dim",
  22: "!weight",
  31: "red",
  32: "green",
  33: "yellow",
  36: "cyan",
  39: "!colour",
};

export class Screen {
  #size;
  #grid = [[]];
  #row = 0;
  #column = 0;
  #weight = "";
  #colour = "";
  #rest = "";
  /** Nothing is in the middle of being drawn. */
  isWhole = true;

  constructor(size) {
    this.#size = size;
  }

  write(text) {
    const all = this.#rest + text;
    // A sequence may be cut between two pieces.
    const cut = unfinished.exec(all)?.index ?? all.length;
    this.#rest = all.slice(cut);
    for (const [piece, mark, number, command] of all.slice(0, cut).matchAll(token)) {
      if (piece === "\r") this.#column = 0;
      else if (piece === "\n") this.#lineFeed();
      else if (command === undefined) this.#print(piece);
      else this.#control(`${mark}${command}`, number);
    }
  }

  /** What is to be seen, from the top: runs of characters of one style, with their columns. */
  rows() {
    const lines = this.#grid.slice(-this.#size.rows);
    return lines.map(runsOf);
  }

  #print(text) {
    for (const char of text) {
      if (this.#column === this.#size.columns) {
        this.#column = 0;
        this.#lineFeed();
      }
      this.#grid[this.#row][this.#column++] = { char, style: [this.#colour, this.#weight].filter(Boolean).join(" ") };
    }
  }

  #lineFeed() {
    this.#row++;
    this.#grid[this.#row] ??= [];
  }

  #control(command, number) {
    if (command === "m") for (const code of (number || "0").split(";")) this.#paint(code);
    else if (command === "A") this.#row = Math.max(0, this.#row - Number(number || 1));
    else if (command === "J") {
      this.#grid.length = this.#row + 1;
      this.#grid[this.#row].length = Math.min(this.#grid[this.#row].length, this.#column);
    } else if (command === "?h" && number === "2026") this.isWhole = false;
    else if (command === "?l" && number === "2026") this.isWhole = true;
    else if (number !== "25") throw new Error(`the screen does not know ${number}${command}`);
  }

  #paint(code) {
    const style = styles[code];
    if (style === undefined) throw new Error(`the screen does not know the style ${code}`);
    if (style === "bold" || style === "dim") this.#weight = style;
    else if (!style.startsWith("!")) this.#colour = style;
    if (style === "!" || style === "!weight") this.#weight = "";
    if (style === "!" || style === "!colour") this.#colour = "";
  }
}

function runsOf(line) {
  const runs = [];
  for (const [column, cell] of Array.from(line, (cell) => cell ?? { char: " ", style: "" }).entries()) {
    const last = runs.at(-1);
    if (last && last.style === cell.style) last.text += cell.char;
    else runs.push({ column, style: cell.style, text: cell.char });
  }
  return runs
    .map(({ column, style, text }) => {
      const inner = text.trimStart();
      return { column: column + text.length - inner.length, style, text: inner.trimEnd() };
    })
    .filter(({ text }) => text !== "");
}

// Draws the live view: finished lines are written once and scroll away; the open ones are erased and written anew. Holds no
// clock and writes nothing itself: it turns one frame after the other into what a terminal must be sent.
import { type Line, lineWidth, paintedText } from "./live-view-line.js";
import type { Style } from "./terminal.js";

export const hideCursor = "\u001b[?25l";
export const showCursor = "\u001b[?25h";

/** Between these a terminal that knows them shows nothing half drawn; others ignore them. */
const beginFrame = "\u001b[?2026h";
const endFrame = "\u001b[?2026l";
const eraseBelow = "\u001b[J";

export class LiveScreen {
  readonly #style: Style;
  /** The width of each open line on the screen. The cursor stands in the row below them. */
  #drawn: readonly number[] = [];
  #last = "";

  constructor(style: Style) {
    this.#style = style;
  }

  /** What to write. Empty when the screen shows this already. */
  frame(finished: readonly Line[], open: readonly Line[], columns: number): string {
    const text = (lines: readonly Line[]) => lines.map((line) => `${paintedText(line, this.#style)}\n`).join("");
    const openText = text(open);
    if (finished.length === 0 && openText === this.#last) return "";
    const erase = this.#erase(columns);
    this.#drawn = open.map(lineWidth);
    this.#last = openText;
    return `${beginFrame}${erase}${text(finished)}${openText}${endFrame}`;
  }

  /** A terminal that became narrower has broken the lines that no longer fit: they take more rows than were written. */
  #erase(columns: number): string {
    const rows = this.#drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows === 0 ? "" : `\u001b[${rows}A\r${eraseBelow}`;
  }
}

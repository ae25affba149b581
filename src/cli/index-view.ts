// How the indexing of a folder is shown: a bar on a terminal, plain lines elsewhere, a line of JSON a document with --json.
import { sizeText } from "./format.js";
import { type Indexed, type Outcome, type Tally, tallyLine } from "./index-outcome.js";
import type { Io } from "./io.js";
import { clipLine, type Line, lineOf } from "./live-view-line.js";
import { LiveScreen } from "./live-view-screen.js";
import { type Mark, marks } from "./marks.js";
import { spinnerAt, spinnerMs } from "./spinner.js";
import { isScreen, safeLine, styleFor } from "./terminal.js";

export interface IndexView {
  started(name: string): void;
  ended(indexed: Indexed): Promise<void>;
  /** Takes away what is only shown on the way. */
  close(): Promise<void>;
  /** The line of the result, behind `close`. */
  result(tally: Tally): Promise<void>;
}

export interface IndexViewOptions {
  readonly isJson: boolean;
  readonly isDryRun: boolean;
  readonly collection: string;
  readonly total: number;
}

export function openIndexView(io: Io, options: IndexViewOptions): IndexView {
  if (options.isJson) return jsonView(io, options);
  return isScreen(io, "stdout") ? terminalView(io, options) : plainView(io, options);
}

/** Standard output holds the documents alone. */
const jsonView = (io: Io, options: IndexViewOptions): IndexView => ({
  started() {},
  ended: ({ name, outcome, sizeBytes, why }) =>
    io.stdout.write(`${JSON.stringify({ collection: options.collection, name, outcome, sizeBytes, why })}\n`),
  close: async () => {},
  result: (tally) => io.stderr.write(`${tallyLine(tally, options)}\n`),
});

const outcomeColumns = 9;

const plainView = (io: Io, options: IndexViewOptions): IndexView => ({
  started() {},
  async ended(indexed) {
    if (indexed.outcome === "unchanged") return;
    await io.stdout.write(`${indexed.outcome.padEnd(outcomeColumns)}  ${withReason(indexed)}\n`);
  },
  close: async () => {},
  result: (tally) => io.stdout.write(`${tallyLine(tally, options)}\n`),
});

const withReason = ({ name, why }: Indexed): string => safeLine(why === undefined ? name : `${name}: ${why}`);

/** What must be seen stays above the bar. */
const marked: Readonly<Partial<Record<Outcome, Mark>>> = { skipped: marks.calledOff, failed: marks.failed };
/** Further ones are counted: a folder may be full of pictures. */
const skippedShown = 20;
const assumedColumns = 80;

function terminalView(io: Io, options: IndexViewOptions): IndexView {
  const style = styleFor(io, "stdout");
  const screen = new LiveScreen(style);
  const under = new Set<string>();
  let [done, bytes, skipped] = [0, 0, 0];
  let finished: Line[] = [];
  let writing: Promise<void> | undefined;
  let failure: unknown;
  const timer = setInterval(draw, spinnerMs);
  draw();

  function frame(open: readonly Line[]): string {
    const columns = io.stdout.columns || assumedColumns;
    const text = screen.frame(
      finished,
      open.map((line) => clipLine(line, columns - 1)),
      columns,
    );
    finished = [];
    return text;
  }

  /** A terminal that is slow gets fewer frames, not a queue of them. */
  function draw(): void {
    if (writing !== undefined) return;
    const text = frame([barLine({ done, total: options.total, bytes, name: [...under].at(-1) ?? "" })]);
    if (text === "") return;
    writing = io.stdout
      .write(text)
      .catch((reason) => {
        failure ??= reason;
      })
      .then(() => {
        writing = undefined;
      });
  }

  return {
    started: (name) => void under.add(name),
    async ended(indexed) {
      const { name, outcome, sizeBytes } = indexed;
      under.delete(name);
      if (outcome !== "removed") done++;
      bytes += sizeBytes;
      const mark = marked[outcome];
      const isShown = outcome !== "skipped" || ++skipped <= skippedShown;
      if (mark !== undefined && isShown)
        finished.push([{ text: mark.icon, paint: mark.paint }, ...lineOf(` ${withReason(indexed)}`)]);
      if (failure !== undefined) throw failure;
    },
    async close() {
      clearInterval(timer);
      await writing;
      if (skipped > skippedShown)
        finished.push(lineOf(`  … and ${skipped - skippedShown} more were skipped: --json names all of them`, "dim"));
      const text = frame([]);
      if (text !== "") await io.stdout.write(text);
    },
    result: (tally) => io.stdout.write(`${tallyLine(tally, options)}\n`),
  };
}

const barCells = 20;

function barLine({ done, total, bytes, name }: { done: number; total: number; bytes: number; name: string }): Line {
  const full = total === 0 ? barCells : Math.floor((barCells * done) / total);
  return [
    { text: `${spinnerAt(Date.now())} ` },
    { text: "█".repeat(full), paint: "green" },
    { text: "░".repeat(barCells - full), paint: "dim" },
    { text: `  ${done}/${total} files  ${sizeText(BigInt(bytes))}` },
    { text: name === "" ? "" : `  ${safeLine(name)}`, paint: "dim" },
  ];
}

// The live view on a terminal: folds events as they come, draws at a bounded rate, turns the spinners, and leaves the cursor
// as it found it, however the command ends.
import type { Io } from "./io.js";
import { addNote, foldEvent, newView, type Step, setAway, setQuestion } from "./live-view.js";
import type { Line } from "./live-view-line.js";
import { openLines } from "./live-view-open.js";
import { hideCursor, LiveScreen, showCursor } from "./live-view-screen.js";
import { shownLine } from "./live-view-text.js";
import { readAnswer } from "./read-answer.js";
import type { RunView } from "./run-view.js";
import { spinnerMs } from "./spinner.js";
import { isScreen, styleFor } from "./terminal.js";

/** Text may come in hundreds of pieces a second; nobody reads faster than this. */
const frameMs = 40;
const assumed = { columns: 80, rows: 24 };

export function openLiveView(io: Io, nowMs: () => number = Date.now): RunView {
  const { stdout } = io;
  const screen = new LiveScreen(styleFor(io, "stdout"));
  let view = newView;
  let finished: Line[] = [];
  let frameTimer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let failure: unknown;
  let foreign: string[] = [];
  let farewell = "";
  write(hideCursor);
  const forget = io.onExit(leaveAtOnce);
  const spinner = setInterval(draw, spinnerMs);

  function write(text: string): void {
    writing = stdout
      .write(text)
      .catch((reason) => {
        failure ??= reason;
      })
      .then(() => {
        writing = undefined;
      });
  }

  function take(step: Step): void {
    view = step.view;
    finished.push(...step.finished);
    frameTimer ??= setTimeout(draw, frameMs);
  }

  function draw(): void {
    clearTimeout(frameTimer);
    frameTimer = undefined;
    // A terminal that is slow gets fewer frames, not a queue of them.
    if (writing !== undefined) {
      frameTimer = setTimeout(draw, frameMs);
      return;
    }
    const columns = stdout.columns || assumed.columns;
    const rows = stdout.rows || assumed.rows;
    if (foreign.length > 0) {
      drawForeign(columns);
      return;
    }
    const frame = screen.frame(finished, openLines(view, nowMs(), { columns, rows }), columns);
    finished = [];
    if (frame !== "") write(frame);
  }

  /**
   * Standard error is the same screen: what is open makes room for it, and comes back with the next frame. So does what is
   * finished: it was longer under way than a line that somebody in this process printed.
   */
  function drawForeign(columns: number): void {
    const erased = screen.frame([], [], columns);
    if (erased !== "") write(erased);
    void io.stderr.write(foreign.map((line) => `${shownLine(line)}\n`).join("")).catch(() => {});
    foreign = [];
    frameTimer ??= setTimeout(draw, frameMs);
  }

  /** What was open is not going on any more as far as anybody here can tell. */
  function leaveAtOnce(): void {
    const last = farewell === "" ? [] : addNote(view, farewell).finished;
    const frame = screen.frame([...finished, ...last], [], stdout.columns || assumed.columns);
    void stdout.write(`${frame}${showCursor}`).catch(() => {});
  }

  return {
    async event(event) {
      take(foldEvent(view, event, nowMs()));
      if (failure !== undefined) throw failure;
    },
    async ask(question, signal) {
      const show = (typed: string, isUnclear: boolean) => {
        take({ view: setQuestion(view, { question, typed, isUnclear }), finished: [] });
      };
      show("", false);
      try {
        return await readAnswer(io, { mode: "keys", signal, onChange: show, nowMs });
      } finally {
        take({ view: setQuestion(view, undefined), finished: [] });
      }
    },
    note: (text) => take(addNote(view, text)),
    foreign(line) {
      if (!isScreen(io, "stderr")) return void io.stderr.write(`${line}\n`).catch(() => {});
      foreign.push(line);
      frameTimer ??= setTimeout(draw, frameMs);
    },
    away(isAway) {
      view = setAway(view, isAway ? nowMs() : undefined);
    },
    farewell(text) {
      farewell = text;
    },
    async close() {
      clearInterval(spinner);
      view = { ...view, state: "over", open: [], awayMs: undefined, question: undefined }; // What is open now has no end that this view will see.
      do {
        await writing;
        draw();
        await writing;
      } while (foreign.length > 0 || finished.length > 0);
      draw();
      await writing;
      clearTimeout(frameTimer);
      write(showCursor);
      await writing;
      forget();
    },
  };
}

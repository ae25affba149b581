// The live view on a terminal: folds events as they come, draws at a bounded rate, turns the spinners, and leaves the cursor
// as it found it, however the command ends.
import type { Io } from "./io.js";
import { addNote, foldEvent, newView, type Step } from "./live-view.js";
import type { Line } from "./live-view-line.js";
import { openLines } from "./live-view-open.js";
import { hideCursor, LiveScreen, showCursor } from "./live-view-screen.js";
import type { RunView } from "./run-view.js";
import { spinnerMs } from "./spinner.js";
import { styleFor } from "./terminal.js";

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
  write(hideCursor);
  const forget = io.onExit(() => void stdout.write(showCursor).catch(() => {}));
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
    const frame = screen.frame(finished, openLines(view, nowMs(), { columns, rows }), columns);
    finished = [];
    if (frame !== "") write(frame);
  }

  return {
    async event(event) {
      take(foldEvent(view, event, nowMs()));
      if (failure !== undefined) throw failure;
    },
    note: (text) => take(addNote(view, text)),
    async close() {
      clearInterval(spinner);
      await writing;
      draw();
      await writing;
      clearTimeout(frameTimer);
      write(showCursor);
      await writing;
      forget();
    },
  };
}

// What others in the process print while a run is shown: tools that use console.log, libraries, Node with a warning. It goes to
// standard error, above what is drawn, so that standard output holds the run alone.
import type { Io } from "./io.js";
import type { RunView } from "./run-view.js";
import { safeLine } from "./terminal.js";

export interface Others {
  /** From now on the view places their lines; undefined: nobody draws. */
  showIn(view: RunView | undefined): void;
  /** A line about them. */
  say(text: string): void;
  stop(): void;
}

export function catchOthers(io: Io): Others {
  let view: RunView | undefined;
  const place = (line: string): void => {
    if (view === undefined) void io.stderr.write(`${line}\n`).catch(() => {});
    else view.foreign(line);
  };
  const stop = io.onForeignOutput(place);
  return {
    showIn(next) {
      view = next;
    },
    say: (text) => place(`heddle: ${safeLine(text)}`),
    stop,
  };
}

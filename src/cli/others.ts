// What others in the process print while a run is shown: tools that use console.log, libraries, Node with a warning. It goes to
// standard error, above what is drawn, so that standard output holds the run alone.
import type { Io } from "./io.js";
import type { RunView } from "./run-view.js";

export interface Others {
  /** From now on the view places their lines; undefined: nobody draws. */
  showIn(view: RunView | undefined): void;
  stop(): void;
}

export function catchOthers(io: Io): Others {
  let view: RunView | undefined;
  const stop = io.onForeignOutput((line) => {
    if (view === undefined) void io.stderr.write(`${line}\n`).catch(() => {});
    else view.foreign(line);
  });
  return {
    showIn(next) {
      view = next;
    },
    stop,
  };
}

// Ctrl-C and SIGTERM: the first asks, the second insists.
import type { Io, SignalName } from "./io.js";

/** The reason of the signal that commands run under. */
export class Interrupted extends Error {
  readonly signalName: SignalName;

  constructor(signalName: SignalName) {
    super(`interrupted by ${signalName}`);
    this.signalName = signalName;
  }

  get exitCode(): number {
    return exitCodeOf[this.signalName];
  }
}

const exitCodeOf: Readonly<Record<SignalName, number>> = { SIGINT: 130, SIGTERM: 143 };

/** npm passes a Ctrl-C on to a child that the terminal has told already: the echo is not a second wish. */
const echoMs = 200;

export function interruptSignal(io: Io): AbortSignal {
  const controller = new AbortController();
  let askedAt = 0;
  io.onSignal((name) => {
    if (!controller.signal.aborted) {
      askedAt = performance.now();
      controller.abort(new Interrupted(name));
    } else if (name === "SIGTERM" || performance.now() - askedAt > echoMs) {
      io.exit(exitCodeOf[name]);
    }
  });
  return controller.signal;
}

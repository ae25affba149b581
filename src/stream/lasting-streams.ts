// Streams of messages that last as long as their reader does: heartbeats when there is nothing to say, a maximum age, and the end of
// the server. (The feeds of threads write bytes, and have a timer of their own: feeds.ts.)
import { HeddleError } from "../thread/errors.js";
import { ClosingReason } from "../thread/schema.js";

export interface StreamTiming {
  readonly heartbeatMs: number;
  /** A stream is closed at this age, give or take a tenth, so that clients spread over servers again. */
  readonly maxAgeMs: number;
}

export class LastingStreams {
  readonly #timing: StreamTiming;
  readonly #open = new Set<Lasting>();
  #isClosing = false;

  constructor(timing: StreamTiming) {
    this.#timing = timing;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * `onOver` is called once, when the stream is over or its reader has vanished: an iterator that nobody asks any more never comes to
   * its `finally`. Contract: the signal is not aborted yet; left in the end.
   */
  open(signal: AbortSignal, onOver: () => void): Lasting {
    if (this.#isClosing)
      throw new HeddleError("shutting_down", "The server is shutting down: come back later, or elsewhere");
    const { heartbeatMs, maxAgeMs } = this.#timing;
    const lasting: Lasting = new Lasting({
      signal,
      heartbeatMs,
      maxAgeMs: maxAgeMs * (0.9 + Math.random() * 0.2),
      onOver: () => {
        this.#open.delete(lasting);
        onOver();
      },
    });
    this.#open.add(lasting);
    return lasting;
  }

  /** Ends every stream with Closing, and refuses new ones. */
  close(): void {
    this.#isClosing = true;
    for (const lasting of this.#open) lasting.close(ClosingReason.SHUTDOWN);
  }
}

interface LastingOptions {
  readonly signal: AbortSignal;
  readonly heartbeatMs: number;
  readonly maxAgeMs: number;
  readonly onOver: () => void;
}

/** What is known of a stream's end: its reader has left, or the server closes it. */
export type StreamEnd = "left" | ClosingReason;

/** What Node's timers take. */
const longestTimerMs = 2 ** 31 - 1;

export class Lasting {
  readonly #options: LastingOptions;
  readonly #closesAtMs: number;
  readonly #onAbort = (): void => this.leave();
  #end: StreamEnd | undefined;
  #wake: () => void = () => {};

  constructor(options: LastingOptions) {
    this.#options = options;
    this.#closesAtMs = performance.now() + options.maxAgeMs;
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Undefined while it goes on. */
  get end(): StreamEnd | undefined {
    return this.#end ?? (performance.now() >= this.#closesAtMs ? ClosingReason.MAX_AGE : undefined);
  }

  /** Ends the wait: there is something to say. */
  news(): void {
    this.#wake();
  }

  close(reason: ClosingReason): void {
    this.#end ??= reason;
    this.#wake();
  }

  /** Nobody reads it any more. */
  leave(): void {
    if (this.#end === "left") return;
    this.#end = "left";
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#wake();
    this.#options.onOver();
  }

  /** True when nothing happened for the time of a heartbeat. Contract: the caller has looked first, in the same turn. */
  wait(): Promise<boolean> {
    return new Promise((resolve) => {
      const ageMs = Math.max(0, this.#closesAtMs - performance.now());
      const waitMs = Math.min(this.#options.heartbeatMs, ageMs, longestTimerMs);
      const done = (isQuiet: boolean): void => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve(isQuiet);
      };
      const timer = setTimeout(() => done(this.end === undefined), waitMs);
      this.#wake = () => done(false);
      if (this.#end !== undefined) done(false);
    });
  }
}

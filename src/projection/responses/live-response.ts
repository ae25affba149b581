// One response while it is followed: folded once for all who follow it. The fold does not run further ahead of the first of its followers
// than what is kept, so that who follows alone never needs another one.
import { encoded, type NumberedFrame } from "./events.js";
import { KeptEvents } from "./kept-events.js";

type Fold = (signal: AbortSignal) => AsyncGenerator<NumberedFrame, unknown>;

export class LiveResponse {
  readonly kept = new KeptEvents();
  readonly #stop = new AbortController();
  #waiting = new Set<() => void>();
  #isWaking = false;
  #goOn = (): void => {};
  #failure: { readonly reason: unknown } | undefined;
  isOver = false;
  followers = 0;

  constructor(fold: Fold) {
    void this.#read(fold);
  }

  /** A follower has all up to there. */
  reached(position: number): void {
    this.kept.reached(position);
    if (!this.kept.isFull) this.#goOn();
  }

  /** Told once, when there is more, or the end. */
  onNews(wake: () => void): void {
    this.#waiting.add(wake);
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
  }

  rethrow(): void {
    if (this.#failure) throw this.#failure.reason;
  }

  stop(): void {
    this.#stop.abort();
    this.#goOn();
  }

  async #read(fold: Fold): Promise<void> {
    try {
      for await (const frame of fold(this.#stop.signal)) {
        this.kept.push(encoded(frame));
        this.#wake();
        if (this.kept.isFull) await this.#followed();
        if (this.#stop.signal.aborted) break;
      }
    } catch (reason) {
      this.#failure = { reason };
    }
    this.isOver = true;
    this.#wake();
  }

  /** Resolves when a follower has come further, or none is left. */
  #followed(): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve;
    });
  }

  /** Once for all that has been read in one go: events of one append leave in one write. */
  #wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      const waiting = this.#waiting;
      this.#waiting = new Set();
      for (const wake of waiting) wake();
    });
  }
}

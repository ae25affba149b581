// When a server that is down may be tried again: later with each failure, never together with others, and at once after a connection
// that was good for a while.
import { bounds } from "./bounds.js";

export class Retry {
  readonly #random: () => number;
  /** In a row: connections that could not be had, or were lost soon. */
  #failures = 0;
  #hasFailed = false;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** The last time it was tried, it could not be had. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  connected(): void {
    this.#hasFailed = false;
  }

  /** It could not be had: how long to wait. */
  failed(): number {
    this.#hasFailed = true;
    return this.#backoffMs(++this.#failures);
  }

  /** It was lost after it had been there for so long: how long to wait. The first time it is tried again when somebody needs it. */
  lost(afterMs: number): number {
    this.#failures = afterMs >= bounds.stableMs ? 0 : this.#failures + 1;
    return this.#failures <= 1 ? 0 : this.#backoffMs(this.#failures - 1);
  }

  /** Doubled each time, and never the same for two servers that went down together. */
  #backoffMs(failures: number): number {
    const fullMs = Math.min(bounds.longestRetryMs, bounds.firstRetryMs * 2 ** Math.min(failures - 1, 20));
    return Math.round(fullMs * (0.75 + this.#random() / 2));
  }
}

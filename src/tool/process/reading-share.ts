// How much of the server's time goes into what background processes print. They may print without end, and as fast as the machine
// can, while nobody reads it: then they wait, and the server has its time for everybody else.

/** Of the server's time, for all of them together. */
const share = 1 / 4;
/** What comes all at once is taken as it comes, so long as it takes no more than this. */
const atOnceMs = 25;

export class ReadingShare {
  readonly #now: () => number;
  /** When the time that was taken is made up for. */
  #settledAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Does the work. Returns for how many milliseconds no more of it should come. */
  take(work: () => void): number {
    const from = this.#now();
    work();
    const to = this.#now();
    this.#settledAt = Math.max(this.#settledAt, from) + (to - from) / share;
    return Math.max(0, this.#settledAt - to - atOnceMs / share);
  }
}

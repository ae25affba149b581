// A number of places, and a queue in front of them: whoever comes first is first.

export class Turns {
  #free: number;
  /** Called when it is their turn. */
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Does the work as soon as there is a place. Called off in the queue, it fails with the signal's reason and is never begun. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      this.#handOn();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(begin);
        reject(signal.reason);
      };
      this.#waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** To whoever waits, without being free in between: nobody comes before those who wait. */
  #handOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else this.#waiting.delete(next);
    next?.();
  }
}

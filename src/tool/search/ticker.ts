// Counts, and says how far it is: not more often than people can see, and always at the end.
const everyMs = 100;

export class Ticker {
  readonly #report: (count: number) => void;
  #count = 0;
  #reported = 0;
  #reportedAt = performance.now();

  constructor(report: (count: number) => void) {
    this.#report = report;
  }

  get count(): number {
    return this.#count;
  }

  tick(): void {
    this.#count++;
    const now = performance.now();
    if (now - this.#reportedAt < everyMs) return;
    this.#reportedAt = now;
    this.#say();
  }

  end(): void {
    if (this.#reported !== this.#count) this.#say();
  }

  #say(): void {
    this.#reported = this.#count;
    this.#report(this.#count);
  }
}

// Work in sequence: what has the same name happens one after the other, in the order it was asked for; the rest side by side.

export class Sequences {
  /** The newest work of each name, settled when it is over; never rejects. */
  readonly #last = new Map<string, Promise<void>>();

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const result = before === undefined ? work() : before.then(work);
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(name, over);
    void over.then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name);
    });
    return result;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

// The things that are open now: counted for the gauges, waited for at the end.
export class OpenSet<Item> {
  readonly #items = new Set<Item>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#items.size;
  }

  add(item: Item): void {
    this.#items.add(item);
  }

  delete(item: Item): void {
    this.#items.delete(item);
    if (this.#items.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves once nothing is open; at once if nothing is. */
  whenEmpty(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }
}

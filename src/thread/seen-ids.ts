// Ids that were used in a run and are over. It only grows, and a run may use many: forks share what is settled and copy
// only what was added since, so that trying a batch costs what the batch is worth.
export class SeenIds {
  readonly #settled: Set<string>;
  readonly #added: Set<string>;

  constructor(settled = new Set<string>(), added: ReadonlySet<string> = new Set()) {
    this.#settled = settled;
    this.#added = new Set(added);
  }

  has(id: string): boolean {
    return this.#added.has(id) || this.#settled.has(id);
  }

  add(id: string): void {
    this.#added.add(id);
  }

  fork(): SeenIds {
    return new SeenIds(this.#settled, this.#added);
  }

  /** What was added is true for good. Call it on the fork that was stored, when no other fork is in use. */
  settle(): void {
    for (const id of this.#added) this.#settled.add(id);
    this.#added.clear();
  }
}

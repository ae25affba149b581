// Ids that were used in a run and are over. It only grows, and a run may use many: forks share what is settled, and carry
// only what was added since.
import { ForkedMap } from "./forked-map.js";

export class SeenIds {
  readonly #settled: Set<string>;
  readonly #added: ForkedMap<string, true>;

  constructor(settled = new Set<string>(), added = new ForkedMap<string, true>()) {
    this.#settled = settled;
    this.#added = added;
  }

  get size(): number {
    return this.#added.size + this.#settled.size;
  }

  has(id: string): boolean {
    return this.#added.has(id) || this.#settled.has(id);
  }

  add(id: string): void {
    this.#added.set(id, true);
  }

  fork(): SeenIds {
    return new SeenIds(this.#settled, this.#added.fork());
  }

  /** What was added is true for good. Call it on the fork that was stored, when no other fork is in use. */
  settle(): void {
    if (this.#added.size === 0) return;
    for (const id of this.#added.keys()) this.#settled.add(id);
    this.#added.clear();
  }
}

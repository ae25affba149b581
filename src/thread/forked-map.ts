// A map that forks share until one of them changes it. Trying a batch on a copy of the state then costs what the batch
// changes, not what the state holds.
export class ForkedMap<Key, Value> {
  #entries: Map<Key, Value>;
  #isShared: boolean;

  constructor(entries = new Map<Key, Value>(), isShared = false) {
    this.#entries = entries;
    this.#isShared = isShared;
  }

  fork(): ForkedMap<Key, Value> {
    this.#isShared = true;
    return new ForkedMap(this.#entries, true);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  set(key: Key, value: Value): void {
    this.#own().set(key, value);
  }

  delete(key: Key): void {
    if (this.#entries.has(key)) this.#own().delete(key);
  }

  clear(): void {
    this.#entries = new Map();
    this.#isShared = false;
  }

  #own(): Map<Key, Value> {
    if (this.#isShared) this.#entries = new Map(this.#entries);
    this.#isShared = false;
    return this.#entries;
  }
}

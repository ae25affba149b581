// A map that forks share until one of them changes it. Trying a batch on a copy of the state then costs what the batch
// changes, not what the state holds. With a few entries that come and go it is also the map that costs least, forked or not.

/** So many are looked through one by one. Most of these maps hold none or a few, and each is tried on many times. */
const few = 8;

const none: readonly never[] = [];

export class ForkedMap<Key, Value> {
  /** Where there are few, in the order in which they came: replaced, never changed, and so shared by whoever likes. */
  #keys: readonly Key[] = none;
  #values: readonly Value[] = none;
  /** Where there were more. */
  #many: Map<Key, Value> | undefined;
  #isShared = false;

  fork(): ForkedMap<Key, Value> {
    const fork = new ForkedMap<Key, Value>();
    fork.#keys = this.#keys;
    fork.#values = this.#values;
    if (this.#many) {
      this.#isShared = true;
      fork.#many = this.#many;
      fork.#isShared = true;
    }
    return fork;
  }

  get size(): number {
    return this.#many ? this.#many.size : this.#keys.length;
  }

  get(key: Key): Value | undefined {
    if (this.#many) return this.#many.get(key);
    const at = this.#at(key);
    return at < 0 ? undefined : this.#values[at];
  }

  has(key: Key): boolean {
    return this.#many ? this.#many.has(key) : this.#at(key) >= 0;
  }

  keys(): IterableIterator<Key> {
    return this.#many ? this.#many.keys() : this.#keys.values();
  }

  values(): IterableIterator<Value> {
    return (this.#many ?? this.#values).values();
  }

  set(key: Key, value: Value): void {
    const at = this.#many ? -1 : this.#at(key);
    if (at >= 0) {
      const values = this.#values.slice();
      values[at] = value;
      this.#values = values;
    } else if (!this.#many && this.#keys.length < few) {
      this.#keys = [...this.#keys, key];
      this.#values = [...this.#values, value];
    } else this.#own().set(key, value);
  }

  delete(key: Key): void {
    if (this.#many) {
      if (this.#many.has(key)) this.#own().delete(key);
      return;
    }
    const at = this.#at(key);
    if (at < 0) return;
    this.#keys = this.#keys.toSpliced(at, 1);
    this.#values = this.#values.toSpliced(at, 1);
  }

  clear(): void {
    this.#keys = none;
    this.#values = none;
    this.#many = undefined;
    this.#isShared = false;
  }

  #at(key: Key): number {
    const keys = this.#keys;
    for (let at = 0; at < keys.length; at++) if (keys[at] === key) return at;
    return -1;
  }

  #own(): Map<Key, Value> {
    const many = this.#many;
    if (many && !this.#isShared) return many;
    const own = many ? new Map(many) : new Map(this.#keys.map((key, at) => [key, this.#values[at]!]));
    this.clear();
    this.#many = own;
    return own;
  }
}

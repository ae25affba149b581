// Heads of the threads that are there, for the one process that writes them. A cache: what falls out is read again.

/** Enough for every thread that is active at a time, in a few megabytes. */
const cachedHeads = 50_000;

export class HeadCache {
  readonly #heads = new Map<string, bigint>();

  get(thread: string): bigint | undefined {
    return this.#heads.get(thread);
  }

  set(thread: string, head: bigint): void {
    if (this.#heads.size >= cachedHeads && !this.#heads.has(thread)) this.#dropOldest();
    this.#heads.set(thread, head);
  }

  delete(thread: string): void {
    this.#heads.delete(thread);
  }

  clear(): void {
    this.#heads.clear();
  }

  #dropOldest(): void {
    for (const oldest of this.#heads.keys()) {
      this.#heads.delete(oldest);
      return;
    }
  }
}

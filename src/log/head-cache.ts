// Heads of the threads that are there, for the one process that writes them, and which of them are being written (L3). The heads are a
// cache: what falls out is read again.

/** Enough for every thread that is active at a time, in a few megabytes. */
const cachedHeads = 50_000;

interface Entry {
  /** Undefined: to be read. */
  head: bigint | undefined;
  isWriting: boolean;
}

export class HeadCache {
  readonly #threads = new Map<string, Entry>();

  /** The head as it was last acknowledged. */
  get(thread: string): bigint | undefined {
    return this.#threads.get(thread)?.head;
  }

  isWriting(thread: string): boolean {
    return this.#threads.get(thread)?.isWriting ?? false;
  }

  set(thread: string, head: bigint): void {
    this.#entry(thread).head = head;
  }

  startWriting(thread: string): void {
    this.#entry(thread).isWriting = true;
  }

  /** Contract: it was being written. */
  endWriting(thread: string): void {
    const entry = this.#threads.get(thread);
    if (entry) entry.isWriting = false;
  }

  /** The thread is gone. */
  delete(thread: string): void {
    this.#threads.delete(thread);
  }

  /** Every head is read again. */
  forgetHeads(): void {
    for (const [thread, entry] of this.#threads) {
      entry.head = undefined;
      if (!entry.isWriting) this.#threads.delete(thread);
    }
  }

  #entry(thread: string): Entry {
    const known = this.#threads.get(thread);
    if (known) return known;
    if (this.#threads.size >= cachedHeads) this.#dropOldest();
    const entry: Entry = { head: undefined, isWriting: false };
    this.#threads.set(thread, entry);
    return entry;
  }

  #dropOldest(): void {
    for (const [thread, { isWriting }] of this.#threads) {
      if (isWriting) continue;
      this.#threads.delete(thread);
      return;
    }
  }
}

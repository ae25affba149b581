// Somebody who watches the list of threads, in the same process: what it knows of them, and how to wait until it knows something.
import type { WatchFrame } from "../../src/stream/watch-threads.js";
import type { Thread } from "../../src/thread/schema.js";
import type { Core } from "../support/core.js";

export class ListWatcher {
  readonly names: string[] = [];
  /** The latest that was told of each thread that was not deleted. */
  readonly known = new Map<string, Thread>();
  readonly told = new Map<string, number>();
  readonly #leave = new AbortController();
  readonly #frames: AsyncGenerator<WatchFrame>;
  readonly over: Promise<void>;
  #wake: () => void = () => {};
  /** Held back until it is resolved: a reader that is slow. */
  pace: Promise<void> = Promise.resolve();

  constructor(core: Pick<Core, "threads">, { busyOnly = false } = {}) {
    this.#frames = core.threads.watch({ busyOnly }, this.#leave.signal);
    this.over = this.#read();
    this.over.catch(() => {});
  }

  leave(): Promise<void> {
    this.#leave.abort();
    return this.over;
  }

  /** Resolves when it is true; looked at after each frame. */
  async until(isDue: () => boolean): Promise<void> {
    while (!isDue())
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  async #read(): Promise<void> {
    for (;;) {
      await this.pace;
      const next = await this.#frames.next();
      if (next.done) return;
      this.#take(next.value);
      this.#wake();
    }
  }

  #take({ payload }: WatchFrame): void {
    this.names.push(payload?.case ?? "none");
    if (payload?.case === "thread") {
      const thread = payload.value as Thread;
      this.known.set(thread.id, thread);
      this.told.set(thread.id, (this.told.get(thread.id) ?? 0) + 1);
    }
    if (payload?.case === "deletedThreadId") this.known.delete(payload.value);
  }
}

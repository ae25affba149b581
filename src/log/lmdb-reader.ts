// A data directory opened read-only, beside its owner or without one. It sees what the owner has flushed.
import type { EventLog, LogWatcher, ThreadKey } from "./event-log.js";
import { threadKey } from "./lmdb-keys.js";
import { LmdbReads } from "./lmdb-reads.js";
import type { LmdbSession } from "./lmdb-session.js";
import { directoryUnwritable, storageError } from "./storage-error.js";
import { Waiters } from "./waiters.js";
import { watchByWaiting } from "./watchers.js";

/** How often a reader looks for growth: no wake-up crosses from the owner's process. */
const pollMs = 50;

export class LmdbReader extends LmdbReads implements EventLog {
  readonly #waiters = new Waiters();
  #timer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  readonly #onClose: () => void;

  constructor(session: LmdbSession, onClose: () => void) {
    super(session);
    this.#onClose = onClose;
  }

  create(): Promise<never> {
    return this.#refuse();
  }

  append(): Promise<never> {
    return this.#refuse();
  }

  remove(): Promise<never> {
    return this.#refuse();
  }

  waitBeyond(key: ThreadKey, after: bigint, signal: AbortSignal): Promise<"appended" | "removed"> {
    return this.session.look((tables) => {
      if (signal.aborted) return Promise.reject(signal.reason);
      const thread = threadKey(key);
      if (tables.tombstones.doesExist(thread)) return "removed";
      if (this.headOf(tables, thread) > after) return "appended";
      this.#timer ??= setInterval(() => this.#poll(), pollMs);
      return this.#waiters.wait(thread.toString("latin1"), after, signal);
    });
  }

  watch(key: ThreadKey, after: bigint, watcher: LogWatcher): () => void {
    return watchByWaiting(this, key, { after, watcher });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    this.#waiters.closed();
    await this.session.close();
    this.#onClose();
  }

  #poll(): void {
    for (const name of this.#waiters.threads()) this.#lookAt(name);
    if (this.#waiters.threads().length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #lookAt(name: string): void {
    const thread = Buffer.from(name, "latin1");
    try {
      const { tables } = this.session;
      if (tables.tombstones.doesExist(thread)) this.#waiters.removed(name);
      else this.#waiters.appended(name, this.headOf(tables, thread));
    } catch (error) {
      this.#waiters.failed(name, storageError(error, this.session.path));
    }
  }

  async #refuse(): Promise<never> {
    throw directoryUnwritable(this.session.path, "it is open read-only");
  }
}

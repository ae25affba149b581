// A data directory with its owner: the writing half of the LMDB store. Neighbours: commit-queue.ts groups and orders the
// commits, lmdb-writes.ts knows what goes into the tables, lmdb-reads.ts reads them.
import { CommitQueue, type Write } from "./commit-queue.js";
import { ownerRecord, releaseDirectory, requireOwnership } from "./data-directory.js";
import type { DiskSpace } from "./disk-space.js";
import type { AppendBatch, EventLog, Span, ThreadKey } from "./event-log.js";
import { FreshSpans } from "./fresh-spans.js";
import { HeadCache } from "./head-cache.js";
import { threadKey } from "./lmdb-keys.js";
import { LmdbReads } from "./lmdb-reads.js";
import type { LmdbSession } from "./lmdb-session.js";
import type { Tables } from "./lmdb-tables.js";
import { appendWrite, createWrite, purgeWrite, removeWrite } from "./lmdb-writes.js";
import { conflict, threadDeleted, threadNotFound } from "./log-errors.js";
import type { Owner } from "./owner.js";
import { beHeard } from "./owner-socket.js";
import { storageError } from "./storage-error.js";
import { Waiters } from "./waiters.js";

/** A fenced write: what it puts into the tables, and what follows once that is flushed. */
interface Change<T> {
  readonly write: (thread: Buffer) => Write;
  readonly landed: (name: string, thread: Buffer) => T;
}

export class LmdbLog extends LmdbReads implements EventLog {
  readonly #owner: Owner;
  readonly #ownerRecord: Buffer;
  readonly #endBeingHeard: () => void;
  readonly #space: DiskSpace;
  readonly #queue = new CommitQueue((group) => this.#commit(group));
  readonly #waiters = new Waiters();
  /** A head moves when its append is acknowledged. */
  readonly #heads = new HeadCache();
  readonly #fresh = new FreshSpans();
  /** Threads with an append or a removal in flight (L3). */
  readonly #writing = new Set<string>();
  readonly #creating = new Map<string, Promise<boolean>>();
  readonly #purges = new Set<Promise<void>>();
  #closed: Promise<void> | undefined;

  /** Contract: the claimant owns the directory. */
  constructor(session: LmdbSession, { claimant, space }: { claimant: Owner; space: DiskSpace }) {
    super(session);
    this.#owner = claimant;
    this.#ownerRecord = ownerRecord(claimant);
    this.#endBeingHeard = beHeard(session.path);
    this.#space = space;
    for (const thread of session.tables.purges.getKeys({})) this.#startPurge(thread);
  }

  /** One at a time for an id: the second knows whether the first has landed. */
  create(key: ThreadKey, document: Uint8Array): Promise<boolean> {
    const name = nameOf(threadKey(key));
    const before = this.#creating.get(name) ?? Promise.resolve(false);
    const created = before.catch(() => false).then(() => this.#createAlone(key, document));
    this.#creating.set(name, created);
    return created.finally(() => {
      if (this.#creating.get(name) === created) this.#creating.delete(name);
    });
  }

  append(key: ThreadKey, expectedHead: bigint, batch: AppendBatch): Promise<bigint> {
    const head = expectedHead + BigInt(batch.frames.length);
    return this.#fenced(key, expectedHead, {
      write: (thread) => appendWrite(thread, expectedHead, batch),
      landed: (name) => {
        this.#heads.set(name, head);
        if (this.#waiters.has(name)) this.#fresh.landed(name, expectedHead + 1n, batch.frames);
        this.#waiters.appended(name, head);
        return head;
      },
    });
  }

  remove(key: ThreadKey, expectedHead: bigint, tombstone: Uint8Array): Promise<void> {
    return this.#fenced(key, expectedHead, {
      write: (thread) => removeWrite(thread, tombstone),
      landed: (name, thread) => {
        this.#heads.delete(name);
        this.#fresh.delete(name);
        this.#waiters.removed(name);
        this.#startPurge(thread);
      },
    });
  }

  override async read(key: ThreadKey, after: bigint, maxBytes: number): Promise<Span | undefined> {
    if (this.#closed !== undefined) return super.read(key, after, maxBytes);
    const name = nameOf(threadKey(key));
    const head = this.#knownHead(name);
    if (head !== undefined && after >= head) return undefined;
    return this.#fresh.take(name, after, maxBytes) ?? super.read(key, after, maxBytes);
  }

  waitBeyond(key: ThreadKey, after: bigint, signal: AbortSignal): Promise<"appended" | "removed"> {
    return this.session.look((tables) => {
      if (signal.aborted) return Promise.reject(signal.reason);
      const thread = threadKey(key);
      const name = nameOf(thread);
      // A thread with a head is there. Each follower waits again after each append: it costs no look at the tables.
      const known = this.#heads.get(name);
      if (known === undefined && tables.tombstones.doesExist(thread)) return "removed";
      const head = known ?? (tables.threads.doesExist(thread) ? this.headOf(tables, thread) : 0n);
      return head > after ? "appended" : this.#waiters.wait(name, after, signal);
    });
  }

  /** Resolves when no purge is under way. */
  async purged(): Promise<void> {
    await Promise.all(this.#purges);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.session.shut();
    this.#waiters.closed();
    await this.#queue.drained();
    await this.purged();
    await this.#release();
    this.#endBeingHeard();
    await this.session.close();
  }

  /** An owner that could not be taken out is found dead by the next one. */
  async #release(): Promise<void> {
    const { path, tables } = this.session;
    try {
      await this.#space.reserve([]);
      releaseDirectory(tables, path, this.#owner);
    } catch {}
  }

  #createAlone(key: ThreadKey, document: Uint8Array): Promise<boolean> {
    return this.session.look((tables) => {
      const thread = threadKey(key);
      if (tables.threads.doesExist(thread) || tables.tombstones.doesExist(thread)) return false;
      return this.#queue.add(createWrite(thread, document)).then(() => {
        this.#heads.set(nameOf(thread), 0n);
        return true;
      });
    });
  }

  /** L3: checks the head and takes the thread in one turn, and lets it go when the write has landed or failed. */
  #fenced<T>(key: ThreadKey, expectedHead: bigint, change: Change<T>): Promise<T> {
    return this.session.look((tables) => {
      const thread = threadKey(key);
      const name = nameOf(thread);
      const head = this.#liveHead(tables, key, thread);
      if (head !== expectedHead || this.#writing.has(name)) throw conflict(head);
      const write = change.write(thread);
      this.#writing.add(name);
      return this.#queue.add(write).then(
        () => {
          this.#writing.delete(name);
          return change.landed(name, thread);
        },
        (error) => {
          this.#writing.delete(name);
          throw error;
        },
      );
    }) as Promise<T>;
  }

  #liveHead(tables: Tables, key: ThreadKey, thread: Buffer): bigint {
    const cached = this.#heads.get(nameOf(thread));
    if (cached !== undefined) return cached;
    if (tables.threads.doesExist(thread)) return this.headOf(tables, thread);
    throw tables.tombstones.doesExist(thread) ? threadDeleted(key) : threadNotFound(key);
  }

  protected override headOf(tables: Tables, thread: Buffer): bigint {
    const name = nameOf(thread);
    const known = this.#knownHead(name);
    if (known !== undefined) return known;
    const head = super.headOf(tables, thread);
    if (!this.#writing.has(name)) this.#heads.set(name, head);
    return head;
  }

  /** Undefined also while a write is in flight: the tables may be ahead, and a look must not mix the two. */
  #knownHead(name: string): bigint | undefined {
    return this.#writing.has(name) ? undefined : this.#heads.get(name);
  }

  /**
   * One batch is one LMDB transaction (L2): lmdb-js's write thread does not commit between a batch's start and its end
   * (`conditionDepth` in its writer.cpp). Only a synchronous transaction could break in, and while commits run there is none.
   */
  async #commit(group: Write): Promise<void> {
    const { tables, path } = this.session;
    await this.#space.reserve(group);
    try {
      requireOwnership(tables, path, this.#ownerRecord);
      await tables.root.batch(() => {
        for (const { table, key, value } of group) {
          void (value === undefined ? tables[table].remove(key) : tables[table].put(key, value));
        }
      });
    } catch (error) {
      const cause = await commitError(error);
      if (await this.session.revive()) {
        this.#heads.clear();
        this.#fresh.clear();
      }
      throw storageError(cause, this.session.path);
    }
  }

  /** In the background: the thread is gone for everyone already. What fails or is cut short goes on at the next open. */
  #startPurge(thread: Buffer): void {
    const purge = this.#purge(thread)
      .catch(() => undefined)
      .finally(() => this.#purges.delete(purge));
    this.#purges.add(purge);
  }

  async #purge(thread: Buffer): Promise<void> {
    let isDone = false;
    while (!isDone) {
      isDone = await this.session.look((tables) => {
        const step = purgeWrite(tables, thread);
        return step.length === 0 || this.#queue.add(step).then(() => false);
      });
    }
  }
}

/** A thread's key as a key of maps. */
const nameOf = (thread: Buffer): string => thread.toString("latin1");

/** lmdb-js rejects with an error that holds a promise that rejects with the cause: unless somebody awaits it, the process ends. */
async function commitError(error: unknown): Promise<unknown> {
  try {
    await (error as { commitError?: Promise<never> }).commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}

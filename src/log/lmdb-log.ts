// A data directory with its owner: the writing half of the LMDB store. Neighbours: commit-queue.ts groups and orders the
// commits, lmdb-writes.ts knows what goes into the tables, lmdb-reads.ts reads them.
import { commitError } from "./commit-error.js";
import { CommitQueue, type Write } from "./commit-queue.js";
import { ownerRecord, releaseDirectory, requireOwnership } from "./data-directory.js";
import type { DiskSpace } from "./disk-space.js";
import type { AppendBatch, EventLog, LogWatcher, Span, ThreadKey } from "./event-log.js";
import { HeadCache } from "./head-cache.js";
import { mapKey, placeOf, type ThreadPlace } from "./lmdb-keys.js";
import { LmdbReads } from "./lmdb-reads.js";
import type { LmdbSession } from "./lmdb-session.js";
import type { Tables } from "./lmdb-tables.js";
import { appendWrite, createWrite, purgeWrite, removeWrite } from "./lmdb-writes.js";
import { closed, conflict, threadDeleted, threadNotFound } from "./log-errors.js";
import type { Owner } from "./owner.js";
import { beHeard } from "./owner-socket.js";
import { framesIn } from "./segment.js";
import { storageError } from "./storage-error.js";
import { Waiters } from "./waiters.js";
import { Watchers } from "./watchers.js";

/** A fenced write: what it puts into the tables, and what follows once that is flushed. */
interface Change<T> {
  readonly write: (thread: Buffer) => Write;
  readonly landed: (place: ThreadPlace, write: Write) => T;
}

export class LmdbLog extends LmdbReads implements EventLog {
  readonly #owner: Owner;
  readonly #ownerRecord: Buffer;
  readonly #endBeingHeard: () => void;
  readonly #space: DiskSpace;
  readonly #queue = new CommitQueue({
    commit: (group) => this.#commit(group),
    explain: (reason) => this.#afterFailure(reason),
  });
  readonly #waiters = new Waiters();
  /** A head moves when its append is acknowledged. A thread with an append or a removal in flight is being written. */
  readonly #heads = new HeadCache();
  readonly #watchers = new Watchers();
  readonly #creating = new Map<string, Promise<boolean>>();
  readonly #purges = new Set<Promise<void>>();
  /** What the file's newest transaction is unless somebody else has written. Undefined: not known. */
  #ownTransaction: number | undefined;
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
    const { name } = placeOf(key);
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
      landed: (place, write) => this.#appended(place, { first: expectedHead + 1n, last: head }, write),
    });
  }

  #appended({ name }: ThreadPlace, { first, last }: { first: bigint; last: bigint }, write: Write): bigint {
    this.#heads.set(name, last);
    this.#waiters.appended(name, last);
    if (last >= first && this.#watchers.has(name)) {
      const bytes = framesIn(write);
      this.#watchers.appended(name, last, bytes && { first, last, bytes });
    }
    return last;
  }

  remove(key: ThreadKey, expectedHead: bigint, tombstone: Uint8Array): Promise<void> {
    return this.#fenced(key, expectedHead, {
      write: (thread) => removeWrite(thread, tombstone),
      landed: ({ key: thread, name }) => {
        this.#heads.delete(name);
        this.#waiters.removed(name);
        this.#watchers.removed(name);
        this.#startPurge(thread);
      },
    });
  }

  override async read(key: ThreadKey, after: bigint, maxBytes: number): Promise<Span | undefined> {
    const head = this.#closed === undefined ? this.#knownHead(placeOf(key).name) : undefined;
    return head !== undefined && after >= head ? undefined : super.read(key, after, maxBytes);
  }

  waitBeyond(key: ThreadKey, after: bigint, signal: AbortSignal): Promise<"appended" | "removed"> {
    return this.session.look((tables) => {
      if (signal.aborted) return Promise.reject(signal.reason);
      const head = this.#headNow(tables, key);
      if (head === "removed") return head;
      return head > after ? "appended" : this.#waiters.wait(placeOf(key).name, after, signal);
    });
  }

  watch(key: ThreadKey, after: bigint, watcher: LogWatcher): () => void {
    let isOver = false;
    let stop = (): void => {};
    const look = (tables: Tables): void => {
      if (isOver) return;
      const head = this.#headNow(tables, key);
      if (head === "removed") watcher.removed();
      else stop = this.#watchers.add(placeOf(key).name, after, watcher);
      if (head !== "removed" && head > after) watcher.appended(head, undefined);
    };
    this.session.look(look).catch((error: unknown) => {
      if (!isOver) watcher.failed(error);
    });
    return () => {
      isOver = true;
      stop();
    };
  }

  /** 0 for a thread that is not there yet: it may come. One with a known head is there, and costs no look at the tables. */
  #headNow(tables: Tables, key: ThreadKey): bigint | "removed" {
    const { key: thread, name } = placeOf(key);
    const known = this.#heads.get(name);
    if (known !== undefined) return known;
    if (tables.tombstones.doesExist(thread)) return "removed";
    return tables.threads.doesExist(thread) ? this.headOf(tables, thread) : 0n;
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
    this.#watchers.closed(closed());
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
    this.#space.close();
  }

  #createAlone(key: ThreadKey, document: Uint8Array): Promise<boolean> {
    return this.session.look((tables) => {
      const { key: thread, name } = placeOf(key);
      if (tables.threads.doesExist(thread) || tables.tombstones.doesExist(thread)) return false;
      return this.#queue.add(createWrite(thread, document)).then(() => {
        this.#heads.set(name, 0n);
        return true;
      });
    });
  }

  /** L3: checks the head and takes the thread in one turn, and lets it go when the write has landed or failed. */
  #fenced<T>(key: ThreadKey, expectedHead: bigint, { write, landed }: Change<T>): Promise<T> {
    return this.session.look((tables) => {
      const place = placeOf(key);
      const { name } = place;
      const head = this.#liveHead(tables, key);
      if (head !== expectedHead || this.#heads.isWriting(name)) throw conflict(head);
      const written = write(place.key);
      this.#heads.startWriting(name);
      return new Promise<T>((resolve, reject) => {
        this.#queue.push({
          write: written,
          landed: () => {
            this.#heads.endWriting(name);
            try {
              resolve(landed(place, written));
            } catch (fault) {
              reject(fault); // The queue goes on.
            }
          },
          failed: (reason) => {
            this.#heads.endWriting(name);
            reject(reason);
          },
        });
      });
    }) as Promise<T>;
  }

  #liveHead(tables: Tables, key: ThreadKey): bigint {
    const { key: thread, name } = placeOf(key);
    const cached = this.#heads.get(name);
    if (cached !== undefined) return cached;
    if (tables.threads.doesExist(thread)) return this.headOf(tables, thread);
    throw tables.tombstones.doesExist(thread) ? threadDeleted(key) : threadNotFound(key);
  }

  protected override headOf(tables: Tables, thread: Buffer): bigint {
    const name = mapKey(thread);
    const known = this.#knownHead(name);
    if (known !== undefined) return known;
    const head = super.headOf(tables, thread);
    if (!this.#heads.isWriting(name)) this.#heads.set(name, head);
    return head;
  }

  /** Undefined also while a write is in flight: the tables may be ahead, and a look must not mix the two. */
  #knownHead(name: string): bigint | undefined {
    return this.#heads.isWriting(name) ? undefined : this.#heads.get(name);
  }

  /**
   * One batch is one LMDB transaction (L2): lmdb-js's write thread does not commit between a batch's start and its end
   * (`conditionDepth` in its writer.cpp). Only a synchronous transaction could break in, and while commits run there is none.
   */
  #commit(group: Write): Promise<unknown> {
    try {
      const growing = this.#space.reserve(group);
      return growing ? growing.then(() => this.#put(group)) : this.#put(group);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #put(group: Write): Promise<unknown> {
    const { tables } = this.session;
    this.#requireOwnership(group);
    return tables.root.batch(() => {
      for (const { table, key, value } of group) {
        void (value === undefined ? tables[table].remove(key) : tables[table].put(key, value));
      }
    });
  }

  /** Brings LMDB back where it has given up. */
  async #afterFailure(reason: unknown): Promise<unknown> {
    this.#ownTransaction = undefined;
    const cause = await commitError(reason);
    if (await this.session.revive()) this.#heads.forgetHeads();
    return storageError(cause, this.session.path);
  }

  /** Whoever takes the directory writes that down. Where nobody but us has written since the last look, nothing is looked up. */
  #requireOwnership(group: Write): void {
    const { transaction } = this.#space;
    if (transaction !== this.#ownTransaction) {
      const { tables, path } = this.session;
      requireOwnership(tables, path, this.#ownerRecord);
    }
    // A commit that only takes away what is not there makes no transaction; one that puts something does.
    this.#ownTransaction = group.some(({ value }) => value !== undefined) ? transaction + 1 : undefined;
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

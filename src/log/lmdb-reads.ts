// The reading half of the LMDB store, the same for its owner and for read-only tools beside it.
import type { ThreadId, ToolCallId } from "../thread/ids.js";
import { readBodyPieces } from "./body-pieces.js";
import { unseal } from "./checksum.js";
import type { CallReference, Span, StoredThread, ThreadKey } from "./event-log.js";
import * as keys from "./lmdb-keys.js";
import type { LmdbSession } from "./lmdb-session.js";
import type { Table, Tables } from "./lmdb-tables.js";
import { readFrames, readHead } from "./read-frames.js";
import { damaged } from "./storage-error.js";

export class LmdbReads {
  protected readonly session: LmdbSession;

  constructor(session: LmdbSession) {
    this.session = session;
  }

  readThread(key: ThreadKey): Promise<StoredThread | undefined> {
    return this.session.look((tables) => {
      const thread = keys.threadKey(key);
      const document = this.#document(tables.threads, thread);
      if (document !== undefined) return this.#stored(tables, thread, document);
      const tombstone = this.#document(tables.tombstones, thread);
      return tombstone && { threadId: key.threadId, document: tombstone, head: 0n, removed: true };
    });
  }

  listThreads(tenant: string, options: { after?: ThreadId; limit: number }): Promise<readonly StoredThread[]> {
    return this.session.look((tables) => {
      const { after, limit } = options;
      const prefix = keys.tenantPrefix(tenant);
      const start = after === undefined ? prefix : keys.threadKey({ tenant, threadId: after });
      const range = { start, end: keys.endOf(prefix), exclusiveStart: after !== undefined, limit };
      return [...tables.threads.getRange(range)].map(({ key, value }) =>
        this.#stored(tables, key, this.#unsealed(value, "The document of a thread")),
      );
    });
  }

  listBusy(): Promise<readonly ThreadKey[]> {
    return this.session.look((tables) => [...tables.busy.getKeys({})].map(keys.threadOf));
  }

  read(key: ThreadKey, after: bigint, maxBytes: number): Promise<Span | undefined> {
    return this.session.look((tables) => {
      const thread = keys.threadKey(key);
      if (after >= keys.lastSequence || isPurging(tables, thread)) return undefined;
      return readFrames(tables.events, thread, { after, maxBytes });
    });
  }

  readCall(tenant: string, callId: ToolCallId): Promise<CallReference | undefined> {
    return this.session.look((tables) => {
      const place = this.#document(tables.callIndex, keys.callIndexKey(tenant, callId));
      if (place === undefined) return undefined;
      const { threadId, createdSequence } = keys.decodePlace(place);
      const thread = keys.threadKey({ tenant, threadId });
      if (isPurging(tables, thread)) return undefined;
      const document = this.#document(tables.calls, keys.callKey(thread, createdSequence, callId));
      return document && { threadId, document };
    });
  }

  listCalls(key: ThreadKey, options: { after: bigint; limit: number }): Promise<readonly Uint8Array[]> {
    return this.session.look((tables) => {
      const thread = keys.threadKey(key);
      if (options.after >= keys.lastSequence || isPurging(tables, thread)) return [];
      const start = keys.callKey(thread, options.after + 1n);
      const range = { start, end: keys.endOf(thread), limit: options.limit };
      return [...tables.calls.getRange(range)].map(({ value }) => this.#unsealed(value, "The document of a tool call"));
    });
  }

  readBody(
    key: ThreadKey,
    body: { callId: ToolCallId; contentId: string },
    range: { offset: number; maxBytes: number },
  ): Promise<Uint8Array | undefined> {
    return this.session.look((tables) => {
      const thread = keys.threadKey(key);
      if (isPurging(tables, thread)) return undefined;
      return readBodyPieces({ bodies: tables.bodies, path: this.session.path }, thread, { body, ...range });
    });
  }

  /** Sequence of the last frame of a thread that is there. */
  protected headOf(tables: Tables, thread: Buffer): bigint {
    return readHead(tables.events, thread);
  }

  #stored(tables: Tables, thread: Buffer, document: Buffer): StoredThread {
    const { threadId } = keys.threadOf(thread);
    return { threadId, document, head: this.headOf(tables, thread), removed: false };
  }

  #document(table: Table, key: Buffer): Buffer | undefined {
    const stored = table.getBinary(key);
    return stored && this.#unsealed(stored, "A document");
  }

  #unsealed(stored: Buffer, what: string): Buffer {
    const document = unseal(stored);
    if (document === undefined) throw damaged(what, this.session.path);
    return document;
  }
}

/** Whether a thread is removed and what belonged to it may still be there. */
const isPurging = (tables: Tables, thread: Buffer): boolean => tables.purges.doesExist(thread);

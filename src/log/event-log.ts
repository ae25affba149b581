// The port that every store implements: one ordered log of frames per thread, with the documents and bodies that belong
// to it. A store knows nothing of what a frame means. test/conformance/event-log.ts checks each numbered promise.
//
// L1  Sequences are dense per thread: 1, 2, 3, … A frame's sequence is its place; frames never change.
// L2  An append is atomic: its frames, documents and bodies all land, or none.
// L3  An append whose `expectedHead` is not the head fails with `conflict` and changes nothing.
//     An append that meets another one in flight on the same thread counts as one with an old head.
// L4  When `append`, `create` or `remove` resolves, everything is flushed to disk, and no reader sees it earlier.
//     Stored bytes carry a checksum; damaged ones are reported as `data_loss` (or `storage_failed` for documents), never returned.
// L5  Neither `waitBeyond` nor `watch` loses a wake-up: if the head is beyond the position already, they tell at once.
// L6  A failed write (disk full, I/O error) rejects with a typed error naming the path; the log stays readable, the head
//     stays where it was, and a later append may succeed.
// L7  A removed thread's id is never free again: its document stays as a tombstone.
import type { ThreadId, ToolCallId } from "../thread/ids.js";

/** Every key starts with a tenant, so that isolation needs no migration. */
export interface ThreadKey {
  readonly tenant: string;
  readonly threadId: ThreadId;
}

const names = new WeakMap<ThreadKey, string>();

/** The key as a key of maps. Made once: whoever writes or follows a thread holds on to its ThreadKey, and a joined text is dear to look up. */
export function nameOf(key: ThreadKey): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const name = `${key.tenant}/${key.threadId}`;
  names.set(key, name);
  return name;
}

/** Consecutive frames, exactly as they go over the wire: 5-byte envelope and message, one after the other. */
export interface Span {
  readonly first: bigint;
  readonly last: bigint;
  readonly bytes: Buffer;
}

export interface StoredThread {
  readonly threadId: ThreadId;
  /** As last written. Opaque to the store. */
  readonly document: Uint8Array;
  /** Sequence of the newest frame; 0 when there is none, as in a removed thread. */
  readonly head: bigint;
  readonly removed: boolean;
}

export interface AppendBatch {
  /** The frames, each one whole envelope, in order; they become expectedHead + 1, + 2, … May be empty. */
  readonly frames: readonly Uint8Array[];
  /** Replaces the thread's document. */
  readonly document?: Uint8Array | undefined;
  /** Marks the thread as one that somebody writes (`listBusy`), or takes the mark away. Absent: as it was. */
  readonly busy?: boolean | undefined;
  /** Replace the documents of calls. The first document of a call comes with the frame of its Created. */
  readonly calls?: readonly CallWrite[];
  /** Pieces of bodies. Immutable: a piece is written once. */
  readonly bodies?: readonly BodyWrite[];
}

export interface CallWrite {
  readonly callId: ToolCallId;
  /** Sequence of its Created: the order of `listCalls`. The same in every write of one call. */
  readonly createdSequence: bigint;
  readonly document: Uint8Array;
}

export interface BodyWrite {
  readonly callId: ToolCallId;
  readonly contentId: string;
  /** Bytes of the body stored before this piece. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface CallReference {
  readonly threadId: ThreadId;
  readonly document: Uint8Array;
}

/** Whoever is told of a thread's news. Contract: synchronous; does not throw. Told when it is flushed (L4). */
export interface LogWatcher {
  /** The head is beyond what was told before. `span`: what has just been appended, where the store has it at hand. */
  appended(head: bigint, span: Span | undefined): void;
  /** The last that is told. */
  removed(): void;
  /** The last that is told. */
  failed(error: unknown): void;
}

export interface EventLog {
  /** Makes a thread. False, and nothing changed, when the id is or was in use (L7). */
  create(key: ThreadKey, document: Uint8Array): Promise<boolean>;

  /** L1–L4, L6. Resolves with the new head. A thread that was never created, or was removed, is `thread_not_found` / `thread_deleted`. */
  append(key: ThreadKey, expectedHead: bigint, batch: AppendBatch): Promise<bigint>;

  /** Removes frames, calls and bodies and leaves the tombstone. Fenced like an append (L3). A purge cut short goes on at the next open. */
  remove(key: ThreadKey, expectedHead: bigint, tombstone: Uint8Array): Promise<void>;

  /** The thread, also when removed; undefined when it never was. */
  readThread(key: ThreadKey): Promise<StoredThread | undefined>;

  /** Threads that are not removed, in order of id, after the given one. */
  listThreads(tenant: string, options: { after?: ThreadId; limit: number }): Promise<readonly StoredThread[]>;

  /** Threads whose last `busy` was true: what recovery must look at. */
  listBusy(): Promise<readonly ThreadKey[]>;

  /**
   * Frames after a position: as many as fit into `maxBytes`, and at least one if there is any.
   * Undefined at (or beyond) the head, and for a thread that is not there or was removed.
   * The bytes are the caller's own: nothing that the store does later changes them.
   */
  read(key: ThreadKey, after: bigint, maxBytes: number): Promise<Span | undefined>;

  /**
   * L5. Resolves when the head is beyond `after`, or the thread is removed; a thread that is not there yet may still come.
   * Rejects with the signal's reason, or with `shutting_down` when the log is closed.
   */
  waitBeyond(key: ThreadKey, after: bigint, signal: AbortSignal): Promise<"appended" | "removed">;

  /** L5. The same for one who goes on watching: told of every head beyond `after`. Returns what ends it. */
  watch(key: ThreadKey, after: bigint, watcher: LogWatcher): () => void;

  readCall(tenant: string, callId: ToolCallId): Promise<CallReference | undefined>;

  /** Documents of a thread's calls, in order of creation, after the given Created sequence. */
  listCalls(key: ThreadKey, options: { after: bigint; limit: number }): Promise<readonly Uint8Array[]>;

  /** Bytes of a body from an offset, at most `maxBytes`; empty at its end; undefined when there is no such body. */
  readBody(
    key: ThreadKey,
    body: { callId: ToolCallId; contentId: string },
    range: { offset: number; maxBytes: number },
  ): Promise<Uint8Array | undefined>;

  /** Finishes the writes that were taken, then lets go of everything. Later calls reject with `shutting_down`. */
  close(): Promise<void>;
}

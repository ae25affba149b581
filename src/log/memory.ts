// The log in memory, for tests. It keeps the port's promises, except that nothing outlives the process.
import type { ThreadId, ToolCallId } from "../thread/ids.js";
import type {
  AppendBatch,
  BodyWrite,
  CallWrite,
  EventLog,
  LogWatcher,
  Span,
  StoredThread,
  ThreadKey,
} from "./event-log.js";
import { closed, conflict, threadDeleted, threadNotFound } from "./log-errors.js";
import { checkEnvelope } from "./segment.js";
import { Waiters } from "./waiters.js";
import { Watchers } from "./watchers.js";

interface MemoryThread {
  readonly key: ThreadKey;
  document: Uint8Array;
  removed: boolean;
  busy: boolean;
  frames: Buffer[];
  readonly calls: Map<ToolCallId, CallWrite>;
  /** Per call and content id: the pieces, in order of offset. */
  readonly bodies: Map<string, BodyWrite[]>;
}

export function openMemoryLog(): EventLog {
  return new MemoryLog();
}

class MemoryLog implements EventLog {
  readonly #threads = new Map<string, MemoryThread>();
  readonly #waiters = new Waiters();
  readonly #watchers = new Watchers();
  readonly #writing = new Set<string>();
  #isClosed = false;

  async create(key: ThreadKey, document: Uint8Array): Promise<boolean> {
    this.#checkOpen();
    if (this.#threads.has(nameOf(key))) return false;
    const thread = { key, document: copied(document), removed: false, busy: false, frames: [] };
    this.#threads.set(nameOf(key), { ...thread, calls: new Map(), bodies: new Map() });
    return true;
  }

  async append(key: ThreadKey, expectedHead: bigint, batch: AppendBatch): Promise<bigint> {
    for (const frame of batch.frames) checkEnvelope(frame);
    const copy = copyOf(batch);
    const head = expectedHead + BigInt(batch.frames.length);
    await this.#fenced(key, expectedHead, (thread) => {
      land(thread, copy);
      this.#waiters.appended(nameOf(key), head);
      const span = { first: expectedHead + 1n, last: head, bytes: Buffer.concat(copy.frames) };
      if (head > expectedHead) this.#watchers.appended(nameOf(key), head, span);
    });
    return head;
  }

  async remove(key: ThreadKey, expectedHead: bigint, tombstone: Uint8Array): Promise<void> {
    const document = copied(tombstone);
    await this.#fenced(key, expectedHead, (thread) => {
      Object.assign(thread, { document, removed: true, busy: false, frames: [] });
      thread.calls.clear();
      thread.bodies.clear();
    });
    this.#waiters.removed(nameOf(key));
    this.#watchers.removed(nameOf(key));
  }

  async readThread(key: ThreadKey): Promise<StoredThread | undefined> {
    this.#checkOpen();
    const thread = this.#threads.get(nameOf(key));
    return thread && stored(thread);
  }

  async listThreads(tenant: string, options: { after?: ThreadId; limit: number }): Promise<readonly StoredThread[]> {
    this.#checkOpen();
    const { after = "", limit } = options;
    return [...this.#threads.values()]
      .filter(({ key, removed }) => key.tenant === tenant && !removed && key.threadId > after)
      .sort((a, b) => (a.key.threadId < b.key.threadId ? -1 : 1))
      .slice(0, limit)
      .map(stored);
  }

  async listBusy(): Promise<readonly ThreadKey[]> {
    this.#checkOpen();
    return [...this.#threads.values()].filter(({ busy }) => busy).map(({ key }) => key);
  }

  async read(key: ThreadKey, after: bigint, maxBytes: number): Promise<Span | undefined> {
    this.#checkOpen();
    const frames = this.#threads.get(nameOf(key))?.frames ?? [];
    const taken: Buffer[] = [];
    let bytes = 0;
    for (let at = Number(after); at < frames.length; at++) {
      const frame = frames[at]!;
      if (taken.length > 0 && bytes + frame.length > maxBytes) break;
      taken.push(frame);
      bytes += frame.length;
    }
    if (taken.length === 0) return undefined;
    return { first: after + 1n, last: after + BigInt(taken.length), bytes: Buffer.concat(taken) };
  }

  async waitBeyond(key: ThreadKey, after: bigint, signal: AbortSignal): Promise<"appended" | "removed"> {
    this.#checkOpen();
    signal.throwIfAborted();
    const thread = this.#threads.get(nameOf(key));
    if (thread?.removed) return "removed";
    if (thread !== undefined && headOf(thread) > after) return "appended";
    return this.#waiters.wait(nameOf(key), after, signal);
  }

  watch(key: ThreadKey, after: bigint, watcher: LogWatcher): () => void {
    const name = nameOf(key);
    const thread = this.#threads.get(name);
    if (this.#isClosed) watcher.failed(closed());
    else if (thread?.removed) watcher.removed();
    else {
      const stop = this.#watchers.add(name, after, watcher);
      if (thread && headOf(thread) > after) watcher.appended(headOf(thread), undefined);
      return stop;
    }
    return () => {};
  }

  async readCall(
    tenant: string,
    callId: ToolCallId,
  ): Promise<{ threadId: ThreadId; document: Uint8Array } | undefined> {
    this.#checkOpen();
    for (const { key, calls } of this.#threads.values()) {
      const call = key.tenant === tenant ? calls.get(callId) : undefined;
      if (call !== undefined) return { threadId: key.threadId, document: copied(call.document) };
    }
    return undefined;
  }

  async listCalls(key: ThreadKey, options: { after: bigint; limit: number }): Promise<readonly Uint8Array[]> {
    this.#checkOpen();
    return [...(this.#threads.get(nameOf(key))?.calls.values() ?? [])]
      .filter(({ createdSequence }) => createdSequence > options.after)
      .sort((a, b) => Number(a.createdSequence - b.createdSequence))
      .slice(0, options.limit)
      .map(({ document }) => copied(document));
  }

  async readBody(
    key: ThreadKey,
    body: { callId: ToolCallId; contentId: string },
    range: { offset: number; maxBytes: number },
  ): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    const pieces = this.#threads.get(nameOf(key))?.bodies.get(bodyName(body));
    if (pieces === undefined) return undefined;
    const whole = Buffer.concat(pieces.map(({ bytes }) => bytes));
    return Buffer.from(whole.subarray(range.offset, range.offset + range.maxBytes));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiters.closed();
    this.#watchers.closed(closed());
  }

  /** L3. The change comes a turn later, like a flush, and all at once (L2). */
  async #fenced(key: ThreadKey, expectedHead: bigint, change: (thread: MemoryThread) => void): Promise<void> {
    this.#checkOpen();
    const name = nameOf(key);
    const thread = this.#threads.get(name);
    if (thread === undefined) throw threadNotFound(key);
    if (thread.removed) throw threadDeleted(key);
    const head = headOf(thread);
    if (head !== expectedHead || this.#writing.has(name)) throw conflict(head);
    this.#writing.add(name);
    await Promise.resolve();
    change(thread);
    this.#writing.delete(name);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closed();
  }
}

/** The caller may use its buffers again at once. */
const copyOf = (batch: AppendBatch): AppendBatch => ({
  ...batch,
  frames: batch.frames.map((frame) => Buffer.from(frame)),
  ...(batch.document && { document: copied(batch.document) }),
  ...(batch.calls && { calls: batch.calls.map((call) => ({ ...call, document: copied(call.document) })) }),
  ...(batch.bodies && { bodies: batch.bodies.map((body) => ({ ...body, bytes: copied(body.bytes) })) }),
});

function land(thread: MemoryThread, batch: AppendBatch): void {
  for (const frame of batch.frames) thread.frames.push(frame as Buffer);
  thread.document = batch.document ?? thread.document;
  thread.busy = batch.busy ?? thread.busy;
  for (const call of batch.calls ?? []) thread.calls.set(call.callId, call);
  for (const body of batch.bodies ?? []) {
    const pieces = thread.bodies.get(bodyName(body)) ?? [];
    thread.bodies.set(bodyName(body), [...pieces.filter(({ offset }) => offset < body.offset), body]);
  }
}

/** Not `slice`: a Buffer's shares its memory. */
const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

const stored = (thread: MemoryThread): StoredThread => ({
  threadId: thread.key.threadId,
  document: copied(thread.document),
  head: headOf(thread),
  removed: thread.removed,
});

const headOf = ({ frames }: MemoryThread): bigint => BigInt(frames.length);
const nameOf = ({ tenant, threadId }: ThreadKey): string => `${threadId}/${tenant}`;
const bodyName = ({ callId, contentId }: { callId: ToolCallId; contentId: string }): string => `${callId}/${contentId}`;

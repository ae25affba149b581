// The one writer of one thread. Writes are functions upon a draft; they wait in a queue, and all that are waiting when the
// disk is free go in one append. A write is refused alone, but a failed append fails everyone in it and changes nothing.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import { endProcess } from "../log/own-fault.js";
import { HeddleError } from "../thread/errors.js";
import { joinDrafts } from "./join-drafts.js";
import { isBusy, ThreadDraft, type ThreadView } from "./thread-draft.js";

/** Contract: synchronous; changes nothing but the draft; throws to refuse. */
export type Write<Result> = (draft: ThreadDraft) => Result;

export interface WriteOptions {
  /** Reads what the write needs to know. Runs in its turn, so that a write that reads is not overtaken by one that does not. */
  readonly prepare?: () => Promise<void>;
  /** Told of a refusal or a failure before the next write is tried: its promise may be heard of later. */
  readonly onFailure?: (error: unknown) => void;
  /** The write can be made again upon another draft, whatever came of the first time. Several of them in a row share a draft. */
  readonly isRepeatable?: boolean;
}

/** What stands in the queue. A removal goes alone. */
type Waiting = WaitingWrite | WaitingRemoval;

class WaitingWrite<Result = unknown> {
  readonly kind = "write";
  readonly prepare: WriteOptions["prepare"];
  readonly isRepeatable: boolean;
  readonly #write: Write<Result>;
  readonly #onFailure: WriteOptions["onFailure"];
  #resolve: ((result: Result) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #result: Result | undefined;

  constructor(write: Write<Result>, { prepare, onFailure, isRepeatable = false }: WriteOptions) {
    this.prepare = prepare;
    this.isRepeatable = isRepeatable;
    this.#write = write;
    this.#onFailure = onFailure;
  }

  /** Resolves when it is. Contract: asked for once, before it can be. */
  whenStored(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Throws where it is refused, and may have changed the draft by then. */
  make(draft: ThreadDraft): void {
    this.#result = this.#write(draft);
  }

  /** Tries the write. The accepted draft, or undefined when it was refused and its promise rejected. */
  attempt(on: ThreadView): ThreadDraft | undefined {
    try {
      const draft = new ThreadDraft(on);
      this.make(draft);
      return draft;
    } catch (refusal) {
      this.failed(refusal);
      return undefined;
    }
  }

  succeeded(): void {
    this.#resolve?.(this.#result as Result);
  }

  failed(error: unknown): void {
    this.#onFailure?.(error);
    this.#reject?.(error);
  }
}

interface WaitingRemoval {
  readonly kind: "removal";
  /** The tombstone. Throws to refuse. */
  tombstone(view: ThreadView): Uint8Array;
  succeeded(): void;
  failed(error: unknown): void;
}

/** What one append may join. A single write is never split, whatever its size. */
const joined = { writes: 512, bytes: 1024 * 1024 };

interface WriterOptions {
  readonly view: ThreadView;
  /** The thread as the log has it: asked again after a failed append, which may have left us behind. */
  readonly load: () => Promise<ThreadView>;
  readonly onIdle: () => void;
  /** Something of the thread was stored, or the thread removed, and can be read. */
  readonly onStored: () => void;
}

export class ThreadWriter {
  readonly #log: EventLog;
  readonly #key: ThreadKey;
  readonly #load: () => Promise<ThreadView>;
  readonly #onIdle: () => void;
  readonly #onStored: () => void;
  readonly #queue: Waiting[] = [];
  #view: ThreadView;
  #removed = false;
  #working = false;

  constructor(log: EventLog, key: ThreadKey, options: WriterOptions) {
    this.#log = log;
    this.#key = key;
    this.#view = options.view;
    this.#load = options.load;
    this.#onIdle = options.onIdle;
    this.#onStored = options.onStored;
  }

  /** The thread as it is stored. */
  get view(): ThreadView {
    return this.#view;
  }

  /** Nothing waits and nobody holds the thread: it can be forgotten and loaded again. */
  get idle(): boolean {
    return !this.#working && this.#queue.length === 0 && (this.#removed || !isBusy(this.#view.document));
  }

  /** Resolves with what the write returned once it is flushed to disk (L4). */
  write<Result>(write: Write<Result>, options: WriteOptions = {}): Promise<Result> {
    const waiting = new WaitingWrite(write, options);
    this.#add(waiting as WaitingWrite);
    return waiting.whenStored();
  }

  /** The same where nobody waits for it. */
  post(write: Write<unknown>, options: WriteOptions): void {
    this.#add(new WaitingWrite(write, options));
  }

  /** Removes the thread behind everything that waits. Nothing can be written afterwards. */
  remove(tombstone: (view: ThreadView) => Uint8Array): Promise<void> {
    return new Promise((succeeded, failed) => this.#add({ kind: "removal", tombstone, succeeded, failed }));
  }

  /** The work begins when nothing more happens in this turn: what is written one after the other without waiting goes in one append. */
  #add(waiting: Waiting): void {
    this.#queue.push(waiting);
    if (this.#working) return;
    this.#working = true;
    process.nextTick(() => this.#work().catch(endProcess));
  }

  async #work(): Promise<void> {
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      if (this.#removed) this.#queue.shift()?.failed(deleted(this.#key));
      else if (next.kind === "removal") await this.#removeNow(next);
      else {
        const taken = this.#takeWrites();
        await this.#append(taken instanceof Promise ? await taken : taken);
      }
    }
    this.#working = false;
    this.#onIdle();
  }

  async #removeNow(removal: WaitingRemoval): Promise<void> {
    this.#queue.shift();
    try {
      await this.#log.remove(this.#key, this.#view.head, removal.tombstone(this.#view));
      this.#removed = true;
      this.#onStored();
      removal.succeeded();
    } catch (error) {
      removal.failed(error);
    }
  }

  async #append({ drafts, writes }: Accepted): Promise<void> {
    const last = drafts.at(-1);
    if (!last) return;
    try {
      const batch = joinDrafts(this.#view, drafts);
      const hasNews = !isEmpty(batch);
      if (hasNews) await this.#log.append(this.#key, this.#view.head, batch);
      this.#view = settled(last);
      if (hasNews) this.#onStored();
      for (const write of writes) write.succeeded();
    } catch (error) {
      this.#view = await this.#load().catch(() => this.#view);
      for (const write of writes) write.failed(error);
    }
  }

  /** Those that wait, up to what one append may join. A promise only where one of them has to read something first. */
  #takeWrites(accepted = new Accepted(this.#view)): Accepted | Promise<Accepted> {
    while (!accepted.isFull) {
      const next = this.#queue[0];
      if (next?.kind !== "write") break;
      if (isRepeatable(next) && isRepeatable(this.#queue[1])) {
        this.#queue.splice(0, accepted.takeTogether(this.#queue));
        continue;
      }
      this.#queue.shift();
      if (next.prepare) return this.#takePrepared(next, accepted);
      accepted.take(next);
    }
    return accepted;
  }

  async #takePrepared(next: WaitingWrite, accepted: Accepted): Promise<Accepted> {
    try {
      await next.prepare?.();
    } catch (error) {
      next.failed(error);
      return this.#takeWrites(accepted);
    }
    accepted.take(next);
    return this.#takeWrites(accepted);
  }
}

/** Writes that go into one append, each upon the draft of the one before. */
class Accepted {
  readonly drafts: ThreadDraft[] = [];
  readonly writes: WaitingWrite[] = [];
  #last: ThreadView;
  #bytes = 0;

  constructor(view: ThreadView) {
    this.#last = view;
  }

  get isFull(): boolean {
    return isEnough(this.writes.length, this.#bytes);
  }

  /** Unless it is refused. */
  take(write: WaitingWrite): void {
    const draft = write.attempt(this.#last);
    if (!draft) return;
    this.writes.push(write);
    this.#add(draft);
  }

  /**
   * The first ones that can be made again, each unless it is refused. Upon one draft: one for each would cost more than what most of
   * them write. Where one is refused, the draft is of no use any more, and they are made again, one by one. Returns how many they are.
   */
  takeTogether(queue: readonly Waiting[]): number {
    const draft = new ThreadDraft(this.#last);
    const writes: WaitingWrite[] = [];
    try {
      for (const next of queue) {
        if (!isRepeatable(next) || isEnough(this.writes.length + writes.length, this.#bytes + draft.bytes)) break;
        writes.push(next);
        next.make(draft);
      }
    } catch {
      for (const write of writes) this.take(write);
      return writes.length;
    }
    this.writes.push(...writes);
    this.#add(draft);
    return writes.length;
  }

  #add(draft: ThreadDraft): void {
    this.#last = draft;
    this.drafts.push(draft);
    this.#bytes += draft.bytes;
  }
}

const isRepeatable = (waiting: Waiting | undefined): waiting is WaitingWrite =>
  waiting?.kind === "write" && waiting.isRepeatable;

const isEnough = (writes: number, bytes: number): boolean => writes >= joined.writes || bytes >= joined.bytes;

const isEmpty = ({ frames, bodies, calls, document }: ReturnType<typeof joinDrafts>): boolean =>
  frames.length === 0 && !bodies?.length && !calls?.length && document === undefined;

/** Only what is true of the thread now: the draft's frames and bodies are stored, and need not be kept. */
function settled({ threadId, head, document, state, redactions, inputs }: ThreadDraft): ThreadView {
  state.settle();
  return { threadId, head, document, state, redactions, inputs };
}

const deleted = ({ threadId }: ThreadKey): HeddleError =>
  new HeddleError("thread_deleted", `Thread ${threadId} was deleted`);

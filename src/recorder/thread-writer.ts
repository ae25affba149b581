// The one writer of one thread. Writes are functions upon a draft; they wait in a queue, and all that are waiting when the
// disk is free go in one append. A write is refused alone, but a failed append fails everyone in it and changes nothing.
import { toBinary } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { ThreadDocumentSchema } from "../thread/schema.js";
import { isBusy, joinDrafts, ThreadDraft, type ThreadView } from "./thread-draft.js";

/** Contract: synchronous; changes nothing but the draft; throws to refuse. */
export type Write<Result> = (draft: ThreadDraft) => Result;

interface Waiting {
  /** Reads what the write needs to know. Done in its turn, so that a write that reads is not overtaken by one that does not. */
  readonly prepare: (() => Promise<void>) | undefined;
  /** Tries the write. The accepted draft, or undefined when it was refused and its promise rejected. */
  attempt(on: ThreadView): ThreadDraft | undefined;
  stored(): void;
  failed(error: unknown): void;
}

/** What one append may join. A single write is never split, whatever its size. */
const joined = { writes: 512, bytes: 1024 * 1024 };

interface WriterOptions {
  readonly view: ThreadView;
  /** The thread as the log has it: asked again after a failed append, which may have left us behind. */
  readonly load: () => Promise<ThreadView>;
  readonly onIdle: () => void;
}

export class ThreadWriter {
  readonly #log: EventLog;
  readonly #key: ThreadKey;
  readonly #load: () => Promise<ThreadView>;
  readonly #onIdle: () => void;
  readonly #queue: Waiting[] = [];
  #view: ThreadView;
  #removed = false;
  #writing = false;

  constructor(log: EventLog, key: ThreadKey, options: WriterOptions) {
    this.#log = log;
    this.#key = key;
    this.#view = options.view;
    this.#load = options.load;
    this.#onIdle = options.onIdle;
  }

  /** The thread as it is stored. */
  get view(): ThreadView {
    return this.#view;
  }

  /** Nothing waits and nobody holds the thread: it can be forgotten and loaded again. */
  get idle(): boolean {
    return !this.#writing && this.#queue.length === 0 && !isBusy(this.#view.document);
  }

  /** Resolves with what the write returned once it is flushed to disk (L4). */
  write<Result>(write: Write<Result>, prepare?: () => Promise<void>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      let result: Result;
      this.#queue.push({
        prepare,
        attempt: (on) => {
          try {
            const draft = new ThreadDraft(on);
            result = write(draft);
            return draft;
          } catch (refusal) {
            reject(refusal);
            return undefined;
          }
        },
        stored: () => resolve(result),
        failed: reject,
      });
      if (!this.#writing) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    while (this.#queue.length > 0) await this.#writeOnce();
    this.#writing = false;
    this.#onIdle();
  }

  async #writeOnce(): Promise<void> {
    const { drafts, accepted } = await this.#takeWaiting();
    const last = drafts.at(-1);
    if (!last) return;
    try {
      await this.#store(drafts, last);
      this.#view = settled(last);
      for (const write of accepted) write.stored();
    } catch (error) {
      this.#view = await this.#load().catch(() => this.#view);
      for (const write of accepted) write.failed(error);
    }
  }

  async #takeWaiting(): Promise<{ drafts: ThreadDraft[]; accepted: Waiting[] }> {
    const drafts: ThreadDraft[] = [];
    const accepted: Waiting[] = [];
    let bytes = 0;
    while (accepted.length < joined.writes && bytes < joined.bytes && !drafts.at(-1)?.removed) {
      const next = this.#queue.shift();
      if (!next) break;
      if (this.#removed) {
        next.failed(new HeddleError("thread_deleted", `Thread ${this.#key.threadId} was deleted`));
        continue;
      }
      const draft = await attempt(next, drafts.at(-1) ?? this.#view);
      if (!draft) continue;
      drafts.push(draft);
      accepted.push(next);
      for (const { length } of draft.frames) bytes += length;
      for (const body of draft.bodies) bytes += body.bytes.length;
    }
    return { drafts, accepted };
  }

  async #store(drafts: readonly ThreadDraft[], last: ThreadDraft): Promise<void> {
    const batch = joinDrafts(this.#view, drafts);
    const writes =
      batch.frames.length + (batch.bodies?.length ?? 0) + (batch.calls?.length ?? 0) + (batch.document ? 1 : 0);
    if (writes > 0) await this.#log.append(this.#key, this.#view.head, batch);
    if (!last.removed) return;
    await this.#log.remove(this.#key, last.head, toBinary(ThreadDocumentSchema, last.document));
    this.#removed = true;
  }
}

async function attempt(next: Waiting, on: ThreadView): Promise<ThreadDraft | undefined> {
  try {
    if (next.prepare) await next.prepare();
  } catch (error) {
    next.failed(error);
    return undefined;
  }
  return next.attempt(on);
}

/** Only what is true of the thread now: the draft's frames and bodies are stored, and need not be kept. */
function settled({ threadId, head, document, state, redactions, inputs }: ThreadDraft): ThreadView {
  state.settle();
  return { threadId, head, document, state, redactions, inputs };
}

// The only writer of history. It keeps one ThreadWriter for each thread that is being written, and forgets it when the
// thread is idle: what matters is in the log.
import { type EventLog, nameOf, type ThreadKey } from "../log/event-log.js";
import type { Redactor } from "../thread/redact.js";
import { loadThread } from "./load-thread.js";
import { ThreadChanges } from "./thread-changes.js";
import type { ThreadView } from "./thread-draft.js";
import { ThreadWriter, type Write, type WriteOptions } from "./thread-writer.js";

export class Recorder {
  readonly log: EventLog;
  /** Told of everything that is stored. */
  readonly changes = new ThreadChanges();
  readonly #redactor: Redactor;
  readonly #writers = new Map<string, Kept>();

  constructor(log: EventLog, redactor: Redactor) {
    this.log = log;
    this.#redactor = redactor;
  }

  /**
   * Adds to the thread what the write puts on its draft. Resolves when it is flushed. Writes of one thread keep the order
   * they were called in.
   */
  write<Result>(key: ThreadKey, write: Write<Result>, options?: WriteOptions): Promise<Result> {
    const kept = this.#writers.get(nameOf(key));
    if (kept?.writer && kept.expected === 0) return kept.writer.write(write, options);
    return this.#withWriter(key, (writer) => writer.write(write, options));
  }

  /** The same where nobody waits for it: `onFailure` hears of what fails. */
  post(key: ThreadKey, write: Write<unknown>, options: WriteOptions): void {
    const kept = this.#writers.get(nameOf(key));
    if (kept?.writer && kept.expected === 0) kept.writer.post(write, options);
    else this.write(key, write, options).catch(options.onFailure ?? (() => {})); // Told twice rather than never.
  }

  /** Removes the thread behind what is being written. The tombstone is made from the thread as it is then; throws to refuse. */
  async remove(key: ThreadKey, tombstone: (view: ThreadView) => Uint8Array): Promise<void> {
    await this.#withWriter(key, (writer) => writer.remove(tombstone));
  }

  /** A thread with what is open in it. One that nobody writes is read and not kept: a list of parked ones must not fill the memory. */
  async view(key: ThreadKey): Promise<ThreadView> {
    const kept = this.#writers.get(nameOf(key));
    return kept ? (await kept.loading).view : loadThread(this.log, key, this.#redactor);
  }

  /** A text as it would be stored. */
  redacted(text: string): string {
    return this.#redactor.text(text);
  }

  /** Threads that are being written now. */
  get writing(): number {
    return this.#writers.size;
  }

  async #withWriter<Result>(key: ThreadKey, use: (writer: ThreadWriter) => Promise<Result>): Promise<Result> {
    const name = nameOf(key);
    for (;;) {
      const kept = this.#kept(key, name);
      kept.expected++;
      try {
        const writer = await kept.loading;
        // It may have been forgotten while we waited for it; two writers of one thread would only fence each other off.
        if (this.#writers.get(name) === kept) return use(writer);
      } finally {
        kept.expected--;
      }
    }
  }

  #kept(key: ThreadKey, name: string): Kept {
    const known = this.#writers.get(name);
    if (known) return known;
    const kept: Kept = { loading: this.#load(key, name), writer: undefined, expected: 0 };
    this.#writers.set(name, kept);
    kept.loading.then(
      (writer) => {
        kept.writer = writer;
      },
      () => this.#writers.delete(name),
    );
    return kept;
  }

  async #load(key: ThreadKey, name: string): Promise<ThreadWriter> {
    const load = () => loadThread(this.log, key, this.#redactor);
    const writer: ThreadWriter = new ThreadWriter(this.log, key, {
      view: await load(),
      load,
      onStored: () => this.changes.note(key.threadId),
      onIdle: () => {
        // A write may have joined the queue since: only a writer with nothing to do is forgotten.
        if (writer.idle) this.#writers.delete(name);
      },
    });
    return writer;
  }
}

interface Kept {
  readonly loading: Promise<ThreadWriter>;
  writer: ThreadWriter | undefined;
  /** Writes that wait for it to be loaded. None may overtake them. */
  expected: number;
}

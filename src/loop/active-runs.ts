// The runs under way in this process. A run begins with the write that leaves it to be worked on, and whatever happens to it, its
// thread is free in the end (T1). Who may begin or call off a run is not decided here (runs.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { nameOf, type ThreadKey } from "../log/event-log.js";
import { type Interruption, interruptRun } from "../recorder/interrupt.js";
import type { Recorder } from "../recorder/recorder.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { isError } from "../thread/errors.js";
import type { RunDocument } from "../thread/schema.js";
import type { Run } from "./run.js";
import { type ThreadTools, threadTools } from "./run-tools.js";
import type { Stop } from "./stop.js";

/** What a write leaves to be done. */
export interface Launch {
  readonly runId: string;
  /** The run to work on. Undefined: there is nothing to do. */
  readonly started: RunDocument | undefined;
}

/** A run to work on, and what its thread brings along. */
export interface Begun {
  readonly runId: string;
  readonly document: RunDocument;
  readonly thread: ThreadTools;
}

export interface ActiveRunsParts {
  readonly recorder: Recorder;
  readonly create: (key: ThreadKey, begun: Begun) => Run;
  /** Works on a run until it ends or waits. Throws only what is neither the model's nor a tool's fault. */
  readonly drive: (run: Run, document: RunDocument) => Promise<void>;
  readonly onError: (error: unknown, key: ThreadKey) => void;
}

/** Between tries to end a run whose thread cannot be written. */
const giveUpEveryMs = 1_000;

export class ActiveRuns {
  readonly #parts: ActiveRunsParts;
  readonly #active = new Map<string, { readonly run: Run; readonly done: Promise<void> }>();
  /** Writes that leave a run to be worked on, and their threads. */
  readonly #launching = new Map<Promise<unknown>, string>();
  readonly #closing = new AbortController();

  constructor(parts: ActiveRunsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#active.size;
  }

  /** With those that are about to begin. */
  get expected(): number {
    return this.#active.size + this.#launching.size;
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  get(runId: string): Run | undefined {
    return this.#active.get(runId)?.run;
  }

  /** The run in which the call is open. */
  runOf(toolCallId: string): Run | undefined {
    for (const { run } of this.#active.values()) if (run.holds(toolCallId)) return run;
    return undefined;
  }

  /** False when no run has come to the call yet, or it is over. */
  stopCall(toolCallId: string, stop: Stop): boolean {
    for (const { run } of this.#active.values()) if (run.stopCall(toolCallId, stop)) return true;
    return false;
  }

  /** Resolves when no run of the thread is about to begin: one whose first event somebody has seen may not be there yet. */
  async launched(key: ThreadKey): Promise<void> {
    const launching = [...this.#launching].filter(([, name]) => name === nameOf(key));
    await Promise.allSettled(launching.map(([launched]) => launched));
  }

  /** Calls off what runs, and waits for it: a second or two. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { run } of this.#active.values()) run.stop({ kind: "server_stopping" });
    while (this.#launching.size > 0) await Promise.allSettled(this.#launching.keys());
    await Promise.all([...this.#active.values()].map(({ done }) => done));
  }

  /** Works on the run that the write leaves, as soon as it is stored. */
  async write<L extends Launch>(key: ThreadKey, write: (draft: ThreadDraft) => L): Promise<L> {
    let thread: ThreadTools | undefined;
    const noted = (draft: ThreadDraft): L => {
      thread = threadTools(key.threadId, draft.document);
      return write(draft);
    };
    const launched = this.#parts.recorder.write(key, noted).then((launch) => {
      const { runId, started: document } = launch;
      if (document && thread) this.#launch(key, { runId, document, thread });
      return launch;
    });
    this.#launching.set(launched, nameOf(key));
    try {
      return await launched;
    } finally {
      this.#launching.delete(launched);
    }
  }

  /**
   * The same for a change that may be refused because of what others have just changed: that counts once it is stored, and so does
   * the refusal. Contract: refuses before it records anything.
   */
  async change<L extends Launch>(key: ThreadKey, change: (draft: ThreadDraft) => L): Promise<L> {
    let refusal: unknown;
    const launch = await this.write(key, (draft): L | Launch => {
      try {
        return change(draft);
      } catch (error) {
        if (draft.frames.length > 0) throw error;
        refusal = error;
        return { runId: "", started: undefined };
      }
    });
    if (refusal !== undefined) throw refusal;
    return launch as L;
  }

  #launch(key: ThreadKey, begun: Begun): void {
    const { runId, document } = begun;
    const run = this.#parts.create(key, begun);
    // A run that was suspended a moment ago may still be leaving.
    const before = this.#active.get(runId)?.done;
    const work = async (): Promise<void> => {
      try {
        if (before && !(await this.#isStillOpen(run, before))) return;
        await this.#parts.drive(run, document);
      } catch (error) {
        this.#parts.onError(error, key);
        await this.#giveUp(run, error);
      } finally {
        run.recorder.close();
        if (this.#active.get(runId)?.run === run) this.#active.delete(runId);
      }
    };
    if (this.isClosing) run.stop({ kind: "server_stopping" });
    this.#active.set(runId, { run, done: work() });
  }

  /** Whoever left it may have had to end it. */
  async #isStillOpen({ key, runId }: Run, before: Promise<void>): Promise<boolean> {
    await before;
    return this.#parts.recorder.write(key, (draft) => draft.state.run?.runId === runId);
  }

  /** Something broke that is not the model's or a tool's fault. The thread is freed as soon as it can be written. */
  async #giveUp({ key, runId }: Run, cause: unknown): Promise<void> {
    const why = interruptionBy(cause);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#parts.recorder.write(key, (draft) => {
          if (draft.state.run?.runId === runId) interruptRun(draft, why);
        });
        return;
      } catch (error) {
        if (isError(error, "thread_deleted") || isError(error, "thread_not_found")) return;
        if (attempt === 1) this.#parts.onError(error, key);
      }
      // At the next start, recovery does it.
      const isClosing = await sleep(giveUpEveryMs, false, { signal: this.#closing.signal }).catch(() => true);
      if (isClosing) return;
    }
  }
}

/** A full disk is for whoever reads it to mend; what else failed, for whoever reads the server's log. */
const interruptionBy = (cause: unknown): Interruption =>
  isError(cause, "storage_full")
    ? { reason: "the disk of the data directory was full", kind: "storage_full" }
    : { reason: "something inside the server failed; its log says more", kind: "internal" };

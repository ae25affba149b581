// The background processes of a server: each belongs to one thread, outlives the call that started it, and ends by itself, when it
// is stopped, with its thread, or with the server. Some that have ended are remembered, with what they printed.
import { setTimeout as pause } from "node:timers/promises";
import type { Commands } from "../command/commands.js";
import type { ThreadBound } from "../thread-bound.js";
import { type ToolContext, ToolFailure } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { type BackgroundCommand, BackgroundProcess } from "./background-process.js";
import type { ProcessEnding, ProcessJournal } from "./journal.js";
import { OutputRoom } from "./output-room.js";
import { ReadingShare } from "./reading-share.js";

export interface ProcessesOptions {
  readonly commands: Commands;
  readonly journal: ProcessJournal;
  /** How long a start waits for an early end. */
  readonly firstMomentsMs?: number;
  readonly limits?: ProcessCounts;
}

export interface ProcessCounts {
  /** Of all threads, at the same time. Those of one thread are the journal's to count. */
  readonly running: number;
  /** Ended ones of one thread that are remembered. */
  readonly endedOfThread: number;
  /** Of all threads. */
  readonly ended: number;
}

const processCounts: ProcessCounts = { running: 256, endedOfThread: 32, ended: 1_000 };

/** Long enough for a shell to say that there is no such program. */
const firstMomentsMs = 250;

export class Processes implements ThreadBound {
  readonly commands: Commands;
  readonly #journal: ProcessJournal;
  readonly #firstMomentsMs: number;
  readonly #limits: ProcessCounts;
  readonly #room = new OutputRoom();
  readonly #reading = new ReadingShare();
  /** Those that have ended are in the order of their ends. */
  readonly #all = new Set<BackgroundProcess>();
  #isClosing = false;

  constructor(options: ProcessesOptions) {
    this.commands = options.commands;
    this.#journal = options.journal;
    this.#firstMomentsMs = options.firstMomentsMs ?? firstMomentsMs;
    this.#limits = options.limits ?? processCounts;
  }

  /**
   * Resolves when it has been there for a moment, or has ended already. Rejects with a ToolFailure when it cannot be started; when
   * the call is called off before, with the signal's reason once nothing is left of it.
   */
  async start(command: BackgroundCommand, context: ToolContext): Promise<BackgroundProcess> {
    const { signal, threadId } = context;
    signal.throwIfAborted();
    this.#refuseMore();
    const { commands } = this;
    const parts = { commands, journal: this.#journal, output: this.#room.open(), reading: this.#reading };
    const process = new BackgroundProcess(threadId, command, parts);
    this.#all.add(process);
    void process.over.then(() => this.#ended(process));
    const callOff = (): void => void process.end("called_off");
    signal.addEventListener("abort", callOff, { once: true });
    try {
      await process.start(context);
      await this.#firstMoments(process);
      signal.throwIfAborted();
      return process;
    } catch (error) {
      await process.over;
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", callOff);
    }
  }

  /** Those of a thread that run, and those that are remembered, in the order of their names. */
  of(threadId: string): readonly BackgroundProcess[] {
    const own = [...this.#all].filter((process) => process.threadId === threadId && process.id !== "");
    return own.sort((a, b) => numberOf(a.id) - numberOf(b.id));
  }

  /** Rejects with a ToolFailure that says which there are. */
  async find(threadId: string, id: string): Promise<BackgroundProcess> {
    const own = this.of(threadId);
    const found = own.find((process) => process.id === id);
    if (found) return found;
    // Those of other threads are as unknown as those that never were.
    const isPast = numberOf(id) <= (await this.#journal.begun(threadId));
    if (isPast)
      throw new ToolFailure(
        `No such process: ${id} is over, and what it printed is forgotten: the server has been started anew since, or many others have ended; start it again`,
        { code: "ESRCH" },
      );
    const known = own.map((process) => process.id).join(", ");
    throw new ToolFailure(
      `No such process: ${oneLine(id) || "(no name)"}; ${known === "" ? "none was started in this thread" : `the processes are ${known}`}`,
      { code: "ESRCH" },
    );
  }

  /** Resolves when nothing of it is left and its end is recorded. Rejects with a ToolFailure when it has ended by itself. */
  async stop(threadId: string, id: string, signal: AbortSignal): Promise<ProcessEnding> {
    const process = await this.find(threadId, id);
    signal.throwIfAborted();
    if (process.ending) throw alreadyEnded(process.ending);
    await Promise.race([process.end("stopped"), aborted(signal)]);
    signal.throwIfAborted();
    const ending = process.ending!;
    if (ending.outcome === "exited") throw alreadyEnded(ending);
    return ending;
  }

  async endThread(threadId: string): Promise<void> {
    const own = [...this.#all].filter((process) => process.threadId === threadId);
    await Promise.all(own.map((process) => process.end("thread_deleted")));
    for (const process of own) this.#forget(process);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#all].map((process) => process.end("server_stopped")));
  }

  #refuseMore(): void {
    if (this.#isClosing)
      throw new ToolFailure("The server is stopping; start the process later", { code: "ESHUTDOWN" });
    const running = [...this.#all].filter(({ ending }) => ending === undefined).length;
    if (running < this.#limits.running) return;
    const words = counted(running, "process runs", "processes run");
    throw new ToolFailure(`${words} on this server already; stop some first, or try again later`, { code: "EAGAIN" });
  }

  async #firstMoments({ over }: BackgroundProcess): Promise<void> {
    const enough = new AbortController();
    const moments = pause(this.#firstMomentsMs, undefined, { signal: enough.signal }).catch(() => {});
    await Promise.race([over, moments]);
    enough.abort();
  }

  /** Keeps it for a while. The oldest ones make room. */
  #ended(process: BackgroundProcess): void {
    this.#all.delete(process);
    if (process.ending === undefined) {
      this.#room.release(process.output);
      return;
    }
    this.#all.add(process);
    const ended = [...this.#all].filter(({ ending }) => ending !== undefined);
    const ofThread = ended.filter(({ threadId }) => threadId === process.threadId);
    if (ofThread.length > this.#limits.endedOfThread) this.#forget(ofThread[0]!);
    else if (ended.length > this.#limits.ended) this.#forget(ended[0]!);
  }

  #forget(process: BackgroundProcess): void {
    this.#all.delete(process);
    this.#room.release(process.output);
  }
}

/** Infinite for what is no name. */
const numberOf = (id: string): number => (/^p[1-9]\d{0,8}$/.test(id) ? Number(id.slice(1)) : Number.POSITIVE_INFINITY);

const alreadyEnded = ({ summary }: ProcessEnding): ToolFailure =>
  new ToolFailure(`Already ended: ${summary}`, { code: "ESRCH" });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

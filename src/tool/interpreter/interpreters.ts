// The interpreters of all threads. Each thread has its own, with its variables and files, from its first call on: one call at a
// time, until it is not used for a while, the thread is gone or the server stops. One more is loaded ahead, so that the next thread
// need not wait for it.

import type { ThreadBound } from "../thread-bound.js";
import { type ToolContext, ToolFailure } from "../tool.js";
import type { Language } from "./child/messages.js";
import { findWall, type WallWish } from "./find-wall.js";
import { InterpreterProcess } from "./interpreter-process.js";
import { type CodeRun, runCode } from "./run-code.js";
import { Spare } from "./spare.js";
import type { Wall } from "./wall.js";

export interface InterpreterSettings extends WallWish {
  /** The most memory of the code of one interpreter. */
  readonly memoryBytes: number;
  /** How long one call may take. */
  readonly timeoutMs: number;
  /** How long an interpreter that nobody uses keeps its state. */
  readonly idleMs: number;
  /** Interpreters of all threads at the same time, beside the one that is loaded ahead. */
  readonly atOnce: number;
}

export interface ThreadRun extends CodeRun {
  /** `kept`: variables of earlier calls are there. `restarted`: there were some, and they are gone. */
  readonly interpreter: "new" | "kept" | "restarted";
}

/** One thread's. */
interface Place {
  process: InterpreterProcess | undefined;
  /** Whether it has a process, or one is about to be its own. */
  isTaken: boolean;
  /** Whether code has run in the process. */
  hasState: boolean;
  /** Whether the thread had variables that are gone. */
  wasLost: boolean;
  /** The thread is gone, or the server stops. */
  isGone: boolean;
  lastUsed: number;
  /** Calls that run or wait. */
  calls: number;
  /** Settles when the last of them is over. */
  turn: Promise<void>;
  idle: NodeJS.Timeout | undefined;
}

/** Threads that are remembered after their interpreter has ended. */
const remembered = 10_000;

export class Interpreters implements ThreadBound {
  readonly wall: Wall;
  readonly #settings: InterpreterSettings;
  readonly #places = new Map<string, Place>();
  readonly #spare: Spare;
  #isClosed = false;

  /** Throws `invalid_config` when the isolation that is wished for is not to be had. Starts nothing. */
  constructor(settings: InterpreterSettings) {
    this.#settings = settings;
    this.wall = findWall(settings);
    this.#spare = new Spare(() => InterpreterProcess.start({ wall: this.wall, memoryBytes: settings.memoryBytes }));
  }

  get timeoutMs(): number {
    return this.#settings.timeoutMs;
  }

  get memoryBytes(): number {
    return this.#settings.memoryBytes;
  }

  /** Runs the code when it is the thread's turn. */
  async run(asked: { language: Language; code: string }, context: ToolContext): Promise<ThreadRun> {
    const place = this.#placeOf(context.threadId);
    const before = place.turn;
    let end = (): void => {};
    const mine = new Promise<void>((resolve) => {
      end = resolve;
    });
    place.turn = before.then(() => mine);
    place.calls++;
    clearTimeout(place.idle);
    try {
      await Promise.race([before, calledOff(context.signal)]);
      return await this.#runIn(place, asked, context);
    } finally {
      end();
      place.calls--;
      place.lastUsed = performance.now();
      if (place.calls === 0) place.idle = setTimeout(() => void this.#endIdle(place), this.#settings.idleMs).unref();
    }
  }

  async endThread(threadId: string): Promise<void> {
    const place = this.#places.get(threadId);
    this.#places.delete(threadId);
    if (place === undefined) return;
    place.isGone = true;
    await this.#free(place);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#spare.close(), ...[...this.#places.keys()].map((threadId) => this.endThread(threadId))]);
  }

  /** The process of each thread that has one. */
  get pids(): ReadonlyMap<string, number> {
    const live = [...this.#places].flatMap(([threadId, { process }]) =>
      process === undefined || process.isOver ? [] : [[threadId, process.pid] as const],
    );
    return new Map(live);
  }

  /** The one that is loaded ahead. */
  get spare(): { readonly pid: number; readonly loaded: ReadonlySet<Language> } | undefined {
    return this.#spare.waiting;
  }

  #placeOf(threadId: string): Place {
    if (this.#isClosed) throw new ToolFailure("The server stops; try again later", { code: "ECANCELED" });
    const known = this.#places.get(threadId);
    if (known) return known;
    const place: Place = {
      ...{ process: undefined, isTaken: false, hasState: false, wasLost: false, isGone: false },
      ...{ lastUsed: 0, calls: 0, turn: Promise.resolve(), idle: undefined },
    };
    for (const [other, { isTaken, calls }] of this.#places) {
      if (this.#places.size < remembered) break;
      if (!isTaken && calls === 0) this.#places.delete(other);
    }
    this.#places.set(threadId, place);
    return place;
  }

  async #runIn(place: Place, asked: { language: Language; code: string }, context: ToolContext): Promise<ThreadRun> {
    const { signal } = context;
    signal.throwIfAborted();
    if (place.isGone) throw new ToolFailure("The thread is gone, and its interpreter with it", { code: "ECANCELED" });
    const process = place.process?.isOver === false ? place.process : await this.#obtain(place);
    const stopWatching = process.watch();
    try {
      return await this.#runOn(process, { place, asked, context });
    } finally {
      stopWatching();
    }
  }

  async #runOn(
    process: InterpreterProcess,
    { place, asked, context }: { place: Place; asked: { language: Language; code: string }; context: ToolContext },
  ): Promise<ThreadRun> {
    const { language } = asked;
    const { signal } = context;
    if (!process.loaded.has(language)) context.phase("interpreting", `Starting the ${names[language]} interpreter`);
    // One that is called off meanwhile goes on loading: the next call may need it.
    await Promise.race([process.load(language), calledOff(signal)]);
    this.#spare.load(language);
    const interpreter = place.hasState ? "kept" : place.wasLost ? "restarted" : "new";
    place.hasState = true;
    place.wasLost = false;
    const run = await runCode(process, {
      ...asked,
      timeoutMs: this.timeoutMs,
      signal,
      onOutput: (stream, text) => context.output(stream, text),
    });
    // Gone with everything in it; the kernel may take a moment more.
    if (run.isLost) await process.over;
    return { ...run, interpreter };
  }

  /** A process for the thread: the one that is loaded ahead, or a new one. In both cases another is made ready. */
  async #obtain(place: Place): Promise<InterpreterProcess> {
    // One that ended a moment ago.
    if (place.process) this.#forget(place, place.process);
    const room = this.#makeRoom(place);
    // At once: others who look for room meanwhile must not find the same.
    place.isTaken = true;
    try {
      await room;
      const process = await this.#spare.take();
      if (place.isGone) {
        await process.end();
        throw new ToolFailure("The thread is gone, and its interpreter with it", { code: "ECANCELED" });
      }
      place.process = process;
      void process.over.then(() => this.#forget(place, process));
      return process;
    } catch (reason) {
      place.isTaken = false;
      throw reason;
    }
  }

  /** Where there are as many as there may be, the one that was not used for longest is ended. */
  async #makeRoom(place: Place): Promise<void> {
    const taken = [...this.#places.values()].filter((other) => other.isTaken && other !== place);
    if (taken.length < this.#settings.atOnce) return;
    const [oldest] = taken.filter(({ calls }) => calls === 0).sort((a, b) => a.lastUsed - b.lastUsed);
    if (oldest === undefined)
      throw new ToolFailure(
        `All ${this.#settings.atOnce} interpreters are busy; try again when another thread is done with its own`,
        { code: "EAGAIN" },
      );
    await this.#free(oldest);
  }

  /** Nobody has used it for a while. The last one takes the one that is loaded ahead along: an idle server holds no memory for it. */
  async #endIdle(place: Place): Promise<void> {
    await this.#free(place);
    if (![...this.#places.values()].some(({ isTaken, calls }) => isTaken || calls > 0)) await this.#spare.drop();
  }

  async #free(place: Place): Promise<void> {
    clearTimeout(place.idle);
    const { process } = place;
    if (process === undefined) return;
    this.#forget(place, process);
    await process.end();
  }

  #forget(place: Place, process: InterpreterProcess): void {
    if (place.process !== process) return;
    place.process = undefined;
    place.isTaken = false;
    place.wasLost ||= place.hasState;
    place.hasState = false;
  }
}

export const names: Readonly<Record<Language, string>> = { python: "Python", javascript: "JavaScript" };

/** Rejects with the signal's reason. */
const calledOff = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

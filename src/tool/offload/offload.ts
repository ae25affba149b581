// Work that could hold up everybody else (a regular expression that backtracks for ever, a hostile document) in a thread of its
// own: one thread a job, with bounded memory, ended at once when the job is called off; a few at a time, the others wait.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { ToolFailure } from "../tool.js";
import { threadEntry } from "./built.js";
import { Turns } from "./turns.js";

/**
 * What a module for a job has as its default export. Contract: job, progress and result are plain data; a ToolFailure that it
 * throws arrives as one, anything else as an Error with the same message.
 */
export type OffloadedWork<Job, Result, Progress = never> = (
  job: Job,
  report: (progress: Progress) => void,
) => Result | Promise<Result>;

export interface OffloadOptions<Progress> {
  /** Ends the thread wherever it is. */
  readonly signal: AbortSignal;
  /** Contract: does not throw. */
  readonly onProgress?: (progress: Progress) => void;
  /** How much the thread's heap may hold. */
  readonly heapMb?: number;
}

/** What comes from the thread. */
export type FromThread =
  | { readonly type: "progress"; readonly progress: unknown }
  | { readonly type: "result"; readonly result: unknown }
  /** With a code: a ToolFailure. `where` is for whoever looks into it. */
  | { readonly type: "thrown"; readonly message: string; readonly code: string | undefined; readonly where: unknown };

const defaultHeapMb = 256;
/** How many threads there are at most, in the whole process. More than a few, so that two slow jobs do not hold up all others. */
export const maxThreads = Math.max(4, availableParallelism());

const turns = new Turns(maxThreads);

/**
 * Runs the default export of the module at `moduleUrl` with the job, when it is its turn. Settles when the thread is gone: with its result, with what
 * it threw, with the signal's reason, or with a ToolFailure (ENOMEM) when it needed too much memory.
 */
export function offload<Job, Result, Progress = never>(
  moduleUrl: URL,
  job: Job,
  options: OffloadOptions<Progress>,
): Promise<Result> {
  return turns.run(options.signal, () => inThread<Job, Result, Progress>(moduleUrl, job, options));
}

function inThread<Job, Result, Progress>(moduleUrl: URL, job: Job, options: OffloadOptions<Progress>): Promise<Result> {
  const { signal, onProgress, heapMb = defaultHeapMb } = options;
  return new Promise<Result>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const { entry, ...start } = threadEntry(moduleUrl);
    const worker = new Worker(entry, {
      ...start,
      workerData: { moduleUrl: moduleUrl.href, job },
      // A thread has no need of secrets.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    });
    let settle = (): void => reject(new Error("The thread ended without an answer"));
    const endWith = (settlement: () => void): void => {
      settle = settlement;
      void worker.terminate();
    };
    const callOff = (): void => endWith(() => reject(signal.reason));
    signal.addEventListener("abort", callOff, { once: true });
    worker.on("message", (message: FromThread) => {
      if (signal.aborted) return;
      if (message.type === "progress") onProgress?.(message.progress as Progress);
      else if (message.type === "result") endWith(() => resolve(message.result as Result));
      else endWith(() => reject(thrownThere(message)));
    });
    worker.on("error", (reason) => {
      if (!signal.aborted) endWith(() => reject(brokenThread(reason)));
    });
    worker.on("exit", () => {
      signal.removeEventListener("abort", callOff);
      settle();
    });
  });
}

const thrownThere = ({ message, code, where }: Extract<FromThread, { type: "thrown" }>): Error =>
  code === undefined ? new Error(message, { cause: where }) : new ToolFailure(message, { code });

function brokenThread(reason: NodeJS.ErrnoException): Error {
  const failure = failures[reason.code ?? ""];
  return failure ? new ToolFailure(failure.message, { code: failure.code, cause: reason }) : reason;
}

/** By the code that Node gives them. */
const failures: Readonly<Record<string, { readonly message: string; readonly code: string }>> = {
  ERR_WORKER_OUT_OF_MEMORY: { message: "It needs too much memory; ask for less at a time", code: "ENOMEM" },
  ERR_WORKER_INIT_FAILED: { message: "The machine is too busy to start it; try again later", code: "EAGAIN" },
};

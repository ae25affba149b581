// Runs one program to its end, whatever it does: it has no terminal and nothing to read, a process group of its own, bounded
// time, processes, memory and output; and when it is over, nothing that it started is left.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { ToolFailure } from "../tool.js";
import { type ControlGroup, openControlGroup } from "./control-group.js";
import { type Ended, endProcesses, killProcesses } from "./end-processes.js";
import { KeptOutput, type OutputLimits, outputLimits } from "./kept-output.js";
import { LiveProcesses, markName } from "./live-processes.js";
import { type Excess, type ProcessLimits, processLimits, watchProcesses } from "./watch-processes.js";

export interface ProcessRequest {
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly [program: string, ...args: string[]];
  readonly cwd: string;
  /** All that the program is given. */
  readonly env: Readonly<Record<string, string>>;
  /** Names its processes: no other process that runs has the same. */
  readonly mark: string;
  /** The program keeps others in a sandbox: they are asked to end, and it ends after them. */
  readonly isSandbox?: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly limits?: ProcessLimits & OutputLimits;
  onOutput(stream: "stdout" | "stderr", text: string): void;
}

/** Why it is over. */
export type EndCause = "exited" | "called_off" | "timed_out" | Excess;

export interface ProcessEnd {
  readonly cause: EndCause;
  /** Undefined when a signal ended it, or somebody else did. */
  readonly exitCode: number | undefined;
  readonly durationMs: number;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
  /** Processes that could not be ended. */
  readonly leftBehind: number;
}

/** Contract: rejects with the signal's reason when it is called off before it starts, and with a ToolFailure when it cannot start. */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  request.signal.throwIfAborted();
  const startedAt = performance.now();
  const child = await start(request);
  const stdout = keep(child.stdout, (text) => request.onOutput("stdout", text), request.limits);
  const stderr = keep(child.stderr, (text) => request.onOutput("stderr", text), request.limits);
  const ended = {
    root: child.pid,
    live: child.live,
    isKeeper: ({ pid, parent }: { pid: number; parent: number }) =>
      request.isSandbox === true && (pid === child.pid || parent === child.pid),
  };
  const cause = await firstCause(child, request);
  if (cause === "exited") await Promise.race([child.closed, passed(closeMs)]);
  const leftBehind = await endAll(ended, { cause, isSandbox: request.isSandbox === true });
  await Promise.race([child.closed, passed(drainMs)]);
  child.group?.remove();
  child.stdout.destroy();
  child.stderr.destroy();
  stdout.close();
  stderr.close();
  const exitCode = cause === "exited" ? (child.exitCode() ?? undefined) : undefined;
  return { cause, exitCode, durationMs: performance.now() - startedAt, stdout, stderr, leftBehind };
}

/** With a sandbox everything in it has ended: its first process was the last, and the kernel has waited for the others. */
async function endAll(ended: Ended, { cause, isSandbox }: { cause: EndCause; isSandbox: boolean }): Promise<number> {
  if (cause === "exited" && isSandbox) return 0;
  return isAskedFirst[cause] ? endProcesses(ended) : killProcesses(ended);
}

/** What is left of a program that ended is in nobody's care, and one that takes too much takes more with every moment. */
const isAskedFirst: Record<EndCause, boolean> = {
  exited: false,
  called_off: true,
  timed_out: true,
  too_many_processes: false,
  too_much_memory: false,
};

/** Threads count as tasks too, and some programs have many. */
const tasksPerProcess = 4;

/** Most programs leave nothing behind, and their output is at its end with them. */
const closeMs = 20;
/** What was printed is read to its end, unless somebody who could not be found holds it open. */
const drainMs = 500;
/** Keeps nobody waiting: a process that is done may end before it. */
const passed = (ms: number): Promise<void> => pause(ms, undefined, { ref: false });

interface Started {
  readonly pid: number;
  readonly live: LiveProcesses;
  readonly group: ControlGroup | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<unknown>;
  readonly closed: Promise<unknown>;
  exitCode(): number | null;
}

async function start({ argv, cwd, env, mark, isSandbox, limits }: ProcessRequest): Promise<Started> {
  const group = openControlGroup((limits ?? processLimits).processes * tasksPerProcess);
  // A sandbox takes a while to be made before anything runs in it: there is time to put it into the group from outside.
  const [program, ...args] = (isSandbox ? undefined : group?.enter(argv)) ?? argv;
  const options = { cwd, env: { ...env, [markName]: mark }, detached: true } as const;
  let child: ChildProcessByStdio<null, Readable, Readable>;
  try {
    child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  } catch (cause) {
    group?.remove();
    throw notStarted(argv[0], cause as NodeJS.ErrnoException);
  }
  const { pid, stdout, stderr } = child;
  if (pid === undefined) {
    const [cause] = (await once(child, "error")) as [NodeJS.ErrnoException];
    group?.remove();
    throw notStarted(argv[0], cause);
  }
  child.on("error", () => {}); // Of a signal that could not be sent; none is sent through it.
  if (isSandbox) group?.add(pid);
  // At once: before it can have been waited for.
  const live = new LiveProcesses(pid, mark, group);
  preferToServer(pid);
  const exited = once(child, "exit");
  const closed = once(child, "close");
  return { pid, live, group, stdout, stderr, exited, closed, exitCode: () => child.exitCode };
}

/** When memory runs out, the kernel shall end the command and not the server. */
function preferToServer(pid: number): void {
  writeFile(`/proc/${pid}/oom_score_adj`, "500").catch(() => {});
}

function notStarted(program: string, cause: NodeJS.ErrnoException): ToolFailure {
  const code = cause.code ?? "unknown error";
  const words =
    code === "ENOENT"
      ? `${program} or the workspace is not there; choose another command`
      : code === "E2BIG"
        ? "The command is too long for the system; write it to a file and run that"
        : `The command could not be started (${code}); try again, or choose another`;
  return new ToolFailure(words, { code, cause });
}

function keep(stream: Readable, onText: (text: string) => void, limits: OutputLimits = outputLimits): KeptOutput {
  const output = new KeptOutput(onText, limits);
  stream.on("data", (piece: Buffer) => output.add(piece));
  stream.on("error", () => {}); // The end of a broken pipe is its end.
  return output;
}

/** The first that happens: its end, a word from outside, or a limit. */
async function firstCause(child: Started, request: ProcessRequest): Promise<EndCause> {
  const { signal, timeoutMs, limits = processLimits } = request;
  let undo = (): void => {};
  const first = new Promise<EndCause>((resolve) => {
    const onAbort = (): void => resolve("called_off");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const timer = setTimeout(() => resolve("timed_out"), timeoutMs);
    const stopWatching = watchProcesses(child.live, limits, resolve);
    child.exited.then(() => resolve("exited"));
    undo = () => {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
      stopWatching();
    };
  });
  return first.finally(undo);
}

// Starts one program and looks after it until it is over, whatever it does: it has no terminal and nothing to read, a process group
// of its own, bounded processes and memory; and when it is over, nothing that it started is left.
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { ToolFailure } from "../tool.js";
import { type ControlGroup, openControlGroup } from "./control-group.js";
import { endProcesses, killProcesses } from "./end-processes.js";
import { LiveProcesses } from "./live-processes.js";
import { markName } from "./process-table.js";
import { spawnAlone } from "./spawn-alone.js";
import type { Standby } from "./standby.js";
import { type Excess, processLimits, type WatchedLimits, watchProcesses } from "./watch-processes.js";

export interface BeginRequest {
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly [program: string, ...args: string[]];
  readonly cwd: string;
  /** All that the program is given. */
  readonly env: Readonly<Record<string, string>>;
  /** Names its processes: no other process that runs has the same. */
  readonly mark: string;
  /** The program keeps others in a sandbox: they are asked to end, and it ends after them. */
  readonly isSandbox?: boolean;
  /** For a sandbox: what may be ready for it. */
  readonly standby?: Standby | undefined;
  /** Undefined: as long as it likes. */
  readonly timeoutMs?: number;
  /** Aborted: it is to end. */
  readonly signal: AbortSignal;
  readonly limits?: WatchedLimits;
  /**
   * What it prints, as it comes; nothing after it is over. Returns for how many milliseconds no more should come: a program that
   * goes on printing then waits, unless it is ending.
   */
  onPiece(stream: "stdout" | "stderr", piece: Buffer): number;
}

/** Why it is over. */
export type EndCause = "exited" | "called_off" | "timed_out" | Excess;

export interface Ending {
  readonly cause: EndCause;
  /** Undefined when a signal ended it, or somebody else did. */
  readonly exitCode: number | undefined;
  /** Of one that ended by itself, where it was a signal. */
  readonly signalName: string | undefined;
  readonly durationMs: number;
  /** Processes that could not be ended. */
  readonly leftBehind: number;
}

export interface BegunProcess {
  /** Also the id of its process group. */
  readonly pid: number;
  /** Resolves when it is over and nothing is left of it. Never rejects. */
  readonly ended: Promise<Ending>;
}

/** Contract: rejects with the signal's reason when it is called off before it starts, and with a ToolFailure when it cannot start. */
export async function beginProcess(request: BeginRequest): Promise<BegunProcess> {
  request.signal.throwIfAborted();
  const startedAt = performance.now();
  const child = await start(request);
  const readRest = (["stdout", "stderr"] as const).map((name) =>
    read(child[name], (piece) => request.onPiece(name, piece)),
  );
  const cause = firstCause(child, request).finally(() => {
    for (const begin of readRest) begin();
  });
  const ended = untilOver(child, { isSandbox: request.isSandbox === true, cause, startedAt });
  void ended.then(() => request.standby?.prepare());
  return { pid: child.pid, ended };
}

/** Returns what makes it read on without a pause: what is left when the program ends is not waited for. */
function read(stream: Readable, onPiece: (piece: Buffer) => number): () => void {
  let isPaced = true;
  stream.on("data", (piece: Buffer) => {
    const restMs = onPiece(piece);
    if (!isPaced || restMs === 0) return;
    stream.pause();
    setTimeout(() => stream.resume(), restMs).unref();
  });
  stream.on("error", () => {}); // The end of a broken pipe is its end.
  return () => {
    isPaced = false;
    stream.resume();
  };
}

interface Watched {
  readonly isSandbox: boolean;
  readonly cause: Promise<EndCause>;
  readonly startedAt: number;
}

async function untilOver(child: Started, { isSandbox, cause: first, startedAt }: Watched): Promise<Ending> {
  const cause = await first;
  if (cause === "exited") await Promise.race([child.closed, passed(closeMs)]);
  const end = isAskedFirst[cause] ? endProcesses : killProcesses;
  const leftBehind = await end({
    root: child.pid,
    live: child.live,
    isKeeper: ({ pid, parent }) => isSandbox && (pid === child.pid || parent === child.pid),
  });
  await Promise.race([child.closed, passed(drainMs)]);
  child.group?.remove();
  child.stdout.destroy();
  child.stderr.destroy();
  const { exitCode, signalName } = cause === "exited" ? child.exit() : noExit;
  return { cause, exitCode, signalName, durationMs: performance.now() - startedAt, leftBehind };
}

const noExit = { exitCode: undefined, signalName: undefined } as const;

/**
 * What is left of a program that ended is in nobody's care, and one that takes too much takes more with every moment. A sandbox
 * takes what is in it along, but a moment after it has ended itself: there too it is looked whether all are gone.
 */
const isAskedFirst: Record<EndCause, boolean> = {
  exited: false,
  called_off: true,
  timed_out: true,
  too_many_processes: false,
  too_much_memory: false,
};

/** Threads count as tasks too, and some programs have many. */
export const tasksOf = ({ processes }: Pick<WatchedLimits, "processes">): number => processes * 4;

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
  exit(): Pick<Ending, "exitCode" | "signalName">;
}

async function start(request: BeginRequest): Promise<Started> {
  const { argv, cwd, env, mark, limits, standby } = request;
  const marked = { ...env, [markName]: mark };
  const isLikeAny = cwd === "/" && limits === undefined;
  const ahead = isLikeAny ? standby?.start({ argv, env: marked }) : undefined;
  const { child, group } = ahead ?? (await startNow({ ...request, env: marked }));
  const { pid, stdout, stderr } = child as ChildProcessByStdio<null, Readable, Readable>;
  if (pid === undefined) {
    const [cause] = (await once(child, "error")) as [NodeJS.ErrnoException];
    group?.remove();
    throw notStarted(argv[0], cause);
  }
  child.on("error", () => {}); // Of a signal that could not be sent; none is sent through it.
  // At once: before it can have been waited for.
  const live = new LiveProcesses(pid, mark, group, { hasAll: ahead !== undefined });
  preferToServer(pid);
  const exited = once(child, "exit");
  const closed = once(child, "close");
  const exit = () => ({ exitCode: child.exitCode ?? undefined, signalName: child.signalCode ?? undefined });
  return { pid, live, group, stdout, stderr, exited, closed, exit };
}

async function startNow({ argv, cwd, env, isSandbox, limits = processLimits }: BeginRequest) {
  const group = openControlGroup(tasksOf(limits));
  // A sandbox takes a while to be made before anything runs in it: there is time to put it into the group from outside.
  const [program, ...args] = (isSandbox ? undefined : group?.enter(argv)) ?? argv;
  try {
    const child = await spawnAlone(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    if (isSandbox && child.pid !== undefined) group?.add(child.pid);
    return { child, group };
  } catch (cause) {
    group?.remove();
    throw notStarted(argv[0], cause as NodeJS.ErrnoException);
  }
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

/** The first that happens: its end, a word from outside, or a limit. */
async function firstCause(child: Started, request: BeginRequest): Promise<EndCause> {
  const { signal, timeoutMs, limits = processLimits } = request;
  let undo = (): void => {};
  const first = new Promise<EndCause>((resolve) => {
    const onAbort = (): void => resolve("called_off");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => resolve("timed_out"), timeoutMs);
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

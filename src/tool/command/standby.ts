// A start that is made ahead: a shell that has entered a control group, and waits to become the next command. Entering takes the
// kernel some ten milliseconds, which nobody has to wait for here, and whatever the command starts is in its group from the first.
// What stands by is nobody's call. It keeps no process from ending, and goes when nobody wants it for a while or its server is gone.
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { type ControlGroup, openControlGroup } from "./control-group.js";
import { spawnAlone } from "./spawn-alone.js";

/**
 * Becomes what it reads, which ends in `exec`. When it reads nothing it leaves the group, `$0`, and takes it away. Read by another
 * program: a shell would read its own input byte by byte.
 */
const waiting = 'eval "$(cat <&3)"; echo $$ >"$0/../cgroup.procs"; rmdir "$0"';

/** What is longer is started as ever: the system's own limits are told apart there. */
const mostUnits = 64 * 1024;
const idleMs = 60_000;

export interface Started {
  /** With nothing to read, and pipes to read from. */
  readonly child: ChildProcess;
  /** All that it starts is in it. */
  readonly group: ControlGroup;
}

/** What a command is started with. It runs in the root directory. */
export interface Becomes {
  readonly argv: readonly string[];
  /** All that it is given. */
  readonly env: Readonly<Record<string, string>>;
}

/** Keeps one start ready. */
export class Standby {
  readonly #tasks: number;
  #ready: Started | undefined;
  #isPreparing = false;
  #idle: NodeJS.Timeout | undefined;

  /** `tasks`: the most that a command may have, processes and threads. */
  constructor(tasks: number) {
    this.#tasks = tasks;
  }

  /** The command, started. Undefined where nothing is ready: never waits. */
  start(command: Becomes): Started | undefined {
    const line = lineOf(command);
    const ready = this.#ready;
    if (ready === undefined || line === undefined) return undefined;
    this.#forget();
    // One that could not enter, or that somebody has ended.
    if (!ready.group.pids().includes(ready.child.pid!)) {
      dismiss(ready);
      return undefined;
    }
    for (const holder of holders(ready.child)) holder.ref();
    inputOf(ready.child).end(line);
    return ready;
  }

  /** To be called when a command is over: the next one may come soon. Nobody needs to wait for it. */
  async prepare(): Promise<void> {
    if (this.#ready !== undefined || this.#isPreparing) return;
    this.#isPreparing = true;
    try {
      this.#ready = await prepared(this.#tasks);
      this.#ready?.child.once("exit", this.#onEnd);
      this.#idle = setTimeout(() => this.dismiss(), idleMs).unref();
    } finally {
      this.#isPreparing = false;
    }
  }

  dismiss(): void {
    const ready = this.#ready;
    this.#forget();
    if (ready) dismiss(ready);
  }

  #forget(): void {
    clearTimeout(this.#idle);
    this.#ready?.child.off("exit", this.#onEnd);
    this.#ready = undefined;
  }

  /** Somebody has ended what stood by. */
  readonly #onEnd = (): void => {
    this.#ready?.group.remove();
    this.#forget();
  };
}

/** Undefined where there is no control group to be had, or nothing can be started now. */
async function prepared(tasks: number): Promise<Started | undefined> {
  const group = openControlGroup(tasks);
  if (group === undefined) return undefined;
  const [program, ...args] = group.enter(["/bin/sh", "-c", waiting, group.directory]);
  try {
    const stdio = ["ignore", "pipe", "pipe", "pipe"] as const;
    const child = await spawnAlone(program, args, { cwd: "/", env: {}, detached: true, stdio });
    child.on("error", () => {});
    if (child.pid === undefined) throw new Error("It could not be started");
    inputOf(child).on("error", () => {}); // It has ended, which is seen otherwise.
    for (const holder of holders(child)) holder.unref();
    return { child, group };
  } catch {
    group.remove();
    return undefined;
  }
}

function dismiss({ child, group }: Started): void {
  inputOf(child).end();
  child.once("exit", () => group.remove()); // Should it not have come to that itself.
}

const inputOf = ({ stdio }: ChildProcess): Socket => stdio[3] as Socket;

/** What keeps the server's process from ending. */
const holders = (child: ChildProcess): { ref(): unknown; unref(): unknown }[] => [
  child,
  child.stdout as Socket,
  child.stderr as Socket,
  inputOf(child),
];

/** In braces: should the server die while it says this, half of it is no command. Undefined for what cannot be said so. */
function lineOf({ argv, env }: Becomes): string | undefined {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = ["env", "-i", ...variables, ...argv];
  const units = words.reduce((sum, word) => sum + word.length, 0);
  if (units > mostUnits || words.some((word) => word.includes("\0"))) return undefined;
  // `env` would take the one for an option, the other for a variable.
  if (variables.some((variable) => variable.startsWith("-")) || argv[0]?.includes("=")) return undefined;
  return `{ exec 3<&-; exec ${words.map(quoted).join(" ")}\n}`;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

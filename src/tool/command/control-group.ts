// The kernel's own bound on how many tasks a command has, and its own list of them, whatever they do to get away. To be had where
// the server may make control groups, which mostly means that it runs as root; there no other limit of the kernel binds.
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface ControlGroup {
  /** Its path. */
  readonly directory: string;
  /** The command as one that enters the group first: nothing that it starts can be outside. */
  enter(argv: readonly [string, ...string[]]): readonly [string, ...string[]];
  /** Takes a process in, and what it starts from then on. Takes the kernel a while: nobody waits for it. */
  add(pid: number): void;
  /** Of the processes that are in it. */
  pids(): readonly number[];
  /** To be called when they have ended. Nobody needs to wait for it. */
  remove(): void;
}

const mount = "/sys/fs/cgroup";
const shell = "/bin/sh";
/** `$0` is the file to write to. A command that could not enter runs all the same: it is watched besides. */
const entering = 'echo $$ >"$0" 2>/dev/null; exec "$@"';
const removals = { times: 20, everyMs: 25 } as const;

/** Undefined where there is none to be had. `tasks`: processes and their threads. */
export function openControlGroup(tasks: number): ControlGroup | undefined {
  const directory = makeGroup(tasks);
  if (directory === undefined) return undefined;
  const members = join(directory, "cgroup.procs");
  return {
    directory,
    enter: (argv) => [shell, "-c", entering, members, ...argv],
    // What has ended in the meantime cannot enter.
    add: (pid) => void writeFile(members, String(pid)).catch(() => {}),
    pids: () => read(members).split("\n").filter(Boolean).map(Number),
    remove: () => removeSoon(directory, removals.times),
  };
}

/** What has ended leaves it a moment later. One that is never empty stays until the next start. */
function removeSoon(directory: string, times: number): void {
  if (removed(directory) || times === 0) return;
  setTimeout(() => removeSoon(directory, times - 1), removals.everyMs).unref();
}

/** How the path of each group of this server begins. Undefined where there is none to be had. */
export function controlGroupPrefix(): string | undefined {
  const parent = ownGroup();
  return parent === undefined ? undefined : join(parent, `heddle-${process.pid}-`);
}

function makeGroup(tasks: number): string | undefined {
  const parent = ownGroup();
  if (parent === undefined) return undefined;
  removeStale(parent);
  const directory = join(parent, `heddle-${process.pid}-${randomUUID()}`);
  try {
    mkdirSync(directory);
    writeFileSync(join(directory, "pids.max"), String(tasks));
    return directory;
  } catch {
    // Not allowed, or without the controller that counts.
    removed(directory);
    return undefined;
  }
}

/** `8:pids:/a` names a group of the older kind, `0::/a` one of the newer. */
function ownGroup(): string | undefined {
  const lines = read("/proc/self/cgroup").split("\n");
  const older = lines.map((line) => /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(\/.*)$/.exec(line)?.[1]).find(Boolean);
  if (older !== undefined) return join(mount, "pids", older);
  const newer = lines.map((line) => /^0::(\/.*)$/.exec(line)?.[1]).find(Boolean);
  return newer === undefined ? undefined : join(mount, newer);
}

let isCleared = false;

/** Those of a server that was killed. */
function removeStale(parent: string): void {
  if (isCleared) return;
  isCleared = true;
  for (const name of names(parent)) {
    const [, pid] = /^heddle-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && read(`/proc/${pid}/stat`) === "") removed(join(parent, name));
  }
}

function removed(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

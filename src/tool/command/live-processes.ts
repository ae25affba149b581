// Which processes belong to a call: the one that was started, its process group and session, whatever descends from them, and
// whatever carries the call's mark in its environment or is in its control group, also after its parents are gone. Where there is
// no control group, a process that has cleared its environment, made a session of its own and lost its parent between two looks
// is not found; in a sandbox nothing is lost, for everything there ends with the sandbox.
import { readdirSync, readFileSync } from "node:fs";
import type { ControlGroup } from "./control-group.js";

/** The variable that marks the processes of a call. */
export const markName = "HEDDLE_CALL";

export interface LiveProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Resident memory. */
  readonly bytes: number;
}

interface Entry extends LiveProcess {
  readonly session: number;
  /** With the pid it names a process for good: pids are used again. */
  readonly startedAt: string;
}

const pageBytes = 4096;
const unmarked = new Map<number, string>();

/** The processes of one call, found anew with every look. Where there is no /proc only its process group is known. */
export class LiveProcesses {
  readonly #root: number;
  readonly #mark: string;
  readonly #known = new Map<number, string>();
  readonly #rootStartedAt: string | undefined;
  readonly #group: ControlGroup | undefined;

  /** Contract: the process that was started has not been waited for yet, so that its pid is its own. */
  constructor(root: number, callMark: string, group?: ControlGroup) {
    this.#root = root;
    this.#group = group;
    this.#mark = `${markName}=${callMark}`;
    this.#rootStartedAt = entryOf(read(`/proc/${root}/stat`))?.startedAt;
  }

  /** Those that run: one that has ended and waits to be noticed is none. */
  look(): readonly LiveProcess[] {
    const entries = readEntries();
    if (entries.length === 0) return groupAlone(this.#root);
    // A pid is free again when its process, group and session are gone. Then it says nothing about whom it names.
    const isReused = entries.some(({ pid, startedAt }) => pid === this.#root && startedAt !== this.#rootStartedAt);
    const root = isReused ? undefined : this.#root;
    const own = new Set(this.#group?.pids());
    for (const entry of entries) if (!own.has(entry.pid) && this.#isOwn(entry, root)) own.add(entry.pid);
    // Children of what was found. A parent may have a larger pid than its child: until nothing is added.
    for (let before = -1; before !== own.size; ) {
      before = own.size;
      for (const { pid, parent } of entries) if (own.has(parent)) own.add(pid);
    }
    const found = entries.filter(({ pid }) => own.has(pid));
    this.#known.clear();
    for (const { pid, startedAt } of found) this.#known.set(pid, startedAt);
    return found;
  }

  #isOwn(entry: Entry, root: number | undefined): boolean {
    const { pid, group, session, startedAt } = entry;
    if (pid === root || group === root || session === root) return true;
    return this.#known.get(pid) === startedAt || environmentOf(entry)?.includes(this.#mark) === true;
  }
}

/** Without /proc: whether anything of the process group runs. */
function groupAlone(root: number): readonly LiveProcess[] {
  try {
    process.kill(-root, 0);
    return [{ pid: root, parent: 0, group: root, bytes: 0 }];
  } catch {
    return [];
  }
}

/** Most processes of a machine are nobody's call; their environment is read once. */
function environmentOf({ pid, startedAt }: Entry): string[] | undefined {
  if (unmarked.get(pid) === startedAt) return undefined;
  const variables = read(`/proc/${pid}/environ`)?.split("\0");
  if (variables?.some((variable) => variable.startsWith(`${markName}=`))) return variables;
  unmarked.set(pid, startedAt);
  return undefined;
}

function readEntries(): Entry[] {
  const pids = directory("/proc").filter((name) => /^\d+$/.test(name));
  if (unmarked.size > 2 * pids.length + 64) unmarked.clear();
  return pids.flatMap((pid) => entryOf(read(`/proc/${pid}/stat`)) ?? []);
}

/** `pid (name) state parent group session …`: the name may hold anything. */
function entryOf(stat: string | undefined): Entry | undefined {
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  return {
    pid: Number.parseInt(stat, 10),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startedAt: fields[19]!,
    bytes: Number(fields[21]) * pageBytes,
  };
}

/** A process may be gone, or be somebody else's. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

function directory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

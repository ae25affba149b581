// The processes of this machine, as /proc tells of them. Reading the table takes milliseconds, and many look at it at the same
// time: whoever can do with one that is a little older shares it.
import { readdirSync, readFileSync } from "node:fs";

/** The variable that marks the processes of a call. */
export const markName = "HEDDLE_CALL";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Resident memory. */
  readonly bytes: number;
  /** With the pid it names a process for good: pids are used again. */
  readonly startedAt: string;
}

const pageBytes = 4096;

interface Table {
  /** When reading it began, as `performance.now()` has it. */
  readonly takenAt: number;
  readonly tookMs: number;
  readonly entries: readonly ProcessEntry[];
}

let table: Table = { takenAt: Number.NEGATIVE_INFINITY, tookMs: 0, entries: [] };

export interface TableAge {
  /** It is not from before then. */
  readonly since: number;
  /** It is not much older than that. */
  readonly maxAgeMs: number;
}

/** Reading it takes so much of the time at most, however many ask for it all the time, unless it would be old by then. */
const readingShare = 1 / 8;
const oldMs = 50;

/** Those that run; empty where there is no /proc. */
export function processTable({ since, maxAgeMs }: TableAge): readonly ProcessEntry[] {
  const now = performance.now();
  const oldest = now - Math.max(maxAgeMs, Math.min(table.tookMs / readingShare, oldMs));
  if (table.takenAt < since || table.takenAt < oldest) {
    const entries = readEntries();
    table = { takenAt: now, tookMs: performance.now() - now, entries };
  }
  return table.entries;
}

/** When a process was started, as the table has it. Undefined when it has ended, also when nobody has waited for it yet. */
export const startOf = (pid: number): string | undefined => statOf(pid)?.startedAt;

/** Those of them that run. */
export const entriesOf = (pids: readonly number[]): ProcessEntry[] => pids.flatMap((pid) => statOf(pid) ?? []);

function readEntries(): ProcessEntry[] {
  const pids = directory("/proc").filter((name) => /^\d+$/.test(name));
  if (marks.size > 2 * pids.length + 64) marks.clear();
  return entriesOf(pids.map(Number));
}

/** `pid (name) state parent group session …`: the name may hold anything. One that waits to be noticed has ended. */
function statOf(pid: number): ProcessEntry | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startedAt: fields[19]!,
    bytes: Number(fields[21]) * pageBytes,
  };
}

const marks = new Map<number, { readonly startedAt: string; readonly mark: string | undefined }>();

/**
 * What a process's environment was marked with when it was first asked for. Read once for each: most of a machine are nobody's
 * call, and one that is does not get out of it by clearing its environment later.
 */
export function markOf({ pid, startedAt }: ProcessEntry): string | undefined {
  const known = marks.get(pid);
  if (known?.startedAt === startedAt) return known.mark;
  const variables = read(`/proc/${pid}/environ`)?.split("\0");
  const mark = variables?.find((variable) => variable.startsWith(`${markName}=`))?.slice(markName.length + 1);
  marks.set(pid, { startedAt, mark });
  return mark;
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

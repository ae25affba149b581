// Who owns a data directory: one process, named so that a dead one is told from a living one even when its pid is in use
// again. Where there is no /proc, the pid alone must do.
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { HeddleError } from "../thread/errors.js";

export interface Owner {
  readonly pid: number;
  /** Ticks from boot to the start of the process; empty where that is not known. */
  readonly startTime: string;
  readonly host: string;
  /** Changes with every boot; empty where that is not known. */
  readonly bootId: string;
  /** When it took the directory, RFC 3339. */
  readonly since: string;
}

export const thisProcess = (): Owner => ({
  pid: process.pid,
  startTime: startTimeOf(process.pid) ?? "",
  host: hostname(),
  bootId: readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "",
  since: new Date().toISOString(),
});

/**
 * Whether the owner still runs, seen from `here`. A process of another host cannot be seen; one of an earlier boot of this
 * host is gone.
 */
export function ownerState(owner: Owner, here: Owner): "alive" | "dead" | "elsewhere" {
  if (owner.host !== here.host) return "elsewhere";
  if (owner.bootId !== here.bootId) return "dead";
  const startTime = startTimeOf(owner.pid);
  if (startTime === ended) return "dead";
  if (startTime !== undefined && owner.startTime !== "") return startTime === owner.startTime ? "alive" : "dead";
  return isRunning(owner.pid) ? "alive" : "dead";
}

export const sameOwner = (a: Owner, b: Owner): boolean =>
  a.pid === b.pid && a.startTime === b.startTime && a.host === b.host && a.since === b.since;

export const encodeOwner = (owner: Owner): Buffer => Buffer.from(JSON.stringify(owner));

export const decodeOwner = (record: Buffer): Owner => JSON.parse(record.toString("utf8"));

export const ownerName = ({ pid, host, since }: Owner): string => `process ${pid} on ${host}, since ${since}`;

export function directoryInUse(path: string, owner: Owner, state: "alive" | "elsewhere"): HeddleError {
  const name = ownerName(owner);
  const advice =
    state === "alive"
      ? "stop it, or name another directory"
      : "it cannot be seen from this host; if you know that it has ended, start once with take-over";
  return new HeddleError("directory_in_use", `${path} is in use by ${name}: ${advice}`, {
    detail: { path, owner: name },
  });
}

/** Of a process that is over, and that its parent has not noticed yet. */
const ended = "ended";

/** Field 22 of /proc/<pid>/stat. The second field is the command in parentheses, which may hold spaces and parentheses. */
function startTimeOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  const afterCommand = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return afterCommand?.[0] === "Z" || afterCommand?.[0] === "X" ? ended : afterCommand?.[22 - 3];
}

/** Signal 0 only asks. EPERM is a process of another user: it runs. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

// What work leaves behind in this process: children and open descriptors, as Linux tells of them.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect, vi } from "vitest";

/** Where /proc is, what is left behind can be seen. */
export const canSeeLeftovers = process.platform === "linux";

/** How long the system may take to clear away what has been closed or killed. */
const clearedWithinMs = 5_000;

/**
 * Resolves once nothing is there that was not there before the work began; else the test fails, and names it. What stands by for the
 * next command (src/tool/command/standby.ts) is nobody's work, and is ended here, each time anew: it may come after the work is over.
 */
export async function leavesNothing<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!canSeeLeftovers) return work();
  const before = new Set(whatIsOpen());
  const result = await work();
  const clear = () => {
    for (const pid of standbyShells()) process.kill(-pid, "SIGKILL");
    expect(whatIsOpen().filter((each) => !before.has(each))).toEqual([]);
  };
  await vi.waitFor(clear, { timeout: clearedWithinMs });
  return result;
}

/** Processes, whosever children, whose command line holds the text. */
export const processesWith = (text: string): number[] =>
  pids().filter((pid) => pid !== process.pid && readProc(pid, "cmdline").includes(text));

const whatIsOpen = (): string[] => [...children(), ...descriptors()];

/** Children of this process that stand by for a command. */
export const standbyShells = (): number[] =>
  ownChildren().filter((pid) => readProc(pid, "cmdline").includes('eval "$(cat <&3)"'));

const ownChildren = (): number[] => pids().filter((pid) => parentOf(pid) === process.pid);

const children = (): string[] =>
  ownChildren().map((pid) => `child ${pid} ${readProc(pid, "cmdline").replaceAll("\0", " ")}`);

/** `pid (any name) state parent …` */
const parentOf = (pid: number): number => Number(/^\d+ \(.*\) \S (\d+)/s.exec(readProc(pid, "stat"))?.[1]);

/** By what they stand for: numbers are used again. */
function descriptors(): string[] {
  const seen = new Map<string, number>();
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    const target = linkOf(`/proc/self/fd/${fd}`);
    // The listing's own.
    if (target === undefined || target === `/proc/${process.pid}/fd`) return [];
    seen.set(target, (seen.get(target) ?? 0) + 1);
    return [`descriptor of ${target}, ${seen.get(target)}`];
  });
}

const pids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Empty where the process has ended meanwhile. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

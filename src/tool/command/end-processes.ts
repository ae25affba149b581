// Ends what a call has started, all of it: first asked to, then killed. Looks again until nothing is left, for what is killed
// one by one may start others meanwhile.
import { setTimeout as pause } from "node:timers/promises";
import type { LiveProcess, LiveProcesses } from "./live-processes.js";

export const endLimits = {
  /** Between being asked and being killed. Below the grace that a call has when it is called off. */
  graceMs: 700,
  /** How long killed processes may take to be gone, thousands of them too. One that waits for a broken disk cannot be killed. */
  killMs: 10_000,
} as const;

const longestPauseMs = 16;

export interface Ended {
  /** The process that was started, and the leader of its group. */
  readonly root: number;
  readonly live: LiveProcesses;
  /** Those that must not be asked, for they would take the others along: the keepers of a sandbox. */
  isKeeper(process: LiveProcess): boolean;
}

/** Asks, waits, kills. Resolves with how many could not be ended. */
export async function endProcesses(ended: Ended): Promise<number> {
  const { live, isKeeper } = ended;
  for (const found of live.look()) if (!isKeeper(found)) send(found.pid, "SIGTERM");
  await untilGone(() => live.look().filter((found) => !isKeeper(found)), endLimits.graceMs);
  return killProcesses(ended);
}

/** Kills at once. Resolves with how many could not be ended. */
export async function killProcesses({ root, live }: Ended): Promise<number> {
  const lookAndKill = (): readonly LiveProcess[] => {
    const found = live.look();
    // The group first, and in one go: nothing in it can start others meanwhile.
    if (found.some(({ group }) => group === root)) send(-root, "SIGKILL");
    for (const { pid, group } of found) if (group !== root) send(pid, "SIGKILL");
    return found;
  };
  return untilGone(lookAndKill, endLimits.killMs);
}

/** Looks more and more rarely, and gives up in the end. */
async function untilGone(look: () => readonly LiveProcess[], limitMs: number): Promise<number> {
  const until = performance.now() + limitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const found = look();
    if (found.length === 0 || performance.now() >= until) return found.length;
    await pause(pauseMs);
  }
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone meanwhile.
  }
}

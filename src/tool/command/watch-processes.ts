// Looks at what a command has started while it runs, and says when that is too much. Limits of the kernel are firmer, but those
// on processes count per user and do not bind root, and those on memory count what is only reserved, which some programs do by
// the terabyte. A control group bounds processes where it can be had; elsewhere a storm can grow between two looks.
import { totalmem } from "node:os";
import type { LiveProcesses } from "./live-processes.js";

export interface ProcessLimits {
  /** At the same time. */
  readonly processes: number;
  /** Resident, all together. What processes share counts for each. */
  readonly memoryBytes: number;
}

/** Half of what the server itself may have: of the machine, or of the container that it runs in. */
export const processLimits: ProcessLimits = {
  processes: 512,
  memoryBytes: Math.floor(Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()) / 2),
};

export type Excess = "too_many_processes" | "too_much_memory";

export interface WatchedLimits extends ProcessLimits {
  /** Between two looks. Undefined: as often as it takes while somebody waits. */
  readonly everyMs?: number;
}

const lookEveryMs = 100;
/** A look takes longer on a machine with many processes: at most this share of the time goes into looking. */
const lookingShare = 1 / 20;

/** Calls back once, with the first limit that is passed. The function that it returns ends the watch. */
export function watchProcesses(
  live: LiveProcesses,
  { everyMs = lookEveryMs, ...limits }: WatchedLimits,
  onExcess: (excess: Excess) => void,
): () => void {
  const look = (): void => {
    const startedAt = performance.now();
    const excess = excessOf(live.look(everyMs / 2), limits);
    if (excess) onExcess(excess);
    else timer = setTimeout(look, Math.max(everyMs, (performance.now() - startedAt) / lookingShare));
  };
  let timer = setTimeout(look, everyMs);
  return () => clearTimeout(timer);
}

function excessOf(
  found: ReturnType<LiveProcesses["look"]>,
  { processes, memoryBytes }: ProcessLimits,
): Excess | undefined {
  if (found.length > processes) return "too_many_processes";
  const bytes = found.reduce((sum, process) => sum + process.bytes, 0);
  return bytes > memoryBytes ? "too_much_memory" : undefined;
}

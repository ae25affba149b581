// What this process takes for something: time, and CPU of all its threads.
export interface Took {
  readonly ms: number;
  readonly cpuUs: number;
}

/** Starts. Returns what tells how much it is by then. */
export function stopwatch(): () => Took {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - startedAt, cpuUs: user + system };
  };
}

// A process's anonymous memory: what it holds itself. The pages of LMDB's map are the kernel's, and not counted.
import { readFileSync } from "node:fs";

const sampleMs = 10;

export function anonymousBytes(pid: number): number {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kib === undefined) throw new Error("/proc/PID/status has no RssAnon: the bench needs Linux 4.5 or newer");
  return Number(kib) * 1024;
}

/** The highest value while something runs. */
export async function peakWhile<Result>(
  pid: number,
  run: () => Promise<Result>,
): Promise<{ peak: number; result: Result }> {
  let peak = anonymousBytes(pid);
  const look = () => {
    peak = Math.max(peak, anonymousBytes(pid));
  };
  const timer = setInterval(look, sampleMs);
  try {
    const result = await run();
    look();
    return { peak, result };
  } finally {
    clearInterval(timer);
  }
}

// A log upon a disk that takes its time: what is written while it works is joined, and everything else goes on.
import { setTimeout as sleep } from "node:timers/promises";
import type { EventLog } from "../../src/log/event-log.js";
import { replaced } from "../support/core.js";

/** Each append takes the next of the delays, around and around. */
export function slowLog(log: EventLog, delaysMs: readonly number[]): EventLog {
  let appends = 0;
  const append: EventLog["append"] = async (...args) => {
    const ms = delaysMs[appends++ % delaysMs.length] ?? 0;
    if (ms > 0) await sleep(ms);
    return log.append(...args);
  };
  return replaced(log, { append });
}

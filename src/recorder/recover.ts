// What a start has to do about what the last process left open. A thread that cannot be looked after does not keep the
// others, or the server, from starting: it is reported, and tried again later.
import type { EventLog } from "../log/event-log.js";
import type { Recordings } from "./recordings.js";

/** Threads looked at at once: their writes share commits. */
const atOnce = 64;

export async function recover(log: EventLog, recordings: Recordings): Promise<{ threads: number }> {
  const busy = await log.listBusy();
  for (let from = 0; from < busy.length; from += atOnce) {
    const keys = busy.slice(from, from + atOnce);
    await Promise.all(keys.map((key) => recordings.recover(key)));
  }
  return { threads: busy.length };
}

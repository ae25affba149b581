// A thread's events as they are stored, from the first on, for whoever in the loop waits for what becomes of them.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ThreadEvent } from "../thread/event.js";
import { decodeFrames } from "../thread/frame.js";

const readBytes = 256 * 1024;

/** What is stored together comes together. Ends when the thread is removed; throws what the log throws, also when it is closed. */
export async function* followLog(log: EventLog, key: ThreadKey): AsyncGenerator<Iterable<ThreadEvent>> {
  const never = new AbortController().signal;
  for (let position = 0n; ; ) {
    const span = await log.read(key, position, readBytes);
    if (span) {
      yield decodeFrames(span.bytes);
      position = span.last;
    } else if ((await log.waitBeyond(key, position, never)) === "removed") return;
  }
}

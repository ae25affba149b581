// Threads with a long past, made without waiting for a flush an event.
import { eventKey, threadKey } from "../../src/log/lmdb-keys.js";
import { packSegments } from "../../src/log/segment.js";
import { encodeFrame } from "../../src/thread/frame.js";
import type { ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { openBuiltCore } from "./built.js";
import { storedLines } from "./events.js";

export interface Past {
  readonly events: number;
  /** Events that were appended together, and so lie in one segment. */
  readonly batchEvents: number;
}

export interface FilledThread extends Past {
  readonly threadId: string;
  /** Of all frames together. */
  readonly frameBytes: number;
}

/** Makes the threads in a new data directory. The segments are those that the store itself would have put. */
export async function fillThreads(dir: string, pasts: readonly Past[]): Promise<FilledThread[]> {
  const { threads, close } = await openBuiltCore(dir);
  const ids: string[] = [];
  for (const _ of pasts) ids.push((await threads.create({ threadId: "", title: "bench", labels: {} })).id);
  await close();

  const raw = new RawLmdb(dir);
  const filled: FilledThread[] = [];
  for (const [index, past] of pasts.entries()) filled.push(await fill(raw, ids[index]!, past));
  await raw.close();
  return filled;
}

async function fill(raw: RawLmdb, threadId: string, past: Past): Promise<FilledThread> {
  const thread = threadKey({ tenant: "default", threadId: threadId as ThreadId });
  const puts = [];
  let frameBytes = 0;
  for (let head = 0; head < past.events; head += past.batchEvents) {
    const first = BigInt(head) + 1n;
    const frames = storedLines(threadId, first, past.batchEvents).map(encodeFrame);
    for (const { length } of frames) frameBytes += length;
    for (const segment of packSegments(frames, first)) {
      puts.push({ table: "events" as const, key: eventKey(thread, segment.first), value: segment.value });
    }
  }
  await raw.put(puts);
  return { ...past, threadId, frameBytes };
}

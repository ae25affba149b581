// The list of threads as a stream: a snapshot, page by page, then the latest value of each thread that has changed since it was opened.
// What changes is noted from before the snapshot on, and read after it is noted: nothing falls between the two.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Thread, type WatchThreadsResponseSchema, WireThreadState } from "../thread/schema.js";
import type { Lasting } from "./lasting-streams.js";

export type WatchFrame = MessageInitShape<typeof WatchThreadsResponseSchema>;

interface WatchParts {
  /** A page in order of ids, and the id after which the next one begins: empty on the last. */
  readonly page: (after: string) => Promise<{ threads: Thread[]; nextAfter: string }>;
  /** As it is now. Undefined: it was deleted. */
  readonly read: (threadId: string) => Promise<Thread | undefined>;
  /** Names of threads that have changed. */
  readonly changes: { take(): string | undefined };
  readonly lasting: Lasting;
  readonly busyOnly: boolean;
}

export async function* watchThreads(parts: WatchParts): AsyncGenerator<WatchFrame> {
  const { changes, lasting } = parts;
  try {
    yield { payload: { case: "ready", value: {} } };
    yield* snapshot(parts);
    for (;;) {
      const { end } = lasting;
      if (end === "left") return;
      if (end !== undefined) return yield { payload: { case: "closing", value: { reason: end } } };
      const threadId = changes.take();
      if (threadId !== undefined) yield await latest(threadId, parts);
      else if (await lasting.wait()) yield { payload: { case: "heartbeat", value: {} } };
    }
  } finally {
    lasting.leave();
  }
}

/** One page is held at a time. A stream that ends meanwhile has no complete one. */
async function* snapshot({ page, lasting, busyOnly }: WatchParts): AsyncGenerator<WatchFrame> {
  let after = "";
  do {
    const { threads, nextAfter } = await page(after);
    for (const thread of threads) {
      if (lasting.end !== undefined) return;
      if (!busyOnly || thread.state !== WireThreadState.IDLE) yield { payload: { case: "thread", value: thread } };
    }
    after = nextAfter;
  } while (after !== "");
  yield { payload: { case: "snapshotComplete", value: {} } };
}

async function latest(threadId: string, { read }: WatchParts): Promise<WatchFrame> {
  const thread = await read(threadId);
  return thread
    ? { payload: { case: "thread", value: thread } }
    : { payload: { case: "deletedThreadId", value: threadId } };
}

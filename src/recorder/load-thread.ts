// A thread as the log has it: its document, and, where a run is open, the fold of its events since the run began.
import { create, fromBinary } from "@bufbuild/protobuf";
import type { EventLog, StoredThread, ThreadKey } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { decodeFrames } from "../thread/frame.js";
import type { ToolCallId } from "../thread/ids.js";
import type { OpenCall } from "../thread/open-call.js";
import type { Redactor } from "../thread/redact.js";
import { ContentInfoSchema, ThreadDocumentSchema, ToolCallDocumentSchema } from "../thread/schema.js";
import { ThreadState } from "../thread/state.js";
import { Inputs } from "./contents.js";
import { Redactions } from "./redactions.js";
import type { ThreadView } from "./thread-draft.js";

const readBytes = 256 * 1024;

/** The thread, or `thread_not_found` / `thread_deleted`. */
export async function existingThread(log: EventLog, key: ThreadKey): Promise<StoredThread> {
  const stored = await log.readThread(key);
  if (!stored) throw new HeddleError("thread_not_found", `There is no thread ${key.threadId}`);
  if (stored.removed) throw new HeddleError("thread_deleted", `Thread ${key.threadId} was deleted`);
  return stored;
}

export async function loadThread(log: EventLog, key: ThreadKey, redactor: Redactor): Promise<ThreadView> {
  const stored = await existingThread(log, key);
  const document = fromBinary(ThreadDocumentSchema, stored.document);
  const state = new ThreadState();
  if (document.runStartedSequence > 0n) {
    await foldSince(log, key, { state, after: document.runStartedSequence - 1n, head: stored.head });
    for (const open of state.calls.values()) state.calls.set(open.call.id, await withContents(log, key, open));
  }
  const inputs = new Inputs();
  for (const open of state.calls.values()) await rehashInput(log, key, { open, inputs });
  return { threadId: key.threadId, head: stored.head, document, state, redactions: new Redactions(redactor), inputs };
}

async function foldSince(
  log: EventLog,
  key: ThreadKey,
  fold: { state: ThreadState; after: bigint; head: bigint },
): Promise<void> {
  let position = fold.after;
  while (position < fold.head) {
    const span = await log.read(key, position, readBytes);
    if (!span) return;
    for (const event of decodeFrames(span.bytes)) fold.state.apply(event);
    position = span.last;
  }
}

/** Bodies are not on the stream, so that the fold does not know them: the call's document does. */
async function withContents(log: EventLog, key: ThreadKey, open: OpenCall): Promise<OpenCall> {
  const found = await log.readCall(key.tenant, open.call.id as ToolCallId);
  if (!found) return open;
  const { contents } = fromBinary(ToolCallDocumentSchema, found.document);
  return {
    ...open,
    contents: contents.map(({ info, receivedBytes }) => ({
      info: info ?? create(ContentInfoSchema),
      receivedBytes: Number(receivedBytes),
    })),
  };
}

async function rehashInput(
  log: EventLog,
  key: ThreadKey,
  { open, inputs }: { open: OpenCall; inputs: Inputs },
): Promise<void> {
  if (open.state !== "created" || !open.contents.some(({ info }) => info.contentId === "input")) return;
  const body = { callId: open.call.id as ToolCallId, contentId: "input" };
  for (let offset = 0; ; ) {
    const bytes = await log.readBody(key, body, { offset, maxBytes: readBytes });
    if (!bytes || bytes.length === 0) return;
    inputs.add(open.call.id, bytes);
    offset += bytes.length;
  }
}

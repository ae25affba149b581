// A thread as the log has it: its document, and, where a run is open, the fold of its events since the run began.
import { create, fromBinary } from "@bufbuild/protobuf";
import type { EventLog, StoredThread, ThreadKey } from "../log/event-log.js";
import { HeddleError, isError } from "../thread/errors.js";
import { decodeFrames } from "../thread/frame.js";
import type { ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import type { OpenCall, OpenContent } from "../thread/open-call.js";
import type { Redactor } from "../thread/redact.js";
import {
  ContentInfoSchema,
  type StoredContent,
  type ThreadDocument,
  ThreadDocumentSchema,
  ToolCallDocumentSchema,
} from "../thread/schema.js";
import { ThreadState } from "../thread/state.js";
import { stateFromWire } from "../thread/tool-call.js";
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
  const state =
    document.runStartedSequence > 0n ? await openState(log, key, { document, head: stored.head }) : new ThreadState();
  const inputs = new Inputs();
  for (const open of state.calls.values()) await rehashInput(log, key, { open, inputs });
  return { threadId: key.threadId, head: stored.head, document, state, redactions: new Redactions(redactor), inputs };
}

interface OpenThread {
  readonly document: ThreadDocument;
  readonly head: bigint;
}

/**
 * What is open in the thread's run. Where its events cannot be read any more, its documents still know the run and its calls:
 * enough to complete them (T1), and to free the thread.
 */
async function openState(log: EventLog, key: ThreadKey, { document, head }: OpenThread): Promise<ThreadState> {
  try {
    const state = new ThreadState();
    await foldSince(log, key, { state, after: document.runStartedSequence - 1n, head });
    for (const open of [...state.calls.values()]) state.calls.set(open.call.id, await withContents(log, key, open));
    return state;
  } catch (error) {
    if (isError(error, "storage_failed") || isError(error, "thread_deleted")) throw error;
    return stateFromDocuments(log, key, document);
  }
}

async function stateFromDocuments(log: EventLog, key: ThreadKey, document: ThreadDocument): Promise<ThreadState> {
  const state = new ThreadState();
  state.run = { runId: document.runId, startedSequence: document.runStartedSequence, suspended: false };
  for (let after = document.runStartedSequence; ; ) {
    const page = await log.listCalls(key, { after, limit: limits.pageSize.max });
    for (const bytes of page) {
      const { toolCall, contents, claim } = fromBinary(ToolCallDocumentSchema, bytes);
      if (!toolCall) continue;
      after = toolCall.createdSequence;
      const callState = stateFromWire(toolCall.state);
      if (callState !== "over") {
        state.calls.set(toolCall.id, {
          state: callState,
          call: toolCall,
          contents: openContents(contents),
          ...(claim && { claim }),
          outputBytes: {},
          inputDeltaBytes: 0,
        });
      }
    }
    if (page.length < limits.pageSize.max) return state;
  }
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
  const { toolCall, contents, claim } = fromBinary(ToolCallDocumentSchema, found.document);
  const call = { ...open.call, providerCallId: toolCall?.providerCallId ?? "" };
  return { ...open, call, contents: openContents(contents), ...(claim && { claim }) };
}

const openContents = (contents: readonly StoredContent[]): OpenContent[] =>
  contents.map(({ info, receivedBytes }) => ({
    info: info ?? create(ContentInfoSchema),
    receivedBytes: Number(receivedBytes),
  }));

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

// A message becomes a run: remembered by its request id, echoed in RunStarted, stored with the user's words in one append.
import { createHash } from "node:crypto";
import { create, toBinary, toJson } from "@bufbuild/protobuf";
import { refuseIfBusy } from "../recorder/recordings.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError } from "../thread/errors.js";
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import { newId } from "../thread/ids.js";
import type { MessageImage } from "../thread/images.js";
import { limits } from "../thread/limits.js";
import {
  RequestDocumentSchema,
  type RunDocument,
  RunDocumentSchema,
  type RunOptions,
  RunOptionsSchema,
} from "../thread/schema.js";
import { now } from "../thread/time.js";
import { type PastEntry, recordMessage, recordPast } from "./past.js";

/** Contract: checked (threads.ts). */
export interface SendRequest {
  readonly requestId: string;
  readonly text: string;
  /** With them, `text` may be empty. */
  readonly images?: readonly MessageImage[];
  readonly options: RunOptions | undefined;
  /** What was said and called before. With it, `text` may be empty: the model answers to what came last. */
  readonly past?: readonly PastEntry[];
  /** Goes into the same append. `first`: the sequence of RunStarted. */
  readonly note?: (draft: ThreadDraft, begun: { readonly runId: string; readonly first: bigint }) => void;
}

interface Resolved {
  /** With the defaults filled in. */
  readonly options: RunOptions;
  readonly modelName: string;
  /** No more runs fit into this process. */
  readonly isFull: boolean;
  /** The call whose task it works on. Empty: a message starts it. */
  readonly parentToolCallId?: string;
}

/** `started` is undefined when the same request has started a run before. */
export function startRun(
  draft: ThreadDraft,
  request: SendRequest,
  { options, modelName, isFull, parentToolCallId = "" }: Resolved,
): { runId: string; started: RunDocument | undefined } {
  const sha256 = hashOf(request);
  const known = draft.document.requests.find(({ requestId }) => requestId === request.requestId);
  if (known) {
    if (!sha256.equals(known.sha256)) throw reused(known.runId);
    return { runId: known.runId, started: undefined };
  }
  refuseIfBusy(draft.document);
  if (isFull)
    throw new HeddleError("limit_exceeded", "The server works on as many runs as it can: try again later", {
      detail: { limit: "runs" },
    });
  const runId = newId();
  const depth = draft.document.parent?.depth ?? 0;
  const run = create(RunDocumentSchema, { options, startTime: now(), parentToolCallId, depth });
  const remembered = create(RequestDocumentSchema, { requestId: request.requestId, runId, sha256 });
  const requests = [...draft.document.requests, remembered].slice(-limits.run.rememberedRequests);
  draft.changeDocument({ run, requests });
  const echo = toJson(RunOptionsSchema, echoed(options)) as Record<string, never>;
  const record = (payload: NonNullable<ThreadEventInit["payload"]>) => draft.record(newEvent({ runId, payload }));
  record({ case: "runStarted", value: { model: modelName, requestId: request.requestId, request: echo } });
  const first = draft.head;
  recordPast(draft, runId, request.past ?? []);
  const { text, images = [] } = request;
  if (text !== "" || images.length > 0) recordMessage(draft, runId, { role: "user", text, images });
  request.note?.(draft, { runId, first });
  return { runId, started: draft.document.run };
}

/** An echo is for reading: what is long is left out, and a long list is shown by its beginning. */
const echoed = (options: RunOptions): RunOptions => ({
  ...options,
  instructions: "",
  allowedTools: options.allowedTools.slice(0, 50),
  ...(options.textFormat && { textFormat: { ...options.textFormat, description: "", schemaJson: "" } }),
});

/** What makes two requests the same, apart from their id. */
function hashOf({ text, options, images = [] }: SendRequest): Buffer {
  const asked = options ? toBinary(RunOptionsSchema, options) : new Uint8Array();
  const hash = createHash("sha256")
    .update(`${Buffer.byteLength(text)}:`)
    .update(text)
    .update(asked);
  if (images.length > 0) hash.update(JSON.stringify(images));
  return hash.digest();
}

const reused = (runId: string): HeddleError =>
  new HeddleError("request_id_reused", "request_id was used for another message: give each message an id of its own", {
    detail: { runId },
  });

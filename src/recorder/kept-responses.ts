// What a thread keeps of a response: where it is in the log, in the thread's document, and what its request said, in a body.
import { create, type JsonObject } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import { type ResponseDocument, ResponseDocumentSchema } from "../thread/schema.js";
import { redactedRequest } from "./request-echo.js";
import type { ThreadDraft } from "./thread-draft.js";

export interface KeptResponse {
  /** The caller waits for it, and nobody else does: it ends with the process. */
  readonly isAttended: boolean;
  /** False: it is deleted once it ends. */
  readonly isStored: boolean;
  /** What is kept with it, for whoever shows it: an object, as JSON. */
  readonly record: string;
}

interface Place {
  readonly runId: string;
  /** Sequence of its first event. */
  readonly first: bigint;
  /** Sequence of the run's first event. */
  readonly runStarted: bigint;
  /** Sequence of the last event that its request made. */
  readonly inputEnd: bigint;
}

/** Responses of one thread that can be asked for. */
const remembered = 1000;

/** Contract: everything that the request itself makes is on the draft. */
export function keepResponse(
  draft: ThreadDraft,
  { record, isAttended, isStored }: KeptResponse,
  { runId, first, runStarted, inputEnd }: Place,
): void {
  const response = create(ResponseDocumentSchema, {
    firstSequence: first,
    runId,
    runStartedSequence: runStarted,
    inputEndSequence: inputEnd,
    unstored: !isStored,
  });
  draft.changeRun({ attended: isAttended });
  draft.changeDocument({ responses: [...draft.document.responses, response].slice(-remembered) });
  // Text by text: what looks like a secret across two of them would take the JSON between them with it.
  const kept = redactedRequest(JSON.parse(record) as JsonObject, (text) => draft.redactions.whole(text));
  const bytes = Buffer.from(JSON.stringify(kept));
  for (let offset = 0; offset < bytes.length; offset += limits.contentChunkBytes)
    draft.addBody({
      ...bodyOf(response),
      offset,
      bytes: bytes.subarray(offset, offset + limits.contentChunkBytes),
    });
}

/** What was kept with it. */
export async function readRecord(log: EventLog, key: ThreadKey, response: ResponseDocument): Promise<string> {
  const pieces: Uint8Array[] = [];
  for (let offset = 0; ; ) {
    const piece = await log.readBody(key, bodyOf(response), { offset, maxBytes: limits.contentChunkBytes });
    if (!piece?.length) return Buffer.concat(pieces).toString("utf8");
    pieces.push(piece);
    offset += piece.length;
  }
}

const bodyOf = ({ runId, firstSequence }: Pick<ResponseDocument, "runId" | "firstSequence">) => ({
  callId: runId as ToolCallId,
  contentId: `response-${firstSequence}`,
});

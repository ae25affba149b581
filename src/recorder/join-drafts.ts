// Drafts that were accepted one upon the other, as what the log is given.
import type { AppendBatch, BodyWrite, CallWrite } from "../log/event-log.js";
import { encode } from "../thread/encode.js";
import { ForkedMap } from "../thread/forked-map.js";
import type { ToolCallId } from "../thread/ids.js";
import type { OpenCall } from "../thread/open-call.js";
import { ThreadDocumentSchema, ToolCallDocumentSchema } from "../thread/schema.js";
import { isBusy, type ThreadDraft, type ThreadView } from "./thread-draft.js";

/** Everything that consecutive drafts add to the thread they began on, as one append. */
export function joinDrafts(before: ThreadView, drafts: readonly ThreadDraft[]): AppendBatch {
  const frames: Buffer[] = [];
  const bodies: BodyWrite[] = [];
  const touched = new ForkedMap<string, OpenCall>();
  let after = before;
  for (const draft of drafts) {
    for (const frame of draft.frames) frames.push(frame);
    for (const body of draft.bodies) bodies.push(body);
    for (const open of draft.touched) touched.set(open.call.id, open);
    after = draft;
  }
  const calls: CallWrite[] = [];
  for (const open of touched.values()) calls.push(callWrite(open));
  const busy = isBusy(after.document);
  return {
    frames,
    bodies,
    calls,
    document: after.document === before.document ? undefined : encode(ThreadDocumentSchema, after.document),
    busy: busy === isBusy(before.document) ? undefined : busy,
  };
}

const callWrite = ({ call, contents, claim }: OpenCall): CallWrite => ({
  callId: call.id as ToolCallId,
  createdSequence: call.createdSequence,
  document: encode(ToolCallDocumentSchema, {
    $typeName: "heddle.storage.v1.ToolCallDocument",
    toolCall: call,
    contents: contents.map(({ info, receivedBytes }) => ({
      $typeName: "heddle.storage.v1.StoredContent" as const,
      info,
      receivedBytes: BigInt(receivedBytes),
    })),
    claim,
  }),
});

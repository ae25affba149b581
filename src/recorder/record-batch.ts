// One batch of a producer: whether the thread is still its own, whether the batch is the next one or was sent before, and what it may hold.
import { HeddleError } from "../thread/errors.js";
import { caseName, isProcessPayload, subjectId, type ThreadEvent } from "../thread/event.js";
import { isUuid, type ToolCallId } from "../thread/ids.js";
import type { ContentChunk, LeaseDocument, ThreadDocument } from "../thread/schema.js";
import type { ThreadDraft } from "./thread-draft.js";

/** What a producer sends to show that the thread is its own. */
export interface Hold {
  readonly recordingId: string;
  readonly epoch: bigint;
}

export interface Batch extends Hold {
  readonly producerSequence: bigint;
  readonly events: readonly ThreadEvent[];
  readonly contents: readonly ContentChunk[];
}

export interface Assigned {
  readonly firstSequence: bigint;
  readonly lastSequence: bigint;
}

/** Of the calls that it makes. */
export const createdIds = (events: readonly ThreadEvent[]): ToolCallId[] =>
  events.flatMap(({ payload }) =>
    payload.case === "toolCallCreated" && isUuid(payload.value.toolCallId)
      ? [payload.value.toolCallId as ToolCallId]
      : [],
  );

interface Recorded {
  readonly assigned: Assigned;
  /** The lease under which it is, unless that has ended. */
  readonly lease: LeaseDocument | undefined;
}

/** `reused` is a call of the batch whose id is known already. */
export function recordBatch(draft: ThreadDraft, batch: Batch, reused: string | undefined): Recorded {
  const { producerSequence, events, contents } = batch;
  const { lastLease } = draft.document;
  // Sent again because the answer was lost: answer as the first time, also when the lease was lost since.
  if (isHeldBy(lastLease, batch) && isRepetition(lastLease, producerSequence))
    return { assigned: lastLease, lease: undefined };
  const lease = requireHold(draft.document, batch);
  if (isRepetition(lease, producerSequence)) return { assigned: lease, lease };
  if (events.length === 0 && contents.length === 0 && producerSequence === 0n) return { assigned: nothing, lease };
  if (producerSequence !== lease.producerSequence + 1n) throw sequenceGap(lease);
  if (reused !== undefined) throw reusedCall(events, reused);
  refuseProcesses(events);
  const before = draft.head;
  draft.recordBatch(events, contents);
  const assigned = events.length > 0 ? { firstSequence: before + 1n, lastSequence: draft.head } : nothing;
  draft.changeDocument({ lease: { ...lease, producerSequence, ...assigned } });
  return { assigned, lease };
}

/** What runs in the background of a thread is known by whoever runs it: a producer's process would outlive its lease. */
function refuseProcesses(events: readonly ThreadEvent[]): void {
  const eventIndex = events.findIndex(({ payload }) => isProcessPayload(payload));
  const event = events[eventIndex];
  if (!event) return;
  const name = caseName(event.payload);
  const rule = "processes are recorded by Heddle alone";
  throw new HeddleError("invalid_event", `events[${eventIndex}] (${name}): ${rule}`, {
    detail: { eventIndex, event: name, subjectId: subjectId(event).slice(0, 64), state: "", rule },
  });
}

const nothing: Assigned = { firstSequence: 0n, lastSequence: 0n };

const isRepetition = (lease: LeaseDocument, producerSequence: bigint): boolean =>
  producerSequence > 0n && producerSequence === lease.producerSequence;

export const isHeldBy = (lease: LeaseDocument | undefined, hold: Hold): lease is LeaseDocument =>
  lease !== undefined && lease.recordingId === hold.recordingId && lease.epoch === hold.epoch;

const sequenceGap = ({ epoch, producerSequence }: LeaseDocument): HeddleError =>
  new HeddleError(
    "producer_sequence_gap",
    `producer_sequence must be ${producerSequence + 1n}, one more than the last stored batch`,
    { detail: { epoch, producerSequence } },
  );

function reusedCall(events: readonly ThreadEvent[], callId: string): HeddleError {
  const rule = "a tool_call_id is never used twice: make a new one";
  const eventIndex = events.findIndex(
    (event) => event.payload.case === "toolCallCreated" && subjectId(event) === callId,
  );
  const event = caseName(events[eventIndex]!.payload);
  return new HeddleError("transition_violation", `events[${eventIndex}] (${event}): ${rule}`, {
    detail: { eventIndex, event, subjectId: callId, state: "known", rule },
  });
}

/** Throws `recording_fenced`. */
export function requireHold({ lease, lastLease, epoch }: ThreadDocument, hold: Hold): LeaseDocument {
  if (isHeldBy(lease, hold)) return lease;
  const producerSequence = isHeldBy(lastLease, hold) ? lastLease.producerSequence : 0n;
  throw new HeddleError(
    "recording_fenced",
    "The recording has lost the thread: its lease ended, or it was closed or taken over. Open a new one",
    { detail: { epoch, producerSequence } },
  );
}

// Recordings: the hold that a producer outside has on a thread. A lease that must be renewed, an epoch that fences off
// whoever lost it, and batches that are stored once however often they are sent.
import { create } from "@bufbuild/protobuf";
import type { ThreadKey } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { caseName, subjectId, type ThreadEvent } from "../thread/event.js";
import { newId, type RecordingId, type ToolCallId } from "../thread/ids.js";
import { type ContentChunk, type LeaseDocument, LeaseDocumentSchema, type ThreadDocument } from "../thread/schema.js";
import { durationFromMs, durationMs } from "../thread/time.js";
import { interruptRun } from "./interrupt.js";
import { type LeaseClock, LeaseClocks } from "./lease-clocks.js";
import type { Recorder } from "./recorder.js";
import type { ThreadDraft } from "./thread-draft.js";

export interface Opened {
  readonly recordingId: string;
  readonly epoch: bigint;
  readonly headSequence: bigint;
  readonly leaseMs: number;
}

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

export class Recordings {
  readonly #recorder: Recorder;
  readonly #clocks: LeaseClocks;

  constructor(recorder: Recorder, options: { clock?: LeaseClock; onError: (error: unknown, key: ThreadKey) => void }) {
    this.#recorder = recorder;
    this.#clocks = new LeaseClocks({
      ...(options.clock && { clock: options.clock }),
      expire: (key, recordingId) =>
        this.#expire(key, recordingId).catch((error: unknown) => {
          options.onError(error, key);
          throw error;
        }),
    });
  }

  async open(key: ThreadKey, request: { producer: string; leaseMs: number; takeOver: boolean }): Promise<Opened> {
    const recordingId = newId<RecordingId>();
    const opened = await this.#recorder.write(key, (draft) => {
      if (request.takeOver)
        endRecording(draft, { reason: "another producer took the thread over", kind: "taken_over" });
      refuseIfBusy(draft.document, draft.state.run?.runId);
      const epoch = draft.document.epoch + 1n;
      const lease = create(LeaseDocumentSchema, {
        recordingId,
        epoch,
        producer: request.producer,
        duration: durationFromMs(request.leaseMs),
      });
      draft.changeDocument({ epoch, lease });
      return { recordingId, epoch, headSequence: draft.head, leaseMs: request.leaseMs };
    });
    this.#clocks.start(key, recordingId, request.leaseMs);
    return opened;
  }

  async record(key: ThreadKey, batch: Batch): Promise<Assigned> {
    // Heard from, whatever comes of the batch: an expiry that is already waiting its turn must see it.
    this.#clocks.renew(batch.recordingId);
    let reused: number | undefined;
    const assigned = await this.#recorder.write(
      key,
      (draft) => recordBatch(draft, batch, reused),
      async () => {
        reused = await this.#firstReusedCall(key, batch.events);
      },
    );
    this.#clocks.renew(batch.recordingId);
    return assigned;
  }

  async close(key: ThreadKey, hold: Hold): Promise<bigint> {
    const head = await this.#recorder.write(key, (draft) => {
      if (draft.document.closedRecordingId === hold.recordingId) return draft.head;
      requireHold(draft.document, hold);
      endRecording(draft, { reason: "the producer closed the recording", kind: "recording_closed" });
      return draft.head;
    });
    this.#clocks.stop(hold.recordingId);
    return head;
  }

  /** After a restart: leases get a full term; runs that were Heddle's own ended with the process. */
  async recover(key: ThreadKey): Promise<void> {
    const { lease, runStartedSequence } = (await this.#recorder.view(key)).document;
    if (lease) this.#clocks.start(key, lease.recordingId, leaseMs(lease));
    else if (runStartedSequence > 0n) {
      await this.#recorder.write(key, (draft) =>
        interruptRun(draft, { reason: "the server stopped", kind: "server_stopped" }),
      );
    }
  }

  /** Recordings whose leases run. */
  get active(): number {
    return this.#clocks.size;
  }

  /** Stops the clocks. Leases stay in the log: the next start gives them a full term. */
  dispose(): void {
    this.#clocks.dispose();
  }

  #expire(key: ThreadKey, recordingId: string): Promise<void> {
    return this.#recorder.write(key, (draft) => {
      const lease = draft.document.lease;
      if (lease?.recordingId !== recordingId || !this.#clocks.isOver(recordingId)) return;
      endRecording(draft, { reason: `${lease.producer} went silent`, kind: "lease_expired" });
    });
  }

  /** A call's id is used once in a tenant, also after the call is over. The place of the first Created that breaks this. */
  async #firstReusedCall(key: ThreadKey, events: readonly ThreadEvent[]): Promise<number | undefined> {
    for (const [index, { payload }] of events.entries()) {
      if (payload.case !== "toolCallCreated") continue;
      if (await this.#recorder.log.readCall(key.tenant, payload.value.toolCallId as ToolCallId)) return index;
    }
    return undefined;
  }
}

function recordBatch(draft: ThreadDraft, batch: Batch, reused: number | undefined): Assigned {
  const lease = requireHold(draft.document, batch);
  const { producerSequence, events, contents } = batch;
  if (events.length === 0 && contents.length === 0 && producerSequence === 0n)
    return { firstSequence: 0n, lastSequence: 0n };
  // Sent again because the answer was lost: answer as the first time.
  if (producerSequence === lease.producerSequence && producerSequence > 0n) return lease;
  if (producerSequence !== lease.producerSequence + 1n) {
    throw new HeddleError(
      "producer_sequence_gap",
      `producer_sequence must be ${lease.producerSequence + 1n}, one more than the last stored batch`,
      {
        detail: { epoch: lease.epoch, producerSequence: lease.producerSequence },
      },
    );
  }
  if (reused !== undefined) throw reusedCall(events, reused);
  const before = draft.head;
  draft.recordBatch(events, contents);
  const assigned =
    events.length > 0
      ? { firstSequence: before + 1n, lastSequence: draft.head }
      : { firstSequence: 0n, lastSequence: 0n };
  draft.changeDocument({ lease: { ...lease, producerSequence, ...assigned } });
  return assigned;
}

function reusedCall(events: readonly ThreadEvent[], eventIndex: number): HeddleError {
  const rule = "a tool_call_id is never used twice: make a new one";
  const event = events[eventIndex]!;
  return new HeddleError("transition_violation", `events[${eventIndex}] (${caseName(event.payload)}): ${rule}`, {
    detail: { eventIndex, event: caseName(event.payload), subjectId: subjectId(event), state: "known", rule },
  });
}

function requireHold(document: ThreadDocument, hold: Hold): LeaseDocument {
  const lease = document.lease;
  if (lease?.recordingId === hold.recordingId && lease.epoch === hold.epoch) return lease;
  throw new HeddleError(
    "recording_fenced",
    "The recording has lost the thread: its lease ended, or it was closed or taken over. Open a new one",
    {
      detail: { epoch: document.epoch, producerSequence: lease?.epoch === hold.epoch ? lease.producerSequence : 0n },
    },
  );
}

export function refuseIfBusy(document: ThreadDocument, runId: string | undefined): void {
  const lease = document.lease;
  if (lease) {
    throw new HeddleError("thread_busy", `The thread is held by a recording of ${lease.producer}`, {
      detail: { kind: "recording", holderId: lease.recordingId, producer: lease.producer },
    });
  }
  if (runId !== undefined) {
    throw new HeddleError("thread_busy", "The thread has an open run", {
      detail: { kind: "run", holderId: runId, producer: "" },
    });
  }
}

/** Ends the recording that holds the thread, if one does, and completes what it left open (T1). */
function endRecording(draft: ThreadDraft, why: { reason: string; kind: string }): void {
  const lease = draft.document.lease;
  if (!lease) return;
  interruptRun(draft, why);
  draft.endLease(lease.recordingId);
}

const leaseMs = (lease: LeaseDocument): number => (lease.duration ? durationMs(lease.duration) : 0);

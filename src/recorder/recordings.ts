// Recordings: the hold that a producer outside has on a thread. A lease that must be renewed, an epoch that fences off
// whoever lost it, and batches that are stored once however often they are sent.
import { create, fromBinary } from "@bufbuild/protobuf";
import { nameOf, type ThreadKey } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { newId, type RecordingId } from "../thread/ids.js";
import {
  type LeaseDocument,
  LeaseDocumentSchema,
  type ThreadDocument,
  ThreadDocumentSchema,
} from "../thread/schema.js";
import { durationFromMs, durationMs } from "../thread/time.js";
import { CallIds } from "./call-ids.js";
import { interruptRun } from "./interrupt.js";
import { type LeaseClock, LeaseClocks } from "./lease-clocks.js";
import { interruptProcesses } from "./processes.js";
import {
  type Assigned,
  type Batch,
  createdIds,
  type Hold,
  isHeldBy,
  recordBatch,
  requireHold,
} from "./record-batch.js";
import type { Recorder } from "./recorder.js";
import type { ThreadDraft } from "./thread-draft.js";

export interface Opened {
  readonly recordingId: string;
  readonly epoch: bigint;
  readonly headSequence: bigint;
  readonly leaseMs: number;
}

export interface RecordingsOptions {
  readonly clock?: LeaseClock;
  readonly onError: (error: unknown, key: ThreadKey) => void;
  /** What becomes of a run of Heddle's own that the last process left open. Without it, the run is ended. */
  readonly recoverRun?: (key: ThreadKey) => Promise<void>;
  /** What else is to be done in a thread that the last process left, once nothing of it is at work. */
  readonly afterRecovery?: (key: ThreadKey) => Promise<void>;
  /** Told when the server has ended a recording by itself: its producer went silent, or another took the thread over. */
  readonly onEnded?: (key: ThreadKey, ended: { producer: string; reason: string; openCalls: number }) => void;
}

export class Recordings {
  readonly #recorder: Recorder;
  readonly #clocks: LeaseClocks;
  readonly #callIds: CallIds;
  readonly #onError: RecordingsOptions["onError"];
  readonly #recoverRun: (key: ThreadKey) => Promise<void>;
  readonly #afterRecovery: (key: ThreadKey) => Promise<void>;
  readonly #onEnded: NonNullable<RecordingsOptions["onEnded"]>;

  constructor(recorder: Recorder, options: RecordingsOptions) {
    this.#recorder = recorder;
    this.#clocks = new LeaseClocks(options.clock);
    this.#callIds = new CallIds(recorder.log);
    this.#onError = options.onError;
    this.#recoverRun =
      options.recoverRun ?? ((key) => recorder.write(key, (draft) => interruptRun(draft, serverStopped)));
    this.#afterRecovery = options.afterRecovery ?? (async () => {});
    this.#onEnded = options.onEnded ?? (() => {});
  }

  async open(key: ThreadKey, request: { producer: string; leaseMs: number; takeOver: boolean }): Promise<Opened> {
    const recordingId = newId<RecordingId>();
    let replaced: LeaseDocument | undefined;
    let openCalls = 0;
    const takenOver = { reason: "another producer took the thread over", kind: "taken_over" };
    const opened = await this.#recorder.write(key, (draft) => {
      replaced = request.takeOver ? draft.document.lease : undefined;
      openCalls = draft.state.calls.size;
      if (replaced) endRecording(draft, takenOver);
      refuseIfBusy(draft.document);
      const epoch = draft.document.epoch + 1n;
      const { producer, leaseMs } = request;
      const duration = durationFromMs(leaseMs);
      const lease = create(LeaseDocumentSchema, { recordingId, epoch, producer, duration });
      draft.changeDocument({ epoch, lease });
      return { recordingId, epoch, headSequence: draft.head, leaseMs };
    });
    if (replaced) {
      this.#clocks.stop(clockId(key, replaced));
      this.#onEnded(key, { producer: replaced.producer, reason: takenOver.reason, openCalls });
    }
    this.#startClock(key, opened, request.leaseMs);
    return opened;
  }

  /** The batch is heard, whatever comes of it: while it waits its turn, its producer is not silent. */
  record(key: ThreadKey, batch: Batch): Promise<Assigned> {
    return this.#clocks.during(clockId(key, batch), async () => {
      const created = createdIds(batch.events);
      let [isReserved, reused]: [boolean, string | undefined] = [false, undefined];
      try {
        const { assigned, lease } = await this.#recorder.write(key, (draft) => recordBatch(draft, batch, reused), {
          prepare: async () => {
            isReserved = true;
            reused = await this.#callIds.reserve(key, created);
          },
        });
        // A lease that recovery could not read, or whose opening only seemed to fail, has no clock yet.
        if (lease) this.#startClock(key, lease, leaseMs(lease));
        return assigned;
      } finally {
        // A batch that never came to its turn has taken none: those under way are somebody else's.
        if (isReserved) this.#callIds.release(key, created);
      }
    });
  }

  async close(key: ThreadKey, hold: Hold): Promise<bigint> {
    const head = await this.#recorder.write(key, (draft) => {
      if (!isHeldBy(draft.document.lastLease, hold) || isHeldBy(draft.document.lease, hold)) {
        requireHold(draft.document, hold);
        endRecording(draft, { reason: "the producer closed the recording", kind: "recording_closed" });
      }
      return draft.head;
    });
    this.#clocks.stop(clockId(key, hold));
    return head;
  }

  /** After a restart: leases get a full term; runs of Heddle's own go on or end. Tried until it works. */
  async recover(key: ThreadKey): Promise<void> {
    try {
      await this.#recoverNow(key);
    } catch (error) {
      this.#onError(error, key);
      this.#clocks.start(`recover ${nameOf(key)}`, 1, () => this.#told(key, () => this.#recoverNow(key)));
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

  /** From the document alone: a thread whose events cannot be read must not keep its hold for ever. */
  async #recoverNow(key: ThreadKey): Promise<void> {
    const stored = await this.#recorder.log.readThread(key);
    if (!stored || stored.removed) return;
    const { lease, runStartedSequence, processes } = fromBinary(ThreadDocumentSchema, stored.document);
    if (processes.length > 0) await this.#recorder.write(key, interruptProcesses);
    if (lease) this.#startClock(key, lease, leaseMs(lease));
    else if (runStartedSequence > 0n) await this.#recoverRun(key);
    await this.#afterRecovery(key);
  }

  #startClock(key: ThreadKey, hold: Hold, leaseMs: number): void {
    this.#clocks.start(clockId(key, hold), leaseMs, () => this.#told(key, () => this.#expire(key, hold)));
  }

  async #expire(key: ThreadKey, hold: Hold): Promise<void> {
    const ended = await this.#recorder.write(key, (draft) => {
      const lease = draft.document.lease;
      if (!isHeldBy(lease, hold) || !this.#clocks.isOver(clockId(key, hold))) return undefined;
      const openCalls = draft.state.calls.size;
      const reason = `${lease.producer} went silent`;
      endRecording(draft, { reason, kind: "lease_expired" });
      return { producer: lease.producer, reason, openCalls };
    });
    if (ended) this.#onEnded(key, ended);
  }

  /** Failures are reported, and passed on to be tried again. A thread that has gone needs nothing more. */
  async #told(key: ThreadKey, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof HeddleError && (error.code === "thread_deleted" || error.code === "thread_not_found"))
        return;
      this.#onError(error, key);
      throw error;
    }
  }
}

/** Why what was open when the last process ended is over. */
export const serverStopped = { reason: "the server stopped", kind: "server_stopped" } as const;

const clockId = (key: ThreadKey, { recordingId, epoch }: Hold): string => `${nameOf(key)}/${recordingId}/${epoch}`;

/** The calls that a batch makes. Malformed ids are left to the check of each event, which says what is wrong with them. */
export function refuseIfBusy({ lease, runId }: ThreadDocument): void {
  if (lease) {
    throw new HeddleError("thread_busy", `The thread is held by a recording of ${lease.producer}`, {
      detail: { kind: "recording", holderId: lease.recordingId, producer: lease.producer },
    });
  }
  if (runId !== "") {
    throw new HeddleError("thread_busy", "The thread has an open run", {
      detail: { kind: "run", holderId: runId, producer: "" },
    });
  }
}

/** Ends the recording that holds the thread, and completes what it left open (T1). */
function endRecording(draft: ThreadDraft, why: { reason: string; kind: string }): void {
  interruptRun(draft, why);
  draft.endLease();
}

const leaseMs = ({ duration }: LeaseDocument): number => (duration ? durationMs(duration) : 0);

// A trial of what a writer wants to add to a thread: events and bodies are checked, completed and folded one by one, and
// nothing is stored. If anything is refused, the draft is thrown away and the thread is as it was (L2).
import { create, toBinary } from "@bufbuild/protobuf";
import type { AppendBatch, BodyWrite, CallWrite } from "../log/event-log.js";
import { type EventViolationDetail, HeddleError } from "../thread/errors.js";
import { caseName, isCallPayload, subjectId, type ThreadEvent } from "../thread/event.js";
import { encodeFrame, envelopeBytes } from "../thread/frame.js";
import type { ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import type { OpenCall } from "../thread/open-call.js";
import {
  type ContentChunk,
  ContentRole,
  type ThreadDocument,
  ThreadDocumentSchema,
  ToolCallDocumentSchema,
} from "../thread/schema.js";
import type { ThreadState } from "../thread/state.js";
import { eventFault } from "./check-event.js";
import { completeEvent } from "./complete-event.js";
import { addContent, type Inputs } from "./contents.js";
import type { Redactions } from "./redactions.js";

/** What is true of a thread between two appends. */
export interface ThreadView {
  readonly threadId: string;
  readonly head: bigint;
  readonly document: ThreadDocument;
  readonly state: ThreadState;
  readonly redactions: Redactions;
  readonly inputs: Inputs;
}

export class ThreadDraft implements ThreadView {
  readonly threadId: string;
  readonly state: ThreadState;
  readonly redactions: Redactions;
  readonly inputs: Inputs;
  head: bigint;
  document: ThreadDocument;
  /** The thread is to be removed: its document becomes the tombstone. */
  removed = false;
  readonly frames: Buffer[] = [];
  readonly bodies: BodyWrite[] = [];
  readonly touched = new Map<string, OpenCall>();

  /** Upon the thread as it stands, or upon another draft that was accepted. */
  constructor(on: ThreadView) {
    this.threadId = on.threadId;
    this.state = on.state.fork();
    this.redactions = on.redactions.fork();
    this.inputs = on.inputs.fork();
    this.head = on.head;
    this.document = on.document;
  }

  /** Adds a batch whole. Chunks join the call they belong to as soon as it exists, and before the event that shows them. */
  recordBatch(events: readonly ThreadEvent[], contents: readonly ContentChunk[] = []): void {
    const waiting = new Map(contents.entries());
    const addChunksOf = (callId: string): void => {
      for (const [index, chunk] of waiting) {
        if (chunk.toolCallId !== callId) continue;
        this.#addChunk(chunk, index);
        waiting.delete(index);
      }
    };
    for (const [index, event] of events.entries()) {
      const { payload } = event;
      if (payload.case === "toolCallInputCompleted" || payload.case === "toolCallComplete")
        addChunksOf(payload.value.toolCallId);
      this.record(event, index);
    }
    for (const chunk of [...waiting.values()]) addChunksOf(chunk.toolCallId);
  }

  /** Adds one event. `index` is its place in the writer's batch, for the error. */
  record(draft: ThreadEvent, index = 0): ThreadEvent {
    const fault = eventFault(draft, this.threadId);
    if (fault)
      throw new HeddleError("invalid_event", messageOf(draft, index, fault), {
        detail: detailOf(draft, index, "", fault),
      });
    const violation = this.state.violation(draft) ?? this.#inputDeltaViolation(draft);
    if (violation) {
      const { state, rule } = violation;
      throw new HeddleError("transition_violation", messageOf(draft, index, rule), {
        detail: detailOf(draft, index, state, rule),
      });
    }
    const event = completeEvent(draft, this.#surroundings(draft));
    const frame = encodeFrame(event);
    if (frame.length - envelopeBytes > limits.eventBytes) {
      const rule = `an event may have at most ${limits.eventBytes} bytes: send what is larger as a body`;
      throw new HeddleError("invalid_event", messageOf(draft, index, rule), {
        detail: detailOf(draft, index, "", rule),
      });
    }
    this.#fold(event);
    this.frames.push(frame);
    this.head = event.sequence;
    return event;
  }

  changeDocument(changes: Partial<ThreadDocument>): void {
    this.document = { ...this.document, ...changes };
  }

  /** The thread is free again. The recording is remembered, so that closing it twice does no harm. */
  endLease(closedRecordingId: string): void {
    const { lease: _, ...rest } = this.document;
    this.document = create(ThreadDocumentSchema, { ...rest, closedRecordingId });
  }

  #surroundings(draft: ThreadEvent) {
    const { payload } = draft;
    const call = isCallPayload(payload) ? this.state.calls.get(payload.value.toolCallId) : undefined;
    const result = call?.contents.find(({ info }) => info.role === ContentRole.RESULT);
    return {
      threadId: this.threadId,
      sequence: this.head + 1n,
      producer: this.document.lease?.producer ?? "",
      call,
      input: call && this.inputs.of(call.call.id),
      resultBytes: Number(result?.info.sizeBytes ?? 0n),
      serverLabel:
        payload.case === "toolDiscoveryComplete" ? this.state.discoveries.get(payload.value.discoveryId) : undefined,
      redactions: this.redactions,
    };
  }

  #inputDeltaViolation(draft: ThreadEvent) {
    if (draft.payload.case !== "toolCallInputDelta") return undefined;
    const open = this.state.calls.get(draft.payload.value.toolCallId);
    const bytes = (open?.inputDeltaBytes ?? 0) + Buffer.byteLength(draft.payload.value.text);
    if (!open || bytes <= limits.inputDeltaBytes) return undefined;
    return {
      state: open.state,
      rule: `input deltas stop at ${limits.inputDeltaBytes} bytes: send the whole input as a body`,
    };
  }

  #fold(event: ThreadEvent): void {
    const touched = this.state.apply(event);
    if (touched) this.touched.set(touched.call.id, touched);
    const { payload } = event;
    if (payload.case === "runStarted") this.changeDocument({ runStartedSequence: event.sequence });
    if (payload.case === "runCompleted") this.changeDocument({ runStartedSequence: 0n });
    if (payload.case === "toolCallInputCompleted") this.inputs.forget(payload.value.toolCallId);
    if (
      payload.case === "toolCallComplete" ||
      payload.case === "messageCompleted" ||
      payload.case === "reasoningCompleted"
    ) {
      this.redactions.forget(subjectId(event));
    }
  }

  #addChunk(chunk: ContentChunk, index: number): void {
    const { open, body } = addContent(chunk, index, this);
    this.state.calls.set(open.call.id, open);
    this.touched.set(open.call.id, open);
    if (body) this.bodies.push(body);
  }
}

/** Everything that consecutive drafts add to the thread they began on, as one append. */
export function joinDrafts(before: ThreadView, drafts: readonly ThreadDraft[]): AppendBatch {
  const [only] = drafts;
  const after = drafts.at(-1) ?? before;
  const isOne = only !== undefined && drafts.length === 1;
  const touched = isOne ? only.touched : new Map(drafts.flatMap((draft) => [...draft.touched]));
  return {
    frames: isOne ? only.frames : drafts.flatMap((draft) => draft.frames),
    bodies: isOne ? only.bodies : drafts.flatMap((draft) => draft.bodies),
    calls: Array.from(touched.values(), callWrite),
    ...(after.document !== before.document && { document: toBinary(ThreadDocumentSchema, after.document) }),
    ...(isBusy(after.document) !== isBusy(before.document) && { busy: isBusy(after.document) }),
  };
}

/** Somebody writes the thread: recovery must look at it. */
export const isBusy = ({ lease, runStartedSequence }: ThreadDocument): boolean =>
  lease !== undefined || runStartedSequence !== 0n;

const callWrite = (open: OpenCall): CallWrite => ({
  callId: open.call.id as ToolCallId,
  createdSequence: open.call.createdSequence,
  document: toBinary(
    ToolCallDocumentSchema,
    create(ToolCallDocumentSchema, {
      toolCall: open.call,
      contents: open.contents.map(({ info, receivedBytes }) => ({ info, receivedBytes: BigInt(receivedBytes) })),
    }),
  ),
});

const messageOf = (draft: ThreadEvent, index: number, rule: string): string =>
  `events[${index}] (${caseName(draft.payload)}): ${rule}`;

const detailOf = (draft: ThreadEvent, eventIndex: number, state: string, rule: string): EventViolationDetail => ({
  eventIndex,
  event: caseName(draft.payload),
  subjectId: subjectId(draft),
  state,
  rule,
});

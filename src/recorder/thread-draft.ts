// A trial of what a writer wants to add to a thread: events and bodies are checked, completed and folded one by one, and
// nothing is stored. If anything is refused, the draft is thrown away and the thread is as it was (L2).
import type { BodyWrite } from "../log/event-log.js";
import { type EventViolationDetail, HeddleError } from "../thread/errors.js";
import { caseName, subjectId, type ThreadEvent } from "../thread/event.js";
import { encodeFrame, envelopeBytes } from "../thread/frame.js";
import { limits } from "../thread/limits.js";
import { type OpenCall, withClaim, withProviderCallId } from "../thread/open-call.js";
import type { ClaimDocument, ContentChunk, RunDocument, ThreadDocument } from "../thread/schema.js";
import type { ThreadState, Violation } from "../thread/state.js";
import { cleanSummary } from "../thread/summary.js";
import { attachmentViolation } from "./attachments.js";
import { changedRun, changedThread } from "./changed-document.js";
import { eventFault } from "./check-event.js";
import { completeEvent } from "./complete-event.js";
import { type Arriving, addContent, type Inputs } from "./contents.js";
import { processesAfter, processViolation } from "./processes.js";
import { type Redactions, tooManyFields } from "./redactions.js";

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
  readonly frames: Buffer[] = [];
  readonly bodies: BodyWrite[] = [];
  /** Calls whose documents changed, as they are since. One may be there more than once: the last counts. */
  readonly touched: OpenCall[] = [];
  #bytes = 0;

  /** Upon the thread as it stands, or upon another draft that was accepted. */
  constructor(on: ThreadView) {
    this.threadId = on.threadId;
    this.state = on.state.fork();
    this.redactions = on.redactions.fork();
    this.inputs = on.inputs.fork();
    this.head = on.head;
    this.document = on.document;
  }

  /** Of its frames and bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one event with bodies of its call, which come before it. */
  recordWithBodies(event: ThreadEvent, chunks: readonly ContentChunk[]): ThreadEvent {
    const isEnd = event.payload.case === "toolCallComplete";
    for (let index = 0; index < chunks.length; index++)
      this.#addChunk({ chunk: chunks[index]!, index, isWhole: isEnd && isOnlyOne(chunks[index]!, chunks) });
    return this.record(event);
  }

  /** Adds a batch whole. Chunks join the call they belong to as soon as it exists, and before the event that shows them. */
  recordBatch(events: readonly ThreadEvent[], contents: readonly ContentChunk[] = []): ThreadEvent[] {
    if (contents.length === 0) return events.map((event, index) => this.record(event, index));
    const waiting = groupByCall(contents);
    const addChunksOf = (callId: string, isEnd: boolean): void => {
      const placed = waiting.get(callId) ?? [];
      const chunks = placed.map(([, chunk]) => chunk);
      for (const [index, chunk] of placed) this.#addChunk({ chunk, index, isWhole: isEnd && isOnlyOne(chunk, chunks) });
      waiting.delete(callId);
    };
    const recorded = events.map((event, index) => {
      const { payload } = event;
      if (showsBodies(payload)) addChunksOf(payload.value.toolCallId, payload.case === "toolCallComplete");
      return this.record(event, index);
    });
    for (const callId of [...waiting.keys()]) addChunksOf(callId, false);
    return recorded;
  }

  /** Adds one event. `index` is its place in the writer's batch, for the error. */
  record(draft: ThreadEvent, index = 0): ThreadEvent {
    const event = this.#completed(draft, index);
    this.#add(event, index);
    return event;
  }

  /**
   * Adds a delta, unless redaction leaves nothing of its text: the mark that hides it stands in a delta before it. The redactor has
   * heard it either way.
   */
  recordUnlessHidden(draft: ThreadEvent): void {
    const event = this.#completed(draft, 0);
    if (!isWithoutText(event)) this.#add(event, 0);
  }

  /** Throws where it is not allowed. */
  #completed(draft: ThreadEvent, index: number): ThreadEvent {
    const fault = eventFault(draft, this.threadId);
    if (fault)
      throw new HeddleError("invalid_event", messageOf(draft, index, fault), {
        detail: detailOf(draft, index, "", fault),
      });
    const violation =
      this.state.violation(draft) ??
      this.#textViolation(draft) ??
      processViolation(draft, this) ??
      attachmentViolation(draft, this);
    if (violation) {
      const { state, rule } = violation;
      throw new HeddleError("transition_violation", messageOf(draft, index, rule), {
        detail: detailOf(draft, index, state, rule),
      });
    }
    return completeEvent(draft, this);
  }

  #add(event: ThreadEvent, index: number): void {
    const frame = encodeFrame(event);
    if (frame.length - envelopeBytes > limits.eventBytes) {
      const rule = `an event may have at most ${limits.eventBytes} bytes: send what is larger as a body`;
      throw new HeddleError("invalid_event", messageOf(event, index, rule), {
        detail: detailOf(event, index, "", rule),
      });
    }
    this.#fold(event);
    this.frames.push(frame);
    this.#bytes += frame.length;
    this.head = event.sequence;
  }

  addBody(body: BodyWrite): void {
    this.bodies.push(body);
    this.#bytes += body.bytes.length;
  }

  changeDocument(changes: Partial<ThreadDocument>): void {
    this.document = changedThread(this.document, changes);
  }

  /** Whether more raw input of a call fits on the stream. */
  takesInput(callId: string, text: string): boolean {
    const before = this.state.calls.get(callId)?.inputDeltaBytes ?? 0;
    return before + Buffer.byteLength(text) <= limits.inputDeltaBytes;
  }

  /** Keeps the provider's own id for a call in its document. */
  noteProviderCall(callId: string, providerCallId: string): void {
    const open = this.state.calls.get(callId);
    if (!open) return;
    const redact = (text: string): string => this.redactions.whole(text);
    const shown = cleanSummary(redact(providerCallId), limits.summaryUnits, redact);
    this.#touch(withProviderCallId(open, shown));
  }

  /** Keeps a client's hold on a call in its document. */
  noteClaim(callId: string, claim: ClaimDocument): void {
    const open = this.state.calls.get(callId);
    if (!open) return;
    this.#touch(withClaim(open, claim));
  }

  /** What the open run of Heddle's own needs to go on after a restart. */
  changeRun(changes: Partial<RunDocument>): void {
    const { run } = this.document;
    if (run) this.changeDocument({ run: changedRun(run, changes) });
  }

  /** The thread is free again. The lease is remembered: its producer may still ask what became of its last batch. */
  endLease(): void {
    const { lease } = this.document;
    if (lease) this.changeDocument({ lease: undefined, lastLease: lease });
  }

  /** Bounds on the text of a call. */
  #textViolation({ payload }: ThreadEvent): Violation | undefined {
    if (payload.case !== "toolCallInputDelta" && payload.case !== "toolCallTextDelta") return undefined;
    const open = this.state.calls.get(payload.value.toolCallId);
    if (!open) return undefined;
    if (payload.case === "toolCallTextDelta") {
      const isTooMany = tooManyFields(this.redactions, payload.value.toolCallId, payload.value.field);
      return isTooMany
        ? { state: open.state, rule: `a call has text in at most ${limits.textFields} fields` }
        : undefined;
    }
    if (this.takesInput(payload.value.toolCallId, payload.value.text)) return undefined;
    const rule = `input deltas stop at ${limits.inputDeltaBytes} bytes: send the whole input as a body`;
    return { state: open.state, rule };
  }

  #fold(event: ThreadEvent): void {
    const touched = this.state.apply(event);
    if (touched) this.#noteTouched(touched);
    const { payload } = event;
    switch (payload.case) {
      case "runStarted":
        this.changeDocument({ runStartedSequence: event.sequence, runId: event.runId });
        break;
      case "runCompleted":
        this.changeDocument({ run: undefined, runStartedSequence: 0n, runId: "" });
        break;
      case "toolCallInputCompleted":
        this.inputs.forget(payload.value.toolCallId);
        break;
      case "toolCallComplete":
        this.inputs.forget(payload.value.toolCallId);
        this.redactions.forget(payload.value.toolCallId);
        break;
      case "messageCompleted":
      case "reasoningCompleted":
        this.redactions.forget(subjectId(event));
        break;
      case "processStarted":
      case "processExited":
        this.changeDocument(processesAfter(event, payload, this.document));
        break;
    }
  }

  /** The document of an open call is now this. */
  #touch(open: OpenCall): void {
    this.state.calls.set(open.call.id, open);
    this.#noteTouched(open);
  }

  /** Most often it is the call that was touched last. */
  #noteTouched(open: OpenCall): void {
    const last = this.touched.length - 1;
    if (last >= 0 && this.touched[last]!.call.id === open.call.id) this.touched[last] = open;
    else this.touched.push(open);
  }

  #addChunk(arriving: Arriving): void {
    const { open, body } = addContent(arriving, this);
    this.#touch(open);
    if (body) this.addBody(body);
  }
}

/** Events that make bodies of their call visible. */
const showsBodies = (payload: ThreadEvent["payload"]) =>
  payload.case === "toolCallInputCompleted" ||
  payload.case === "toolCallApprovalRequested" ||
  payload.case === "toolCallComplete";

const isWithoutText = ({ payload: { value } }: ThreadEvent): boolean =>
  value !== undefined && "text" in value && value.text === "";

/** Somebody writes the thread, or will: recovery must look at it. */
export const isBusy = ({ lease, runStartedSequence, processes, responses }: ThreadDocument): boolean =>
  lease !== undefined ||
  runStartedSequence !== 0n ||
  processes.length > 0 ||
  responses.some(({ unstored, deleted }) => unstored && !deleted) ||
  areAllDeleted(responses);

/** With its last response a thread goes. */
export const areAllDeleted = (responses: ThreadDocument["responses"]): boolean =>
  responses.length > 0 && responses.every(({ deleted }) => deleted);

/** The chunks of each call, with their place in the batch. */
function groupByCall(contents: readonly ContentChunk[]): Map<string, [number, ContentChunk][]> {
  const groups = new Map<string, [number, ContentChunk][]>();
  for (const [index, chunk] of contents.entries()) {
    const group = groups.get(chunk.toolCallId);
    if (group) group.push([index, chunk]);
    else groups.set(chunk.toolCallId, [[index, chunk]]);
  }
  return groups;
}

/** No other piece of its body comes along. */
const isOnlyOne = (chunk: ContentChunk, chunks: readonly ContentChunk[]): boolean =>
  chunks.every((other) => other === chunk || other.contentId !== chunk.contentId);

const messageOf = (draft: ThreadEvent, index: number, rule: string): string =>
  `events[${index}] (${caseName(draft.payload)}): ${rule}`;

const detailOf = (draft: ThreadEvent, eventIndex: number, state: string, rule: string): EventViolationDetail => ({
  eventIndex,
  event: caseName(draft.payload),
  // Cut: a writer may have put anything there, and the error must fit into headers.
  subjectId: subjectId(draft).slice(0, 64),
  state,
  rule,
});

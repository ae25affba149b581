// Records one run of Heddle's own. Lifecycle events are stored one by one, each before its promise resolves; the text that
// streams between them is coalesced, and is always stored before the next lifecycle event of its subject. A delta of which redaction
// leaves nothing is not stored. (What a producer outside records is stored event for event: recordings.ts.)
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ThreadKey } from "../log/event-log.js";
import { newEvent, subjectId, type ThreadEvent, type ThreadEventInit } from "../thread/event.js";
import { ForkedMap } from "../thread/forked-map.js";
import { limits } from "../thread/limits.js";
import type { ContentChunk, ContentRole } from "../thread/schema.js";
import { utf8Bytes } from "../thread/text.js";
import { now } from "../thread/time.js";
import { Coalescer, type Schedule } from "./coalesce.js";
import type { Recorder } from "./recorder.js";
import type { ThreadDraft } from "./thread-draft.js";

type DeltaCase = "messageDelta" | "reasoningDelta" | "toolCallInputDelta" | "toolCallTextDelta" | "toolCallOutputDelta";
type PayloadInit = Exclude<NonNullable<ThreadEventInit["payload"]>, { case?: undefined }>;
export type DeltaInit = Extract<PayloadInit, { case: DeltaCase }>;
export type LifecycleInit = Exclude<PayloadInit, { case: DeltaCase | "ready" | "caughtUp" | "heartbeat" | "closing" }>;

/** A body that is stored with a lifecycle event, and is visible with it. */
export interface Body {
  readonly toolCallId: string;
  readonly contentId: string;
  readonly role: ContentRole;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

/** What goes into the same append as a lifecycle event. */
export interface Along {
  readonly bodies?: readonly Body[];
  /** Contract: as a Write (thread-writer.ts); runs after the event is recorded. */
  readonly change?: (draft: ThreadDraft) => void;
  /** When it happened, where that was earlier than now. */
  readonly time?: Timestamp;
  /** The run goes on while it is being stored. Should that fail, nothing begins behind it. */
  readonly isAhead?: boolean;
}

export interface RunRecorderOptions {
  readonly runId: string;
  readonly windowMs?: number;
  readonly schedule?: Schedule;
}

export class RunRecorder {
  readonly runId: string;
  readonly #recorder: Recorder;
  readonly #key: ThreadKey;
  /** Text comes with a delta of its lane: everything but the text is the same in all of them. */
  readonly #coalescer: Coalescer<DeltaInit>;
  /** Of calls whose input is still streaming. */
  readonly #inputBytes = new ForkedMap<string, number>();
  /** Calls whose input is not on the stream whole. */
  readonly #truncated = new Set<string>();
  /** What text of which subject could not be stored. */
  readonly #lost = new Map<string, Lost>();
  /** Notes that wait for something to go with. */
  readonly #soon: (() => Promise<void>)[] = [];
  #moment: NodeJS.Timeout | undefined;
  /** The first that nobody was told of. */
  #untold: Lost | undefined;
  /** An event that the run went on without, and that could not be stored. */
  #hole: Lost | undefined;

  constructor(recorder: Recorder, key: ThreadKey, { runId, windowMs, schedule }: RunRecorderOptions) {
    this.runId = runId;
    this.#recorder = recorder;
    this.#key = key;
    this.#coalescer = new Coalescer({
      ...(windowMs !== undefined && { windowMs }),
      ...(schedule && { schedule }),
      deltaBytes: limits.ownDeltaBytes,
      emit: (subject, deltas) =>
        this.#store(
          subject,
          deltas.map(({ origin, text }) => withText(origin, text)),
        ),
    });
  }

  /** Text that streams. Stored soon, in order; a failure shows in the next `record`. Input beyond its bound is dropped. */
  delta(payload: DeltaInit): void {
    const text = payload.value.text ?? "";
    const subject = subjectOf(payload);
    if (payload.case === "toolCallInputDelta" && !this.#fits(subject, text)) return;
    this.#coalescer.push({ subject, lane: laneOf(payload), isAside: isAside(payload), text, origin: payload });
  }

  /**
   * A lifecycle event. Resolves with what was stored once it is flushed to disk, after all text of its subject. Rejects, and
   * stores nothing, when text before it could not be stored: that is told once, and of its own subject always, so that nothing
   * follows a hole.
   */
  record(payload: LifecycleInit, { bodies = [], change, time, isAhead }: Along = {}): Promise<ThreadEvent> {
    const event = newEvent({ runId: this.runId, payload });
    const subject = subjectId(event);
    if (payload.case === "runCompleted") this.#coalescer.close();
    else this.#coalescer.flush(subject);
    // That of the disk would be later the longer the disk takes, and what was told late would stand before its own beginning.
    event.time = time ?? now();
    const chunks: ContentChunk[] = [];
    for (const body of bodies) addChunks(chunks, body);
    // What is too much for one append goes before it. It is not visible until the event is (L2 holds for what people see).
    while (chunks.length > chunksPerAppend) this.#writeAhead(subject, chunks.splice(0, chunksPerAppend));
    this.#noteNow();
    if (payload.case === "toolCallInputCompleted") this.#inputBytes.delete(subject);
    let tellsOfLoss = false;
    const write = (draft: ThreadDraft): ThreadEvent => {
      // Writes keep their order: when this one's turn has come, it is known what became of those before it.
      const lost = this.#lost.get(subject) ?? this.#untold ?? this.#holeBefore(payload);
      tellsOfLoss = lost !== undefined;
      if (lost) throw lost.error;
      if (event.payload.case === "toolCallInputCompleted")
        event.payload.value.deltasTruncated = this.#truncated.has(subject);
      const recorded = draft.recordWithBodies(event, chunks);
      change?.(draft);
      return recorded;
    };
    const onFailure = (error: unknown): void => {
      if (tellsOfLoss) this.#untold = undefined;
      if (!isAhead) return;
      this.#noteLost(subject, error);
      this.#hole ??= { error };
    };
    return this.#recorder.write(this.#key, write, { onFailure, isRepeatable: true });
  }

  #noteLost(subject: string, error: unknown): void {
    if (!this.#lost.has(subject)) this.#lost.set(subject, { error });
  }

  /** What is under way can still end. */
  #holeBefore({ case: event }: PayloadInit): Lost | undefined {
    return beginnings.has(event) ? this.#hole : undefined;
  }

  /** Text that is held back goes now: something else is said next, and readers see things in the order they were said. */
  flush(subject: string): void {
    this.#coalescer.flush(subject);
  }

  /**
   * A change of the thread's document alone, in no hurry: it goes with the next event that is recorded, or by itself after a moment.
   * Saves a commit where a call follows a reply at once.
   */
  noteSoon(change: (draft: ThreadDraft) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#soon.push(() => this.note(change).then(resolve, reject));
      this.#moment ??= setTimeout(() => this.#noteNow(), soonMs);
    });
  }

  #noteNow(): void {
    if (this.#soon.length === 0) return;
    clearTimeout(this.#moment);
    this.#moment = undefined;
    for (const note of this.#soon.splice(0)) void note();
  }

  /** A change of the thread's document alone. Shares an append with what is recorded at the same time. */
  note<Result>(change: (draft: ThreadDraft) => Result): Promise<Result> {
    return this.#recorder.write(this.#key, change);
  }

  /** Stores what is held back, and nothing more. */
  close(): void {
    this.#noteNow();
    this.#coalescer.close();
  }

  /** True once input was dropped because it had passed its bound. */
  inputTruncated(toolCallId: string): boolean {
    return this.#truncated.has(toolCallId);
  }

  /** A text as it is stored. */
  redacted(text: string): string {
    return this.#recorder.redacted(text);
  }

  #fits(toolCallId: string, text: string): boolean {
    const bytes = (this.#inputBytes.get(toolCallId) ?? 0) + utf8Bytes(text);
    this.#inputBytes.set(toolCallId, bytes);
    if (bytes > limits.inputDeltaBytes) this.#truncated.add(toolCallId);
    return !this.#truncated.has(toolCallId);
  }

  #store(subject: string, deltas: readonly DeltaInit[]): void {
    const time = now();
    this.#write(subject, (draft) => {
      for (const payload of deltas) {
        const lost = this.#holeBefore(payload);
        if (lost) throw lost.error;
        // Redaction may make more of a text than came: what does not fit any more is dropped like the rest.
        if (payload.case === "toolCallInputDelta" && !draft.takesInput(subject, payload.value.text ?? ""))
          this.#truncated.add(subject);
        else draft.recordUnlessHidden(newEvent({ runId: this.runId, time, payload }));
      }
    });
  }

  #writeAhead(subject: string, chunks: readonly ContentChunk[]): void {
    this.#write(subject, (draft) => void draft.recordBatch([], chunks));
  }

  /** A failure shows in the next `record`. */
  #write(subject: string, write: (draft: ThreadDraft) => void): void {
    const onFailure = (error: unknown): void => {
      this.#noteLost(subject, error);
      this.#untold ??= { error };
    };
    this.#recorder.post(this.#key, write, { onFailure, isRepeatable: true });
  }
}

interface Lost {
  readonly error: unknown;
}

/** Longer than a call takes to begin. */
const soonMs = 5;

/** Events that a reply or a call begins with. A reasoning has no other than its text. */
const beginnings: ReadonlySet<PayloadInit["case"]> = new Set<PayloadInit["case"]>([
  "messageCreated",
  "reasoningDelta",
  "toolCallCreated",
  "toolCallStarted",
]);

/** Pieces of bodies in one append: enough to be few, little enough that nobody else waits long for the disk. */
const chunksPerAppend = 4;

/** An empty body is one empty piece. */
function addChunks(chunks: ContentChunk[], { toolCallId, contentId, role, mediaType, data }: Body): void {
  for (let offset = 0; offset === 0 || offset < data.length; offset += limits.contentChunkBytes) {
    chunks.push({
      $typeName: "heddle.v1.ContentChunk",
      toolCallId,
      contentId,
      role,
      mediaType,
      offset: BigInt(offset),
      data: data.subarray(offset, offset + limits.contentChunkBytes) as Uint8Array<ArrayBuffer>,
    });
  }
}

function subjectOf(payload: DeltaInit): string {
  switch (payload.case) {
    case "messageDelta":
      return payload.value.messageId ?? "";
    case "reasoningDelta":
      return payload.value.reasoningId ?? "";
    default:
      return payload.value.toolCallId ?? "";
  }
}

const withText = (payload: DeltaInit, text: string): DeltaInit =>
  payload.value.text === text ? payload : ({ ...payload, value: { ...payload.value, text } } as DeltaInit);

function laneOf(payload: DeltaInit): string {
  switch (payload.case) {
    case "toolCallTextDelta":
      return `${payload.case} ${payload.value.field}`;
    case "toolCallOutputDelta":
      return `${payload.case} ${payload.value.stream}`;
    default:
      return payload.case;
  }
}

/** What a call's input says is said once more by the text that is read out of it. */
const isAside = (payload: DeltaInit): boolean => payload.case === "toolCallInputDelta";

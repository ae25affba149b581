// A thread's log as the events of one response: a pure fold. The same log gives the same events, however often and from wherever it is
// read (P1). A response is a segment of a run: it begins where a request started the run or went on with it, and ends where the run is
// over or waits for a client or a person.
//
// Contract: takes every event of the run in order, from its first one on, each joined with the bodies that it tells of; gives events
// for its own segment alone. Their numbers are stamped where they leave (events.ts). What is open of messages, calls and lists is kept
// beside it: spoken.ts, called.ts, tool-lists.ts.
import type { ThreadEvent } from "../../thread/event.js";
import { Role, RunOutcome, TextPurpose, type Usage } from "../../thread/schema.js";
import { timestampMs } from "../../thread/time.js";
import type { BuiltInShape } from "./call-shapes.js";
import { Called } from "./called.js";
import { Citations } from "./citations.js";
import { Output } from "./output.js";
import { type ResponseFacts, responseObject, usageOf } from "./response-object.js";
import { Spoken } from "./spoken.js";
import { ToolLists } from "./tool-lists.js";
import type { Body } from "./wanted.js";
import type { Echo, McpListedTool, ResponseObject, ResponseStatus } from "./wire.js";
import type { Frame } from "./wire-events.js";

/** An event with what it only summarises. */
export interface Joined {
  readonly event: ThreadEvent;
  /** Of an input that is complete: the whole. Also of a call that shows only now. */
  readonly input?: string;
  /** Of a call that is over: what the model was told, and the result where it is JSON. */
  readonly output?: string;
  readonly result?: unknown;
  /** Of a discovery that found something. */
  readonly tools?: readonly McpListedTool[];
}

export interface SegmentFacts {
  readonly id: string;
  readonly echo: Echo;
  /** Sequence of its first event. */
  readonly first: bigint;
  /** Sequence of the last event that the request itself made: its input. */
  readonly inputEnd: bigint;
  readonly builtIn: BuiltInShape;
}

export class ResponseFold {
  readonly #segment: SegmentFacts;
  readonly #out = new Output();
  readonly #citations = new Citations();
  readonly #spoken = new Spoken(this.#out, this.#citations);
  readonly #called: Called;
  readonly #lists = new ToolLists(this.#out);
  #usageBefore: Usage | undefined;
  #facts: Pick<ResponseFacts, "createdAt" | "completedAt" | "status" | "usage" | "error" | "incomplete">;

  constructor(segment: SegmentFacts) {
    this.#segment = segment;
    this.#called = new Called(this.#out, { ...segment, citations: this.#citations });
    const status: ResponseStatus = segment.echo.background ? "queued" : "in_progress";
    this.#facts = { createdAt: 0, completedAt: null, status, usage: null, error: null, incomplete: null };
  }

  /** As it stands: items that are not done with what there is of them. One that was called off has no output any more. */
  response(): ResponseObject {
    const { id, echo } = this.#segment;
    const output = this.#facts.status === "cancelled" ? [] : this.#out.items;
    return responseObject({ ...this.#facts, id, output }, echo);
  }

  /** Nothing follows. */
  get isOver(): boolean {
    const { status } = this.#facts;
    return status !== "queued" && status !== "in_progress";
  }

  /** The bodies that `take` makes something of. */
  wants(event: ThreadEvent): readonly Body[] {
    if (this.isOver || this.#isInput(event)) return [];
    const { payload, sequence } = event;
    if (payload.case === "toolDiscoveryComplete")
      return payload.value.success && this.#lists.has(payload.value.discoveryId) ? ["tools"] : [];
    return this.#called.wants(event, sequence >= this.#segment.first);
  }

  take(joined: Joined): readonly Frame[] {
    const { event } = joined;
    if (this.isOver) return [];
    this.#out.isOwn = event.sequence >= this.#segment.first;
    if (event.sequence === this.#segment.first) this.#begin(event);
    if (!this.#isInput(event)) this.#step(joined);
    return this.#out.takeFrames();
  }

  /** What the request said is not what the response says. */
  #isInput({ sequence }: ThreadEvent): boolean {
    return sequence >= this.#segment.first && sequence <= this.#segment.inputEnd;
  }

  #begin({ time }: ThreadEvent): void {
    this.#facts = { ...this.#facts, createdAt: time ? Math.floor(timestampMs(time) / 1000) : 0 };
    this.#out.emit({ type: "response.created", response: this.response() });
    if (this.#facts.status === "queued") {
      this.#out.emit({ type: "response.queued", response: this.response() });
      this.#facts = { ...this.#facts, status: "in_progress" };
    }
    this.#out.emit({ type: "response.in_progress", response: this.response() });
  }

  #step(joined: Joined): void {
    const { payload } = joined.event;
    this.#spoken.settle(payload.case === "runCompleted" && payload.value.outcome === RunOutcome.INCOMPLETE);
    switch (payload.case) {
      case "messageCreated":
        if (payload.value.role === Role.ASSISTANT) this.#spoken.open(payload.value.messageId);
        break;
      case "messageDelta":
        this.#spoken.say(payload.value.messageId, payload.value.text);
        break;
      case "messageCompleted":
        this.#spoken.close(payload.value);
        break;
      case "reasoningDelta":
        this.#spoken.reason(payload.value.reasoningId, payload.value.text);
        break;
      case "reasoningCompleted":
        this.#spoken.closeReasoning(payload.value.reasoningId);
        break;
      case "toolCallCreated":
        this.#called.create(joined.event, payload.value);
        break;
      case "toolCallInputDelta":
        this.#called.inputDelta(payload.value.toolCallId, payload.value.text);
        break;
      case "toolCallTextDelta":
        if (payload.value.purpose === TextPurpose.CODE)
          this.#called.codeDelta(payload.value.toolCallId, payload.value.text);
        break;
      case "toolCallInputCompleted":
        this.#called.inputDone(payload.value.toolCallId, joined.input);
        break;
      case "toolCallApprovalRequested":
        this.#called.inputRead(payload.value.toolCallId, joined.input);
        this.#called.ask(payload.value.toolCallId);
        break;
      case "toolCallApprovalResolved":
        this.#called.inputRead(payload.value.toolCallId, joined.input);
        this.#called.answered(payload.value.toolCallId, payload.value.decision);
        break;
      case "toolCallStarted":
        this.#called.inputRead(payload.value.toolCallId, joined.input);
        this.#called.start(payload.value.toolCallId, payload.value.summary);
        break;
      case "toolCallComplete":
        this.#called.inputRead(payload.value.toolCallId, joined.input);
        this.#called.complete(joined, payload.value);
        break;
      case "toolDiscoveryStarted":
        this.#lists.open(payload.value);
        break;
      case "toolDiscoveryComplete":
        this.#lists.close(joined, payload.value);
        break;
      case "runSuspended":
        if (!this.#out.isOwn) this.#usageBefore = payload.value.usage;
        else this.#end(joined.event, { status: "completed", usage: payload.value.usage });
        break;
      case "runCompleted":
        this.#end(joined.event, endOfRun(payload.value));
        break;
      // The protocol has no event for them.
      case "runStarted":
      case "runResumed":
      case "toolCallClaimed":
      case "toolCallProgress":
      case "toolCallOutputDelta":
      case "planUpdated":
      case "processStarted":
      case "processExited":
      case "ready":
      case "caughtUp":
      case "heartbeat":
      case "closing":
      case undefined: // A newer writer. Keep quiet rather than guess.
        break;
      default:
        payload satisfies never;
    }
  }

  #end({ time }: ThreadEvent, end: SegmentEnd): void {
    if (!this.#out.isOwn) return;
    const completedAt = end.status === "completed" && time ? Math.floor(timestampMs(time) / 1000) : null;
    this.#facts = {
      ...this.#facts,
      status: end.status,
      completedAt,
      usage: usageOf(end.usage, this.#usageBefore),
      error: end.error ?? null,
      incomplete: end.incomplete ?? null,
    };
    const type = end.status === "cancelled" ? "response.failed" : (`response.${end.status}` as const);
    this.#out.emit({ type, response: this.response() });
  }
}

type Payload<Case extends ThreadEvent["payload"]["case"]> = Extract<ThreadEvent["payload"], { case: Case }>["value"];

interface SegmentEnd {
  readonly status: Exclude<ResponseStatus, "queued" | "in_progress">;
  readonly usage: Usage | undefined;
  readonly error?: { readonly code: string; readonly message: string };
  readonly incomplete?: string;
}

function endOfRun({ outcome, usage, finishReason, errorMessage }: Payload<"runCompleted">): SegmentEnd {
  switch (outcome) {
    case RunOutcome.SUCCEEDED:
      return { status: "completed", usage };
    case RunOutcome.INCOMPLETE:
      return { status: "incomplete", usage, incomplete: incompleteReasons[finishReason] ?? "max_output_tokens" };
    case RunOutcome.CANCELLED:
      return { status: "cancelled", usage };
    default: {
      const code = finishReason === "rate_limited" ? "rate_limit_exceeded" : "server_error";
      return { status: "failed", usage, error: { code, message: errorMessage || "The run failed" } };
    }
  }
}

const incompleteReasons: Readonly<Record<string, string>> = {
  content_filter: "content_filter",
  filtered: "content_filter",
  refusal: "content_filter",
  step_limit: "max_messages",
  time_limit: "max_messages",
};

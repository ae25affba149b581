// A thread's log as the events of one response: a pure fold. The same log gives the same events, however often and from wherever it is
// read (P1). A response is a segment of a run: it begins where a request started the run or went on with it, and ends where the run is
// over or waits for a client or a person.
//
// Contract: takes every event of the run in order, from its first one on, each joined with the bodies that it tells of; gives events
// for its own segment alone. Their numbers are stamped where they leave (events.ts).
//
// Long because it is one state: what is open of messages, reasonings, calls and lists, each opened and closed by small steps below.
import type { ThreadEvent } from "../../thread/event.js";
import { Role, RunOutcome, TextPurpose, ToolCallOutcome, type Usage } from "../../thread/schema.js";
import { timestampMs } from "../../thread/time.js";
import { begunItem, type CallFacts, type CallOutcome, endedItem, parsed, statusOf } from "./call-items.js";
import { type BuiltInShape, isNamed, shapeEvents, shapeOf } from "./call-shapes.js";
import { itemId } from "./response-id.js";
import { type ResponseFacts, responseObject, usageOf } from "./response-object.js";
import type { Annotation, ContentPart, Echo, Frame, Item, McpListedTool, MessageItem, ResponseStatus } from "./wire.js";

/** An event with what it only summarises. */
export interface Joined {
  readonly event: ThreadEvent;
  /** Of an input that is complete: the whole. */
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

/** An item that is not done. */
interface Open {
  readonly index: number;
  readonly id: string;
}

interface OpenText extends Open {
  text: string;
}

interface OpenMessage extends OpenText {
  /** Its text is a part from the first word on: a refusal has none. */
  hasText: boolean;
}

interface OpenCall {
  facts: CallFacts;
  /** Undefined: nothing of it has been shown. */
  shown: Open | undefined;
  /** It shows when its turn comes: calls that run one at a time, and one of them may end the response. */
  isLater: boolean;
  code: string;
}

export class ResponseFold {
  readonly #segment: SegmentFacts;
  readonly #items: Item[] = [];
  readonly #messages = new Map<string, OpenMessage>();
  readonly #reasonings = new Map<string, OpenText>();
  readonly #calls = new Map<string, OpenCall>();
  readonly #discoveries = new Map<string, Open & { readonly serverLabel: string }>();
  /** Said to its end, but not done: whether it was cut off shows in the event behind it. */
  #said: { readonly open: Open; readonly item: MessageItem } | undefined;
  #usageBefore: Usage | undefined;
  #facts: Pick<ResponseFacts, "createdAt" | "completedAt" | "status" | "usage" | "error" | "incomplete">;
  #frames: Frame[] = [];
  #isOwn = false;

  constructor(segment: SegmentFacts) {
    this.#segment = segment;
    const status: ResponseStatus = segment.echo.background ? "queued" : "in_progress";
    this.#facts = { createdAt: 0, completedAt: null, status, usage: null, error: null, incomplete: null };
  }

  /** As it stands. */
  response(): Readonly<Record<string, unknown>> {
    const { id, echo } = this.#segment;
    return responseObject({ ...this.#facts, id, output: [...this.#items] }, echo);
  }

  /** Nothing follows. */
  get isOver(): boolean {
    const { status } = this.#facts;
    return status !== "queued" && status !== "in_progress";
  }

  take(joined: Joined): readonly Frame[] {
    const { event } = joined;
    this.#frames = [];
    if (this.isOver) return this.#frames;
    this.#isOwn = event.sequence >= this.#segment.first;
    if (event.sequence === this.#segment.first) this.#begin(event);
    // What the request said is not what the response says.
    if (event.sequence > this.#segment.inputEnd || !this.#isOwn) this.#step(joined);
    return this.#frames;
  }

  #begin({ time }: ThreadEvent): void {
    this.#facts = { ...this.#facts, createdAt: time ? Math.floor(timestampMs(time) / 1000) : 0 };
    this.#emit({ type: "response.created", response: this.response() });
    if (this.#facts.status === "queued") {
      this.#emit({ type: "response.queued", response: this.response() });
      this.#facts = { ...this.#facts, status: "in_progress" };
    }
    this.#emit({ type: "response.in_progress", response: this.response() });
  }

  #step(joined: Joined): void {
    const { payload } = joined.event;
    this.#closeSaid(payload.case === "runCompleted" && payload.value.outcome === RunOutcome.INCOMPLETE);
    switch (payload.case) {
      case "messageCreated":
        if (payload.value.role === Role.ASSISTANT) this.#openMessage(payload.value.messageId);
        break;
      case "messageDelta":
        this.#say(payload.value.messageId, payload.value.text);
        break;
      case "messageCompleted":
        this.#closeMessage(payload.value);
        break;
      case "reasoningDelta":
        this.#reason(payload.value.reasoningId, payload.value.text);
        break;
      case "reasoningCompleted":
        this.#closeReasoning(payload.value.reasoningId);
        break;
      case "toolCallCreated":
        this.#create(joined.event, payload.value);
        break;
      case "toolCallInputDelta":
        this.#inputDelta(payload.value.toolCallId, payload.value.text);
        break;
      case "toolCallTextDelta":
        if (payload.value.purpose === TextPurpose.CODE) this.#codeDelta(payload.value.toolCallId, payload.value.text);
        break;
      case "toolCallInputCompleted":
        this.#inputDone(payload.value.toolCallId, joined.input);
        break;
      case "toolCallApprovalRequested":
        this.#ask(payload.value.toolCallId);
        break;
      case "toolCallApprovalResolved":
        this.#answered(payload.value.toolCallId, payload.value.decision);
        break;
      case "toolCallStarted":
        this.#start(payload.value.toolCallId, payload.value.summary);
        break;
      case "toolCallComplete":
        this.#complete(joined, payload.value);
        break;
      case "toolDiscoveryStarted":
        this.#openList(payload.value);
        break;
      case "toolDiscoveryComplete":
        this.#closeList(joined, payload.value);
        break;
      case "runSuspended":
        if (!this.#isOwn) this.#usageBefore = payload.value.usage;
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

  #openMessage(messageId: string): void {
    const item: Item = {
      id: itemId("msg", messageId),
      type: "message",
      status: "in_progress",
      role: "assistant",
      content: [],
    };
    this.#messages.set(messageId, { ...this.#add(item), text: "", hasText: false });
  }

  #say(messageId: string, text: string): void {
    const open = this.#messages.get(messageId);
    if (!open) return;
    this.#beginText(open);
    open.text += text;
    this.#emit({
      type: "response.output_text.delta",
      ...place(open),
      content_index: 0,
      delta: text,
      logprobs: [],
    });
  }

  #beginText(open: OpenMessage): void {
    if (open.hasText) return;
    open.hasText = true;
    const part: ContentPart = { type: "output_text", text: "", annotations: [], logprobs: [] };
    this.#emit({ type: "response.content_part.added", ...place(open), content_index: 0, part });
  }

  #closeMessage(completed: Completed): void {
    const open = this.#messages.get(completed.messageId);
    if (!open) return;
    this.#messages.delete(completed.messageId);
    if (completed.refusal === "") this.#beginText(open);
    const said = open.hasText ? [this.#endText(open, completed)] : [];
    const content = [...said, ...this.#refuse(open, said.length, completed.refusal)];
    const status = completed.incomplete ? "incomplete" : "completed";
    this.#said = { open, item: { id: open.id, type: "message", status, role: "assistant", content } };
  }

  #endText(open: OpenMessage, completed: Completed): ContentPart {
    const at = { ...place(open), content_index: 0 };
    const annotations = completed.annotations.map(citation);
    for (const [annotation_index, annotation] of annotations.entries())
      this.#emit({ type: "response.output_text.annotation.added", ...at, annotation_index, annotation });
    this.#emit({ type: "response.output_text.done", ...at, text: open.text, logprobs: [] });
    const part: ContentPart = { type: "output_text", text: open.text, annotations, logprobs: [] };
    this.#emit({ type: "response.content_part.done", ...at, part });
    return part;
  }

  /** A refusal is a part of its own. */
  #refuse(open: Open, content_index: number, refusal: string): ContentPart[] {
    if (refusal === "") return [];
    const at = { ...place(open), content_index };
    this.#emit({ type: "response.content_part.added", ...at, part: { type: "refusal", refusal: "" } });
    this.#emit({ type: "response.refusal.delta", ...at, delta: refusal });
    this.#emit({ type: "response.refusal.done", ...at, refusal });
    const part: ContentPart = { type: "refusal", refusal };
    this.#emit({ type: "response.content_part.done", ...at, part });
    return [part];
  }

  #closeSaid(isCutOff: boolean): void {
    if (!this.#said) return;
    const { open, item } = this.#said;
    this.#said = undefined;
    this.#done(open, isCutOff ? { ...item, status: "incomplete" } : item);
  }

  #reason(reasoningId: string, text: string): void {
    const open = this.#reasonings.get(reasoningId) ?? this.#openReasoning(reasoningId);
    open.text += text;
    this.#emit({ type: "response.reasoning_summary_text.delta", ...place(open), summary_index: 0, delta: text });
  }

  #openReasoning(reasoningId: string): OpenText {
    const item: Item = { id: itemId("rs", reasoningId), type: "reasoning", status: "in_progress", summary: [] };
    const open: OpenText = { ...this.#add(item), text: "" };
    this.#reasonings.set(reasoningId, open);
    const part = { type: "summary_text", text: "" };
    this.#emit({ type: "response.reasoning_summary_part.added", ...place(open), summary_index: 0, part });
    return open;
  }

  #closeReasoning(reasoningId: string): void {
    const open = this.#reasonings.get(reasoningId);
    if (!open) return;
    this.#reasonings.delete(reasoningId);
    const at = { ...place(open), summary_index: 0 };
    const part = { type: "summary_text" as const, text: open.text };
    this.#emit({ type: "response.reasoning_summary_text.done", ...at, text: open.text });
    this.#emit({ type: "response.reasoning_summary_part.done", ...at, part });
    this.#done(open, { id: open.id, type: "reasoning", status: "completed", summary: [part] });
  }

  /** One that a person is going to be asked for shows as the question first. */
  #create({ threadId }: ThreadEvent, created: Created): void {
    const { toolCallId, needsApproval } = created;
    const shaped = shapeOf(created, this.#segment.builtIn);
    if (this.#isOwn && !isNamed(shaped, this.#segment.echo)) return;
    const facts: CallFacts = { ...shaped, toolCallId, threadId, input: "", wasAsked: false };
    const isLater = !this.#isOwn || (!this.#segment.echo.parallel_tool_calls && this.#calls.size > 0);
    const call: OpenCall = { facts, shown: undefined, isLater, code: "" };
    this.#calls.set(toolCallId, call);
    if (!isLater && !(needsApproval && shaped.shape === "mcp")) this.#show(call);
  }

  #show(call: OpenCall): Open {
    call.shown = this.#add(begunItem(call.facts));
    this.#tell(call, shapeEvents[call.facts.shape].begun);
    return call.shown;
  }

  /** Its turn has come: with all that the model has written of it before. */
  #showLate(call: OpenCall): void {
    if (!call.isLater) return;
    call.isLater = false;
    if (!this.#isOwn) return;
    const { shape, input } = call.facts;
    this.#show(call);
    this.#tell(call, shapeEvents[shape].inputDelta, { delta: input });
    this.#tell(call, shapeEvents[shape].codeDelta, { delta: codeOf(call) });
    this.#tellInput(call);
  }

  #inputDelta(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, input: call.facts.input + text };
    this.#tell(call, shapeEvents[call.facts.shape].inputDelta, { delta: text });
  }

  #codeDelta(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.code += text;
    this.#tell(call, shapeEvents[call.facts.shape].codeDelta, { delta: text });
  }

  /** A function that a client runs has nothing more to say: its output is the client's. */
  #inputDone(toolCallId: string, input: string | undefined): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, input: input ?? call.facts.input };
    this.#tellInput(call);
  }

  #tellInput(call: OpenCall): void {
    const { shape, isAnswered, name } = call.facts;
    this.#tell(call, shapeEvents[shape].inputDone, {
      arguments: call.facts.input,
      ...(shape === "function" && { name }),
    });
    this.#tell(call, shapeEvents[shape].codeDone, { code: codeOf(call) });
    if (shape === "function" && call.shown) {
      this.#done(call.shown, endedItem(call.facts, undefined));
      if (!isAnswered) call.shown = undefined;
    }
  }

  #ask(toolCallId: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, wasAsked: true };
    call.isLater = false;
    if (!this.#isOwn) return;
    const { serverLabel, name, input } = call.facts;
    const item: Item = {
      id: itemId("mcpr", toolCallId),
      type: "mcp_approval_request",
      server_label: serverLabel,
      name,
      arguments: input,
    };
    // It has begun to show although nobody was to be asked: policy has changed in between.
    if (call.shown) this.#done(call.shown, { ...begunItem(call.facts), status: "incomplete" } as Item);
    call.shown = undefined;
    this.#done(this.#add(item), item);
  }

  #answered(toolCallId: string, decision: ApprovalDecision): void {
    const call = this.#calls.get(toolCallId);
    if (!call || !this.#isOwn || decision !== allowed) return;
    this.#show(call);
    const { shape, input } = call.facts;
    this.#tell(call, shapeEvents[shape].inputDelta, { delta: input });
    this.#tell(call, shapeEvents[shape].inputDone, { arguments: input });
  }

  #start(toolCallId: string, summary: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    this.#showLate(call);
    this.#tell(call, shapeEvents[call.facts.shape].started, { heddle: { summary } });
  }

  #complete({ output = "", result }: Joined, completed: CallComplete): void {
    const call = this.#calls.get(completed.toolCallId);
    this.#calls.delete(completed.toolCallId);
    const { outcome, error, summary } = completed;
    // What never came to its turn has nothing to show.
    if (call && statusOf(outcome) !== "incomplete") this.#showLate(call);
    if (!call?.shown) return;
    const { include } = this.#segment.echo;
    const ended: CallOutcome = { outcome, error, output, result, include };
    const { succeeded, failed } = shapeEvents[call.facts.shape];
    const words = { heddle: { summary } };
    if (call.facts.isAnswered) {
      this.#answerFunction(call, ended);
      return;
    }
    this.#tell(call, statusOf(outcome) === "completed" ? succeeded : failed, words);
    this.#done(call.shown, endedItem(call.facts, ended), words);
  }

  /** A built-in tool that shows as a function: its output is an item of its own. */
  #answerFunction({ facts, shown }: OpenCall, { output, outcome }: CallOutcome): void {
    if (shown && this.#items[shown.index]?.type === "function_call" && outcome === ToolCallOutcome.DISCARDED) return;
    const status = statusOf(outcome) === "incomplete" ? "incomplete" : "completed";
    const call_id = itemId("call", facts.toolCallId);
    const item: Item = { id: itemId("fco", facts.toolCallId), type: "function_call_output", status, call_id, output };
    this.#done(this.#add(item), item);
  }

  #openList({ discoveryId, serverLabel }: { discoveryId: string; serverLabel: string }): void {
    if (!this.#isOwn) return;
    const id = itemId("mcpl", discoveryId);
    const open = this.#add({ id, type: "mcp_list_tools", server_label: serverLabel, tools: [] });
    this.#discoveries.set(discoveryId, { ...open, serverLabel });
    this.#emit({ type: "response.mcp_list_tools.in_progress", ...place(open), name: serverLabel });
  }

  #closeList({ tools = [] }: Joined, { discoveryId, success, errorMessage }: Discovered): void {
    const open = this.#discoveries.get(discoveryId);
    if (!open) return;
    this.#discoveries.delete(discoveryId);
    const { serverLabel } = open;
    const type = success ? "response.mcp_list_tools.completed" : "response.mcp_list_tools.failed";
    this.#emit({ type, ...place(open), name: serverLabel });
    const error = success ? {} : { error: errorMessage };
    this.#done(open, { id: open.id, type: "mcp_list_tools", server_label: serverLabel, tools, ...error });
  }

  #end({ time }: ThreadEvent, end: SegmentEnd): void {
    if (!this.#isOwn) return;
    const completedAt = end.status === "completed" && time ? Math.floor(timestampMs(time) / 1000) : null;
    this.#facts = {
      ...this.#facts,
      status: end.status,
      completedAt,
      usage: usageOf(end.usage, this.#usageBefore),
      error: end.error ?? null,
      incomplete: end.incomplete ?? null,
    };
    const type = end.status === "cancelled" ? "response.failed" : `response.${end.status}`;
    this.#emit({ type, response: this.response() });
  }

  #add(item: Item): Open {
    const open = { index: this.#items.length, id: item.id };
    if (!this.#isOwn) return open;
    this.#items.push(item);
    this.#emit({ type: "response.output_item.added", output_index: open.index, item });
    return open;
  }

  #done({ index }: Open, item: Item, words: object = {}): void {
    if (!this.#isOwn) return;
    this.#items[index] = item;
    this.#emit({ type: "response.output_item.done", output_index: index, item, ...words });
  }

  /** A stage of a call: with the tool's name, so that nobody needs to keep the item. */
  #tell({ facts, shown }: OpenCall, type: string | undefined, more: object = {}): void {
    if (type && shown) this.#emit({ type, ...place(shown), name: facts.name, ...more });
  }

  #emit(frame: Frame): void {
    if (this.#isOwn) this.#frames.push(frame);
  }
}

type Payload<Case extends ThreadEvent["payload"]["case"]> = Extract<ThreadEvent["payload"], { case: Case }>["value"];
type Created = Payload<"toolCallCreated">;
type Completed = Payload<"messageCompleted">;
type CallComplete = Payload<"toolCallComplete">;
type Discovered = Payload<"toolDiscoveryComplete">;
type ApprovalDecision = Payload<"toolCallApprovalResolved">["decision"];

const allowed: ApprovalDecision = 1;

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

const codeOf = ({ facts, code }: OpenCall): string => String(parsed(facts.input)["code"] ?? code);

const place = ({ id, index }: Open) => ({ item_id: id, output_index: index });

const citation = ({ startIndex, endIndex, uri, title }: Completed["annotations"][number]): Annotation => ({
  type: "url_citation",
  start_index: startIndex,
  end_index: endIndex,
  url: uri,
  title,
});

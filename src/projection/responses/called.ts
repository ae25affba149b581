// Calls as items of a response: which item each is, and which events tell of its stages (call-shapes.ts).
import type { ThreadEvent } from "../../thread/event.js";
import { ApprovalDecision, ToolCallOutcome } from "../../thread/schema.js";
import {
  begunItem,
  brokenItem,
  type CallFacts,
  type CallOutcome,
  endedItem,
  givenItem,
  standingItem,
  statusOf,
  wasCutOff,
} from "./call-items.js";
import { type BuiltInShape, isNamed, shapeEvents, shapeOf } from "./call-shapes.js";
import type { Citations } from "./citations.js";
import { isJson, parsed } from "./json.js";
import { type Open, type Output, place } from "./output.js";
import { itemId } from "./response-id.js";
import { type Body, type OpenCall, wantedOf } from "./wanted.js";
import type { Echo, Item } from "./wire.js";
import type { EventFields, Frame, StageType } from "./wire-events.js";

interface CalledFor {
  readonly echo: Echo;
  readonly builtIn: BuiltInShape;
  readonly citations: Citations;
}

export class Called {
  readonly #out: Output;
  readonly #segment: CalledFor;
  readonly #calls = new Map<string, OpenCall>();

  constructor(out: Output, segment: CalledFor) {
    this.#out = out;
    this.#segment = segment;
  }

  /** Which bodies an event is told with. */
  wants(event: ThreadEvent, isOwn: boolean): readonly Body[] {
    const { toolCallId = "" } = (event.payload.value ?? {}) as { readonly toolCallId?: string };
    const call = this.#calls.get(toolCallId);
    return call ? wantedOf(event, call, { isOwn, include: this.#segment.echo.include }) : [];
  }

  /** One that a person is going to be asked for shows as the question first. */
  create({ threadId }: ThreadEvent, created: Created): void {
    const { toolCallId, needsApproval } = created;
    const shaped = shapeOf(created, this.#segment.builtIn);
    if (this.#out.isOwn && !isNamed(shaped, this.#segment.echo)) return;
    const facts: CallFacts = { ...shaped, toolCallId, threadId, input: "", wasAsked: false };
    const isLater = !this.#out.isOwn || (!this.#segment.echo.parallel_tool_calls && this.#calls.size > 0);
    const call: OpenCall = { facts, shown: undefined, isLater, isUnread: false, code: "", input: "open" };
    this.#calls.set(toolCallId, call);
    const isAsked = needsApproval && (shaped.shape === "mcp" || shaped.isAnswered);
    if (!isLater && !isAsked) this.#show(call);
  }

  #show(call: OpenCall): Open {
    call.shown = this.#out.add(begunItem(call.facts), () => standingItem(call.facts, codeOf(call)));
    this.#tell(call, shapeEvents[call.facts.shape].begun, {});
    return call.shown;
  }

  /** Its turn has come: with all that the model has written of it before. */
  #showLate(call: OpenCall): void {
    if (!call.isLater) return;
    call.isLater = false;
    if (!this.#out.isOwn) return;
    const { shape, input } = call.facts;
    this.#show(call);
    this.#tell(call, shapeEvents[shape].inputDelta, { delta: input });
    this.#tell(call, shapeEvents[shape].codeDelta, { delta: codeOf(call) });
    this.#tellInput(call);
  }

  inputDelta(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, input: call.facts.input + text };
    this.#tell(call, shapeEvents[call.facts.shape].inputDelta, { delta: text });
  }

  codeDelta(toolCallId: string, text: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.code += text;
    this.#tell(call, shapeEvents[call.facts.shape].codeDelta, { delta: text });
  }

  /** A function that a client runs has nothing more to say: its output is the client's. */
  inputDone(toolCallId: string, input: string | undefined): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, input: input ?? call.facts.input };
    call.isUnread = !this.#out.isOwn;
    call.input = "complete";
    this.#tellInput(call);
  }

  /** What was not read when it was complete. */
  inputRead(toolCallId: string, input: string | undefined): void {
    const call = this.#calls.get(toolCallId);
    if (!call || input === undefined) return;
    call.facts = { ...call.facts, input };
    call.isUnread = false;
  }

  #tellInput(call: OpenCall): void {
    const { shape, name } = call.facts;
    this.#tell(call, shapeEvents[shape].inputDone, {
      arguments: call.facts.input,
      ...(shape === "function" && { name }),
    });
    this.#tell(call, shapeEvents[shape].codeDone, { code: codeOf(call) });
    // What is no JSON may have been cut off: whether it was shows in the event behind it.
    if (shape === "function" && isJson(call.facts.input)) this.#give(call);
  }

  /** A function is its caller's to run. */
  #give(call: OpenCall): void {
    if (call.facts.shape !== "function" || call.input !== "complete" || !call.shown) return;
    call.input = "given";
    this.#out.done(call.shown, givenItem(call.facts));
    if (!call.facts.isAnswered) call.shown = undefined;
  }

  ask(toolCallId: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.facts = { ...call.facts, wasAsked: true };
    call.isLater = false;
    if (!this.#out.isOwn) return;
    const { serverLabel, name, input } = call.facts;
    const item: Item = {
      id: itemId("mcpr", toolCallId),
      type: "mcp_approval_request",
      server_label: serverLabel,
      name,
      arguments: input,
    };
    // It has begun to show although nobody was to be asked: policy has changed in between.
    if (call.shown && call.input !== "given") this.#out.done(call.shown, brokenItem(call.facts));
    call.shown = undefined;
    this.#out.done(this.#out.add(item), item);
  }

  answered(toolCallId: string, decision: ApprovalDecision): void {
    const call = this.#calls.get(toolCallId);
    if (!call || !this.#out.isOwn || decision !== ApprovalDecision.ALLOWED) return;
    this.#show(call);
    const { shape, input } = call.facts;
    this.#tell(call, shapeEvents[shape].inputDelta, { delta: input });
    this.#tell(call, shapeEvents[shape].inputDone, { arguments: input });
    this.#give(call);
  }

  start(toolCallId: string, summary: string): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    this.#showLate(call);
    this.#give(call);
    this.#tell(call, shapeEvents[call.facts.shape].started, { heddle: { summary } });
  }

  complete({ output = "", result }: Given, completed: CallComplete): void {
    const call = this.#calls.get(completed.toolCallId);
    this.#calls.delete(completed.toolCallId);
    const { outcome, error, summary } = completed;
    if (call && outcome === ToolCallOutcome.SUCCEEDED) this.#segment.citations.know(call.facts.shape, result);
    // What never came to its turn has nothing to show.
    if (call && (statusOf(completed) !== "incomplete" || wasCutOff(completed))) this.#showLate(call);
    if (!call?.shown) return;
    const { include } = this.#segment.echo;
    const ended: CallOutcome = { outcome, error, output, result, include };
    if (call.facts.shape === "function") {
      this.#endFunction(call, ended);
      return;
    }
    const { succeeded, failed } = shapeEvents[call.facts.shape];
    const words = { heddle: { summary } };
    this.#tell(call, statusOf(ended) === "completed" ? succeeded : failed, words);
    this.#out.done(call.shown, endedItem(call.facts, ended), words);
  }

  #endFunction(call: OpenCall, ended: CallOutcome): void {
    const isBroken = call.input === "open" || wasCutOff(ended) || !call.facts.isAnswered;
    if (call.shown && call.input !== "given" && isBroken) {
      this.#out.done(call.shown, brokenItem(call.facts));
      return;
    }
    this.#give(call);
    if (call.facts.isAnswered && ended.outcome !== ToolCallOutcome.DISCARDED) this.#answerFunction(call, ended);
  }

  /** A built-in tool that shows as a function: its output is an item of its own. */
  #answerFunction({ facts }: OpenCall, ended: CallOutcome): void {
    const status = statusOf(ended) === "incomplete" ? "incomplete" : "completed";
    const call_id = itemId("call", facts.toolCallId);
    const { output } = ended;
    const item: Item = { id: itemId("fco", facts.toolCallId), type: "function_call_output", status, call_id, output };
    this.#out.done(this.#out.add(item), item);
  }

  /** A stage of a call: with the tool's name, so that nobody needs to keep the item. */
  #tell<Type extends StageType>(
    { facts, shown }: OpenCall,
    type: Type | undefined,
    more: Omit<EventFields[Type], "item_id" | "output_index" | "name">,
  ): void {
    if (type && shown) this.#out.emit({ type, ...place(shown), name: facts.name, ...more } as Frame);
  }
}

type Payload<Case extends ThreadEvent["payload"]["case"]> = Extract<ThreadEvent["payload"], { case: Case }>["value"];
type Created = Payload<"toolCallCreated">;
type CallComplete = Payload<"toolCallComplete">;

/** What a call gave: what the model was told, and the result where it is JSON. */
interface Given {
  readonly output?: string;
  readonly result?: unknown;
}

const codeOf = ({ facts, code }: OpenCall): string => String(parsed(facts.input)["code"] ?? code);

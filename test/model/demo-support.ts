// A turn of the demo with the real tools: it asks, runs what is called, and asks again.
import { demoModel } from "../../src/model/demo.js";
import type { ModelCall, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import { checkInput } from "../../src/tool/check-input.js";
import type { ToolRegistry } from "../../src/tool/registry.js";
import type { ToolContext } from "../../src/tool/tool.js";

export const never = new AbortController().signal;

export interface Stage {
  readonly registry: ToolRegistry;
  readonly workspace: string;
  /** What a call is told instead of being run. Undefined: it runs. */
  refuse?(call: ModelCall): string | undefined;
}

/** Tools as a request offers them. */
export const offeredBy = (registry: ToolRegistry, names: readonly string[] = [...registry.names()]): ModelTool[] =>
  names.map((name) => ({ name, description: "", inputSchema: registry.inputSchema(name) }));

export interface Played {
  readonly replies: ModelEvent[][];
  readonly messages: readonly ModelMessage[];
}

/** Until there is an answer or a tool ends the turn. */
export async function playTurn(
  stage: Stage,
  start: readonly ModelMessage[],
  given: Partial<ModelRequest> = {},
): Promise<Played> {
  const replies: ModelEvent[][] = [];
  const messages = [...start];
  for (;;) {
    const reply = await ask({ tools: offeredBy(stage.registry), ...given, messages });
    replies.push(reply);
    const calls = callsOf(reply);
    messages.push({ role: "assistant", text: textOf(reply), calls });
    const results = await Promise.all(calls.map((call) => runCall(stage, call)));
    messages.push(...results.map(({ message }) => message));
    if (calls.length === 0 || results.some(({ isStop }) => isStop)) return { replies, messages };
  }
}

async function runCall(
  { registry, workspace, refuse }: Stage,
  call: ModelCall,
): Promise<{ message: ModelMessage; isStop: boolean }> {
  const told = (text: string, isError: boolean): ModelMessage => ({ role: "tool", callId: call.id, text, isError });
  const refusal = refuse?.(call);
  if (refusal !== undefined) return { message: told(refusal, true), isStop: false };
  const tool = registry.get(call.name)!;
  const checked = checkInput(tool, call.input);
  if (!checked.ok) throw new Error(checked.message);
  const quiet = { progress() {}, phase() {}, plan() {}, output() {} };
  const context: ToolContext = { toolCallId: call.id, threadId: "t", signal: never, workspace, ...quiet };
  try {
    const { result, stopIteration = false, isError = false } = await tool.run(checked.input, context);
    return { message: told(tool.toModel?.(result) ?? JSON.stringify(result), isError), isStop: stopIteration };
  } catch (error) {
    return { message: told((error as Error).message, true), isStop: false };
  }
}

export const requestWith = (given: Partial<ModelRequest>): ModelRequest => ({
  instructions: "",
  messages: [],
  tools: [],
  toolChoice: { type: "auto" },
  parallelToolCalls: true,
  ...given,
});

export const ask = (given: Partial<ModelRequest>): Promise<ModelEvent[]> =>
  collect(demoModel({ paceMs: 0 }).stream(requestWith(given), never));

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const seen: ModelEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

export const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

export const namesOf = (events: readonly ModelEvent[]): string[] => callsOf(events).map(({ name }) => name);

export function callsOf(events: readonly ModelEvent[]): ModelCall[] {
  const calls: { id: string; name: string; input: string }[] = [];
  for (const event of events) {
    if (event.type !== "tool_call") continue;
    calls[event.index] ??= { id: newId(), name: "", input: "" };
    const call = calls[event.index]!;
    call.name += event.name ?? "";
    call.input += event.input ?? "";
  }
  return calls;
}

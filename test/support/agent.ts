// Agents for tests: a model whose replies are written down, tools that do what the test says, and a run from message to end.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { z } from "zod";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { type ClientTool, ClientToolSchema, type RunOptions } from "../../src/thread/schema.js";
import { defineTool, type ToolContext, type ToolDefinition, type ToolOutcome } from "../../src/tool/tool.js";
import { type Core, storedEvents } from "./core.js";

/** One reply: events as they come, or what makes them. A function may wait, throw or look at the request. */
export type ReplyScript =
  | readonly ModelEvent[]
  | ((request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent> | readonly ModelEvent[]);

export interface TestModel extends Model {
  readonly requests: ModelRequest[];
}

/** Replies in turn, one for each time it is asked. Asked more often, the test has made a mistake. */
export function replies(...scripts: readonly ReplyScript[]): TestModel {
  const requests: ModelRequest[] = [];
  return {
    name: "test:model",
    requests,
    async *stream(request, signal) {
      const script = scripts[requests.length];
      requests.push(request);
      if (!script) throw new Error(`The model was asked ${requests.length} times, and has ${scripts.length} replies`);
      yield* typeof script === "function" ? script(request, signal) : script;
    },
  };
}

export const said = (text: string): ModelEvent[] => [
  { type: "text", text },
  { type: "end", reason: "stop", providerReason: "stop" },
];

export const called = (...calls: readonly { name: string; input?: unknown; id?: string }[]): ModelEvent[] => [
  ...calls.map(
    ({ name, input = {}, id }, index): ModelEvent => ({
      type: "tool_call",
      index,
      name,
      input: typeof input === "string" ? input : JSON.stringify(input),
      ...(id !== undefined && { id }),
    }),
  ),
  { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
];

/** A tool with any input, whose work is a function. */
export function tool(
  name: string,
  run: (
    input: Record<string, unknown>,
    context: ToolContext,
  ) => Promise<Partial<ToolOutcome<unknown>>> = async () => ({}),
  extra: Partial<ToolDefinition> = {},
): ToolDefinition {
  return defineTool({
    name,
    title: `The ${name}`,
    description: `Does what ${name} does.`,
    kind: "other",
    input: z.looseObject({}),
    output: z.unknown(),
    describe: () => `Doing ${name}`,
    run: async (input, context) => ({
      result: { done: name },
      summary: `Did ${name}`,
      ...(await run(input as Record<string, unknown>, context)),
    }),
    ...extra,
  } as ToolDefinition);
}

/** What a client declares. */
export const clientToolOf = (name: string, fields: MessageInitShape<typeof ClientToolSchema> = {}): ClientTool =>
  create(ClientToolSchema, { name, ...fields });

/** Sends a message to a new thread, or one that is there. */
export async function send(
  core: Core,
  { threadId, text = "Go", options }: { threadId?: string; text?: string; options?: RunOptions } = {},
): Promise<{ threadId: string; runId: string }> {
  const id = threadId ?? (await core.threads.create({ threadId: "", title: "", labels: {} })).id;
  const runId = await core.threads.send(id, { requestId: newId(), text, options });
  return { threadId: id, runId };
}

/** Resolves with the thread's events once one of them is what is waited for. */
export async function until(
  core: Core,
  threadId: string,
  isDue: (event: ThreadEvent) => boolean,
): Promise<readonly ThreadEvent[]> {
  const stop = new AbortController();
  const request = { threadId, afterSequence: 0n, follow: true };
  for await (const event of core.threads.follow(request, stop.signal)) {
    if (!isDue(event)) continue;
    stop.abort();
    break;
  }
  return storedEvents(core, threadId);
}

export const isCase =
  (name: NonNullable<ThreadEvent["payload"]["case"]>) =>
  ({ payload }: ThreadEvent): boolean =>
    payload.case === name;

/** The events of a whole run. */
export async function play(
  core: Core,
  options: Parameters<typeof send>[1] = {},
): Promise<{ threadId: string; runId: string; events: readonly ThreadEvent[] }> {
  const sent = await send(core, options);
  const isEnd = ({ payload, runId }: ThreadEvent) => payload.case === "runCompleted" && runId === sent.runId;
  const events = await until(core, sent.threadId, isEnd);
  return { ...sent, events: events.filter(({ runId }) => runId === sent.runId) };
}

/** The cases in order, neighbours of one kind of delta joined. */
export const cases = (events: readonly ThreadEvent[]): string[] =>
  events
    .map(({ payload }) => payload.case ?? "none")
    .filter((name, index, all) => !(name.endsWith("Delta") && all[index - 1] === name));

type Value<Case> = Extract<ThreadEvent["payload"], { case: Case }>["value"];

/** What the events of one case carry. */
export const valuesOf = <Case extends NonNullable<ThreadEvent["payload"]["case"]>>(
  events: readonly ThreadEvent[],
  name: Case,
): Value<Case>[] => events.flatMap(({ payload }) => (payload.case === name ? [payload.value as Value<Case>] : []));

// An event joined with the bodies that it only tells of, as far as the fold wants them.
import type { ThreadEvent } from "../../thread/event.js";
import type { Joined } from "./project.js";
import type { Body } from "./wanted.js";
import type { McpListedTool } from "./wire.js";

/** Where bodies are read. */
export interface Bodies {
  /** Undefined when there is none. Long ones are cut. */
  text(threadId: string, toolCallId: string, contentId: "input" | "result"): Promise<string | undefined>;
  /** What the model was told of a call that is over. */
  told(threadId: string, call: EndedCall): Promise<string>;
  /** The list of an MCP server, as it gave it: JSON text. */
  list(threadId: string, discoveryId: string): Promise<string>;
}

export type EndedCall = Extract<ThreadEvent["payload"], { case: "toolCallComplete" }>["value"];

/** With the bodies that are wanted of it, and no other. */
export async function join(event: ThreadEvent, wanted: readonly Body[], bodies: Bodies): Promise<Joined> {
  if (wanted.length === 0) return { event };
  const { payload, threadId } = event;
  if (payload.case === "toolDiscoveryComplete")
    return { event, tools: listed(await bodies.list(threadId, payload.value.discoveryId)) };
  const { toolCallId } = payload.value as { readonly toolCallId: string };
  const text = (body: "input" | "result") =>
    wanted.includes(body) ? bodies.text(threadId, toolCallId, body) : undefined;
  const input = await text("input");
  const result = await text("result");
  const isTold = payload.case === "toolCallComplete" && wanted.includes("output");
  return {
    event,
    ...(input !== undefined && { input }),
    ...(result !== undefined && { result: parsed(result) }),
    ...(isTold && { output: await bodies.told(threadId, payload.value) }),
  };
}

function listed(json: string): McpListedTool[] {
  const tools = parsed(json);
  if (!Array.isArray(tools)) return [];
  return tools.map(({ name, description = null, inputSchema = {}, annotations = null }) => ({
    name,
    description,
    input_schema: inputSchema,
    annotations,
  }));
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

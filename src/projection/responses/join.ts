// An event joined with the bodies that it only tells of, as far as the fold wants them.
import type { ThreadEvent } from "../../thread/event.js";
import type { Joined } from "./project.js";
import type { McpListedTool } from "./wire.js";

/** Where bodies are read. */
export interface Bodies {
  /** Undefined when there is none. Long ones are cut. */
  text(threadId: string, toolCallId: string, contentId: "input" | "result" | "model"): Promise<string | undefined>;
  /** What the model was told of a call that is over. */
  told(threadId: string, call: EndedCall): Promise<string>;
  /** The list of an MCP server, as it gave it: JSON text. */
  list(threadId: string, discoveryId: string): Promise<string>;
}

export type EndedCall = Extract<ThreadEvent["payload"], { case: "toolCallComplete" }>["value"];

const withResults: ReadonlySet<string> = new Set(["web_search", "file_search"]);

export async function join(event: ThreadEvent, bodies: Bodies): Promise<Joined> {
  const { payload, threadId } = event;
  switch (payload.case) {
    case "toolCallInputCompleted": {
      const input = await bodies.text(threadId, payload.value.toolCallId, "input");
      return input === undefined ? { event } : { event, input };
    }
    case "toolCallComplete": {
      const { toolCallId, toolName } = payload.value;
      const output = await bodies.told(threadId, payload.value);
      const result = withResults.has(toolName) ? await bodies.text(threadId, toolCallId, "result") : undefined;
      return { event, output, ...(result !== undefined && { result: parsed(result) }) };
    }
    case "toolDiscoveryComplete": {
      if (!payload.value.success) return { event };
      return { event, tools: listed(await bodies.list(threadId, payload.value.discoveryId)) };
    }
    default:
      return { event };
  }
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

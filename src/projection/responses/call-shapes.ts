// How a call shows: which item it is, and which events tell of its stages. One row a kind of item; what a row leaves out has no event
// in the protocol.
import type { ThreadEvent } from "../../thread/event.js";
import type { ItemPrefix } from "./response-id.js";
import type { Echo } from "./wire.js";
import type { StageWith } from "./wire-events.js";

export type CallShape = "function" | "mcp" | "web_search" | "file_search" | "code_interpreter";

interface ShapeEvents {
  readonly prefix: ItemPrefix;
  /** Right behind the item. */
  readonly begun?: StageWith<never>;
  readonly inputDelta?: StageWith<"delta">;
  readonly inputDone?: StageWith<"arguments">;
  readonly codeDelta?: StageWith<"delta">;
  readonly codeDone?: StageWith<"code">;
  readonly started?: StageWith<never>;
  readonly succeeded?: StageWith<never>;
  /** Only MCP has one: a failed search or interpreter ends with the item's status alone. */
  readonly failed?: StageWith<never>;
}

export const shapeEvents: Readonly<Record<CallShape, ShapeEvents>> = {
  function: {
    prefix: "fc",
    inputDelta: "response.function_call_arguments.delta",
    inputDone: "response.function_call_arguments.done",
  },
  mcp: {
    prefix: "mcp",
    begun: "response.mcp_call.in_progress",
    inputDelta: "response.mcp_call_arguments.delta",
    inputDone: "response.mcp_call_arguments.done",
    succeeded: "response.mcp_call.completed",
    failed: "response.mcp_call.failed",
  },
  web_search: {
    prefix: "ws",
    begun: "response.web_search_call.in_progress",
    started: "response.web_search_call.searching",
    succeeded: "response.web_search_call.completed",
  },
  file_search: {
    prefix: "fs",
    begun: "response.file_search_call.in_progress",
    started: "response.file_search_call.searching",
    succeeded: "response.file_search_call.completed",
  },
  code_interpreter: {
    prefix: "ci",
    begun: "response.code_interpreter_call.in_progress",
    codeDelta: "response.code_interpreter_call_code.delta",
    codeDone: "response.code_interpreter_call_code.done",
    started: "response.code_interpreter_call.interpreting",
    succeeded: "response.code_interpreter_call.completed",
  },
};

/** What built-in tools without an item type of their own show as. */
export type BuiltInShape = "mcp" | "function";

/** The label under which the server's own tools are asked for, and show. */
export const ownLabel = "heddle";

type Created = Extract<ThreadEvent["payload"], { case: "toolCallCreated" }>["value"];

export interface ShapedCall {
  readonly shape: CallShape;
  readonly name: string;
  /** Of MCP calls. */
  readonly serverLabel: string;
  /** The server answers it itself: a function with an output of its own. */
  readonly isAnswered: boolean;
}

/** Whether a request named the tool: a model may call others, in vain, and its caller knows nothing of those. */
export function isNamed(
  { shape, serverLabel }: ShapedCall,
  { tools, tool_choice }: Pick<Echo, "tools" | "tool_choice">,
) {
  if (tool_choice === "none") return false;
  if (shape === "function" && serverLabel === "") return true;
  const named = tools as readonly { readonly type: string; readonly server_label?: string }[];
  if (shape === "mcp" || shape === "function") return serverLabel !== ownLabel || named.some(isOwnServer);
  return named.some(({ type }) => type.startsWith(shape));
}

const isOwnServer = ({ type, server_label }: { readonly type: string; readonly server_label?: string }): boolean =>
  type === "mcp" && server_label === ownLabel;

export function shapeOf({ toolName, source }: Created, builtIn: BuiltInShape): ShapedCall {
  if (source?.source.case === "mcp") {
    const { serverLabel, toolName: name } = source.source.value;
    return { shape: "mcp", name, serverLabel, isAnswered: false };
  }
  if (source?.source.case === "client")
    return { shape: "function", name: toolName, serverLabel: "", isAnswered: false };
  const hosted = (["web_search", "file_search", "code_interpreter"] as const).find((name) => name === toolName);
  if (hosted) return { shape: hosted, name: toolName, serverLabel: "", isAnswered: false };
  return { shape: builtIn, name: toolName, serverLabel: ownLabel, isAnswered: builtIn === "function" };
}

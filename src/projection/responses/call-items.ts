// Items of calls, as they begin and as they end.
import { ToolCallOutcome } from "../../thread/schema.js";
import type { ShapedCall } from "./call-shapes.js";
import { shapeEvents } from "./call-shapes.js";
import { passagesOf, sourcesOf } from "./found.js";
import { parsed, textOf } from "./json.js";
import { itemId } from "./response-id.js";
import type { Item, ItemStatus, McpError } from "./wire.js";

/** What is known of a call so far. */
export interface CallFacts extends ShapedCall {
  readonly toolCallId: string;
  readonly threadId: string;
  /** As the model has written it so far. */
  readonly input: string;
  /** A person was asked. */
  readonly wasAsked: boolean;
}

interface HowEnded {
  readonly outcome: ToolCallOutcome;
  readonly error?: { readonly kind: string; readonly code: string; readonly message: string } | undefined;
}

/** How it ended. */
export interface CallOutcome extends HowEnded {
  /** What the model was told. */
  readonly output: string;
  /** The result, where it is JSON. */
  readonly result: unknown;
  /** What the request wants to see. */
  readonly include: readonly string[];
}

/** Nothing of its input is known then, or is shown. */
export const begunItem = (call: CallFacts): Item => itemOf({ ...call, input: "" }, "in_progress", undefined);

/** With what is known of its input so far. */
export function standingItem(call: CallFacts, code: string): Item {
  const item = itemOf(call, "in_progress", undefined);
  return item.type === "code_interpreter_call" ? { ...item, code } : item;
}

/** A function whose input is complete: there is nothing more of it. */
export const givenItem = (call: CallFacts): Item => itemOf(call, "completed", undefined);

/** One that never came to be anybody's: the model did not finish it, or nobody may run it. */
export const brokenItem = (call: CallFacts): Item => itemOf(call, "incomplete", undefined);

export const endedItem = (call: CallFacts, ended: CallOutcome): Item => itemOf(call, statusOf(ended), ended);

export const statusOf = ({ outcome, error }: HowEnded): ItemStatus =>
  outcome === ToolCallOutcome.SUCCEEDED
    ? "completed"
    : outcome === ToolCallOutcome.DISCARDED || outcome === ToolCallOutcome.CANCELLED || wasCutOff({ outcome, error })
      ? "incomplete"
      : "failed";

/** Its input ran into the length limit of the reply. */
export const wasCutOff = ({ error }: HowEnded): boolean => error?.kind === "truncated_input";

function itemOf(call: CallFacts, status: ItemStatus, ended: CallOutcome | undefined): Item {
  const id = itemId(shapeEvents[call.shape].prefix, call.toolCallId);
  switch (call.shape) {
    case "function": {
      const { name, input } = call;
      const call_id = itemId("call", call.toolCallId);
      return { id, type: "function_call", status, call_id, name, arguments: input };
    }
    case "mcp":
      return {
        id,
        type: "mcp_call",
        status,
        approval_request_id: call.wasAsked ? itemId("mcpr", call.toolCallId) : null,
        server_label: call.serverLabel,
        name: call.name,
        arguments: call.input,
        output: ended && status === "completed" ? ended.output : null,
        error: ended && status !== "completed" ? mcpError(ended) : null,
      };
    case "web_search": {
      if (!ended) return { id, type: "web_search_call", status };
      const query = textOf(parsed(call.input), "query");
      const queries = query === "" ? [] : [query];
      const sources = ended.include.includes("web_search_call.action.sources")
        ? { sources: sourcesOf(ended.result) }
        : {};
      return { id, type: "web_search_call", status, action: { type: "search", query, queries, ...sources } };
    }
    case "file_search": {
      const query = ended ? textOf(parsed(call.input), "query") : "";
      const isWanted = ended?.include.includes("file_search_call.results") && status === "completed";
      const results = ended && isWanted ? passagesOf(ended.result) : null;
      return { id, type: "file_search_call", status, queries: query === "" ? [] : [query], results };
    }
    case "code_interpreter": {
      const code = textOf(parsed(call.input), "code");
      const container_id = itemId("cntr", call.threadId);
      const isWanted = ended?.include.includes("code_interpreter_call.outputs");
      const outputs = ended && isWanted ? [{ type: "logs" as const, logs: ended.output }] : ended ? null : [];
      return { id, type: "code_interpreter_call", status, code: ended ? code : "", container_id, outputs };
    }
  }
}

/** What MCP and HTTP call their own errors is kept apart from what a tool says. */
function mcpError({ error, output }: CallOutcome): McpError {
  const { kind = "", code = "", message = output } = error ?? {};
  if (kind === "protocol_error") return { type: "mcp_protocol_error", code: Number(code) || 0, message };
  if (kind === "http_error") return { type: "http_error", code: Number(code) || 0, message };
  return { type: "mcp_tool_execution_error", content: [{ type: "text", text: output || message }] };
}

// Shapes of what leaves: items, the response, errors and lists; the events of a stream are in event-shape.ts. They are what /openapi.json
// shows. The compiler holds items to wire.ts; tests hold the whole to what servers really send.
import { z } from "zod";
import type { Item } from "./wire.js";

export const text = z.string();
export const index = z.int().min(0);
const status = z.enum(["in_progress", "searching", "interpreting", "completed", "incomplete", "failed"]);
const json = z.unknown();

export const annotation = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("url_citation"),
    start_index: index.describe("In characters, from the start of the text."),
    end_index: index.describe("Exclusive."),
    url: text,
    title: text,
  }),
  z.strictObject({
    type: z.literal("file_citation"),
    index: index.describe("Right behind the words that name the file, in characters."),
    file_id: text,
    filename: text,
  }),
]);
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text,
  annotations: z.array(annotation),
  logprobs: z.tuple([]),
});
export const part = z.discriminatedUnion("type", [
  outputText,
  z.strictObject({ type: z.literal("refusal"), refusal: text }),
]);
export const summaryPart = z.strictObject({ type: z.literal("summary_text"), text });

const items = {
  MessageItem: z.strictObject({
    id: text,
    type: z.literal("message"),
    status,
    role: z.literal("assistant"),
    content: z.array(part),
  }),
  ReasoningItem: z.strictObject({ id: text, type: z.literal("reasoning"), status, summary: z.array(summaryPart) }),
  FunctionCallItem: z.strictObject({
    id: text,
    type: z.literal("function_call"),
    status,
    call_id: text,
    name: text,
    arguments: text,
  }),
  FunctionOutputItem: z.strictObject({
    id: text,
    type: z.literal("function_call_output"),
    status,
    call_id: text,
    output: text,
  }),
  McpCallItem: z.strictObject({
    id: text,
    type: z.literal("mcp_call"),
    status,
    approval_request_id: text.nullable(),
    server_label: text,
    name: text,
    arguments: text,
    output: text.nullable(),
    error: z
      .discriminatedUnion("type", [
        z.strictObject({ type: z.literal("mcp_protocol_error"), code: z.int(), message: text }),
        z.strictObject({ type: z.literal("mcp_tool_execution_error"), content: z.array(json) }),
        z.strictObject({ type: z.literal("http_error"), code: z.int(), message: text }),
      ])
      .nullable(),
  }),
  McpListItem: z.strictObject({
    id: text,
    type: z.literal("mcp_list_tools"),
    server_label: text,
    tools: z.array(z.strictObject({ name: text, description: text.nullable(), input_schema: json, annotations: json })),
    error: text.exactOptional(),
  }),
  McpApprovalItem: z.strictObject({
    id: text,
    type: z.literal("mcp_approval_request"),
    server_label: text,
    name: text,
    arguments: text,
  }),
  WebSearchItem: z.strictObject({
    id: text,
    type: z.literal("web_search_call"),
    status,
    action: z
      .strictObject({
        type: z.literal("search"),
        query: text,
        queries: z.array(text),
        sources: z.array(json).exactOptional(),
      })
      .exactOptional(),
  }),
  FileSearchItem: z.strictObject({
    id: text,
    type: z.literal("file_search_call"),
    status,
    queries: z.array(text),
    results: z.array(json).nullable(),
  }),
  CodeItem: z.strictObject({
    id: text,
    type: z.literal("code_interpreter_call"),
    status,
    code: text,
    container_id: text,
    outputs: z.array(z.strictObject({ type: z.literal("logs"), logs: text })).nullable(),
  }),
} as const satisfies Readonly<Record<string, z.ZodType<Item>>>;

export const item = z.discriminatedUnion("type", [
  items.MessageItem,
  items.ReasoningItem,
  items.FunctionCallItem,
  items.FunctionOutputItem,
  items.McpCallItem,
  items.McpListItem,
  items.McpApprovalItem,
  items.WebSearchItem,
  items.FileSearchItem,
  items.CodeItem,
]);
/** An item that wire.ts has and this file does not, or the other way round, does not compile. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
true satisfies Same<z.output<typeof item>["type"], Item["type"]>;

const usage = z.strictObject({
  input_tokens: index,
  input_tokens_details: z.strictObject({ cached_tokens: index }),
  output_tokens: index,
  output_tokens_details: z.strictObject({ reasoning_tokens: index }),
  total_tokens: index,
});

/** Every key is there, also where there is nothing to say. */
export const response = z.strictObject({
  id: text,
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
  error: z.strictObject({ code: text, message: text }).nullable(),
  incomplete_details: z.strictObject({ reason: text }).nullable(),
  output: z.array(item),
  usage: usage.nullable(),
  model: text,
  instructions: text.nullable(),
  previous_response_id: text.nullable(),
  tools: z.array(json),
  tool_choice: json,
  parallel_tool_calls: z.boolean(),
  temperature: z.number(),
  top_p: z.number(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  metadata: z.record(text, text),
  store: z.boolean(),
  background: z.boolean(),
  text: json,
  reasoning: json,
  truncation: text,
  service_tier: text,
  top_logprobs: z.int(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  safety_identifier: text.nullable(),
  prompt_cache_key: text.nullable(),
  user: text.nullable(),
});

const model = z.strictObject({ id: text, object: z.literal("model"), created: z.int(), owned_by: text });
const list = <Data extends z.ZodType>(data: Data) => z.strictObject({ object: z.literal("list"), data: z.array(data) });

/** Everything else that leaves, by its name in the document. */
export const answerShapes = {
  ...items,
  Item: item,
  Response: response,
  ResponseDeleted: z.strictObject({ id: text, object: z.literal("response"), deleted: z.literal(true) }),
  InputItems: list(z.looseObject({ id: text })).extend({
    first_id: text.nullable(),
    last_id: text.nullable(),
    has_more: z.boolean(),
  }),
  Model: model,
  Models: list(model),
  ApiError: z.strictObject({
    error: z.strictObject({ message: text, type: text, param: text.nullable(), code: text.nullable() }),
  }),
} as const;

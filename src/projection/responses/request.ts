// From what a caller asks to what a run is given: the conversation, the tools it may use, and what is echoed.
import { create } from "@bufbuild/protobuf";
import type { BeginRequest } from "../../responses.js";
import {
  ClientToolSchema,
  RunOptionsSchema,
  type TextFormat,
  TextFormatKind,
  TextFormatSchema,
} from "../../thread/schema.js";
import { wrong } from "./errors.js";
import { choiceOf } from "./request-choice.js";
import { type ListedItem, readInput } from "./request-input.js";
import type { RequestedTool, ResponseRequest } from "./request-shape.js";
import { toolsOf } from "./request-tools.js";
import { parseResponseId } from "./response-id.js";
import type { Echo } from "./wire.js";

/** What the server has. */
export interface Offered {
  readonly models: readonly string[];
  readonly defaultModel: string;
  /** Built-in tools, by name. */
  readonly tools: readonly string[];
  /** Labels of MCP servers that need no address. */
  readonly servers: readonly string[];
}

/** What is kept with a response. */
export interface ResponseRecord {
  readonly echo: Echo;
  readonly input: readonly ListedItem[];
}

export interface Understood {
  readonly begin: Omit<BeginRequest, "record">;
  readonly previous: ReturnType<typeof parseResponseId>;
  readonly record: ResponseRecord;
  readonly isStream: boolean;
}

export function understand(request: ResponseRequest, offered: Offered): Understood {
  const previousId = request.previous_response_id ?? null;
  const previous = previousId === null ? undefined : parseResponseId(previousId);
  if (previousId !== null && !previous)
    throw wrong(
      "previous_response_id",
      `Previous response with id '${previousId.slice(0, 100)}' not found.`,
      "previous_response_not_found",
    );
  if (request.background && request.store === false) throw wrong("background", "Background mode requires store=true.");
  const input = readInput(request.input ?? [], previous !== undefined);
  const tools = toolsOf(request.tools ?? [], offered);
  const model = modelOf(request.model ?? "", offered);
  const options = create(RunOptionsSchema, {
    model,
    instructions: [request.instructions ?? "", ...input.instructions].filter(Boolean).join("\n\n"),
    parallelToolCalls: request.parallel_tool_calls ?? true,
    maxOutputTokens: request.max_output_tokens ?? 0,
    maxToolCalls: request.max_tool_calls ?? 0,
    ...(typeof request.temperature === "number" && { temperature: request.temperature }),
    ...(typeof request.top_p === "number" && { topP: request.top_p }),
    // None is what a model does without being asked: those that cannot be asked need not be.
    ...(request.presence_penalty && { presencePenalty: request.presence_penalty }),
    ...(request.frequency_penalty && { frequencyPenalty: request.frequency_penalty }),
    onlyAllowedTools: true,
    endWhenUnclaimed: true,
    endWhenCutOff: true,
    allowedTools: tools.allowed,
    approvedTools: tools.approved,
    guardedTools: tools.guarded,
    clientTools: tools.functions.map((tool) => create(ClientToolSchema, tool)),
    ...choiceOf(request.tool_choice, tools.named),
    ...formatOf(request.text?.format),
  });
  const { text, images, past, outputs, approvals } = input;
  return {
    begin: {
      text,
      images,
      past,
      outputs,
      approvals,
      options,
      mcpServers: tools.servers,
      isAttended: !request.background,
      isStored: request.store !== false,
    },
    previous,
    record: { echo: echoOf(request, model), input: input.items },
    isStream: request.stream === true,
  };
}

/** A name as OpenAI's clients have it, without the provider, is taken for the one that is offered. */
function modelOf(name: string, { models, defaultModel }: Offered): string {
  if (name === "" || name === "heddle") return defaultModel;
  return models.includes(name)
    ? name
    : (models.find((offered) => offered.slice(offered.indexOf(":") + 1) === name) ?? name);
}

function formatOf(format: NonNullable<ResponseRequest["text"]>["format"]): { textFormat?: TextFormat } {
  if (!format || format.type === "text") return {};
  if (format.type === "json_object")
    return { textFormat: create(TextFormatSchema, { kind: TextFormatKind.JSON_OBJECT }) };
  const { name, description, schema, strict } = format;
  return {
    textFormat: create(TextFormatSchema, {
      kind: TextFormatKind.JSON_SCHEMA,
      name,
      description: description ?? "",
      schemaJson: JSON.stringify(schema),
      ...(typeof strict === "boolean" && { strict }),
    }),
  };
}

/** Every key, as the protocol echoes it. */
function echoedText(text: ResponseRequest["text"]): unknown {
  const { format, verbosity } = text ?? {};
  const said =
    format?.type === "json_schema"
      ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
      : (format ?? { type: "text" });
  return { format: said, ...(verbosity && { verbosity }) };
}

function echoOf(request: ResponseRequest, model: string): Echo {
  return {
    model,
    instructions: request.instructions ?? null,
    previous_response_id: request.previous_response_id ?? null,
    tools: (request.tools ?? []).map(echoedTool),
    tool_choice: request.tool_choice ?? "auto",
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    store: request.store ?? true,
    background: request.background ?? false,
    include: request.include ?? [],
    text: echoedText(request.text),
    reasoning: { effort: null, summary: null, ...request.reasoning },
    truncation: request.truncation ?? "disabled",
    service_tier: "default",
    top_logprobs: 0,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    user: request.user ?? null,
  };
}

/** What lets us in at a server is never kept, nor shown. */
function echoedTool(tool: RequestedTool): unknown {
  if (tool.type === "function") {
    const { type, name, description = null, parameters = null, strict = null } = tool;
    return { type, name, description, parameters, strict };
  }
  if (tool.type !== "mcp") return tool;
  const { headers: _, authorization: __, ...shown } = tool;
  return shown;
}

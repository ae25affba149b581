// What the model is asked: the conversation, and the tools that this run may use.
import type { ModelMessage, ModelRequest, ToolChoice } from "../model/model.js";
import { type TextFormat, TextFormatKind, ToolChoiceMode } from "../thread/schema.js";
import type { Run } from "./run.js";

export function buildRequest(run: Run): ModelRequest {
  const { options, tools } = run;
  const toolChoice = choiceOf(run);
  return {
    instructions: options.instructions,
    messages: run.messages.map((message) => withKnownNames(run, message)),
    // Providers refuse a conversation with calls whose tools are not named: they are named also where none may be used.
    tools: tools.list().map(({ name, description }) => ({ name, description, inputSchema: tools.inputSchema(name) })),
    toolChoice,
    parallelToolCalls: options.parallelToolCalls !== false,
    ...(options.maxOutputTokens > 0 && { maxOutputTokens: options.maxOutputTokens }),
    ...(options.temperature !== undefined && { temperature: options.temperature }),
    ...(options.topP !== undefined && { topP: options.topP }),
    ...(options.presencePenalty && { presencePenalty: options.presencePenalty }),
    ...(options.frequencyPenalty && { frequencyPenalty: options.frequencyPenalty }),
    ...formatOf(options.textFormat),
  };
}

/** A model may have called a tool by a name that no provider would take back. */
function withKnownNames({ tools }: Run, message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || message.calls.every(({ name }) => tools.get(name))) return message;
  const calls = message.calls.map((call) => ({ ...call, name: call.name.replace(/[^\w-]/g, "_").slice(0, 64) }));
  return { ...message, calls };
}

function formatOf(asked: TextFormat | undefined): Pick<ModelRequest, "format"> {
  if (asked?.kind === TextFormatKind.JSON_OBJECT) return { format: { type: "json_object" } };
  if (asked?.kind !== TextFormatKind.JSON_SCHEMA) return {};
  const { name, description, strict } = asked;
  const schema = JSON.parse(asked.schemaJson) as Record<string, unknown>;
  return { format: { type: "json_schema", name, description, schema, strict } };
}

/** A demand is met by the first reply after it. Made again, the run could not end. */
function choiceOf({ options, steps }: Run): ToolChoice {
  const { mode = ToolChoiceMode.AUTO, toolName = "" } = options.toolChoice ?? {};
  if (mode === ToolChoiceMode.NONE) return { type: "none" };
  if (steps > 0) return { type: "auto" };
  if (mode === ToolChoiceMode.REQUIRED) return { type: "required" };
  return mode === ToolChoiceMode.NAMED ? { type: "named", name: toolName } : { type: "auto" };
}

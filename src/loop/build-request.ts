// What the model is asked: the conversation, and the tools that this run may use.
import type { ModelMessage, ModelRequest, ToolChoice } from "../model/model.js";
import { type TextFormat, TextFormatKind, ToolChoiceMode } from "../thread/schema.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { Run } from "./run.js";

export function buildRequest(run: Run): ModelRequest {
  const { options, tools } = run;
  const toolChoice = choiceOf(run);
  return {
    instructions: options.instructions,
    messages: withKnownNames(run),
    // Providers refuse a conversation with calls whose tools are not named: they are named also where none may be used.
    tools: shownTools(tools),
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

/** The same for every step of every run that has the same tools. */
const shown = new WeakMap<ToolRegistry, ModelRequest["tools"]>();

function shownTools(tools: ToolRegistry): ModelRequest["tools"] {
  const known = shown.get(tools);
  if (known) return known;
  const made = tools
    .list()
    .map(({ name, description }) => ({ name, description, inputSchema: tools.inputSchema(name) }));
  shown.set(tools, made);
  return made;
}

/**
 * How much of a run's conversation is known to have only names of these tools: it grows, and is asked about with every step. From the
 * first other name on it is looked through each time.
 */
const lookedThrough = new WeakMap<readonly ModelMessage[], LookedThrough>();

interface LookedThrough {
  readonly tools: ToolRegistry;
  count: number;
}

/** A model may have called a tool by a name that no provider would take back. */
function withKnownNames({ tools, messages }: Run): ModelMessage[] {
  const before = lookedThrough.get(messages);
  const known = before?.tools === tools ? before : { tools, count: 0 };
  if (known !== before) lookedThrough.set(messages, known);
  while (known.count < messages.length && hasKnownNames(messages[known.count]!, tools)) known.count++;
  if (known.count === messages.length) return messages.slice();
  return messages.map((message) => (hasKnownNames(message, tools) ? message : renamed(message)));
}

const hasKnownNames = (message: ModelMessage, tools: ToolRegistry): boolean =>
  message.role !== "assistant" || message.calls.every(({ name }) => tools.get(name) !== undefined);

function renamed(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant") return message;
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

// A request in the words of Anthropic's messages. Roles must alternate, the results of a reply's calls must come together in
// the next message, and a text must not be blank.
import type {
  Base64ImageSource,
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  Tool,
  ToolChoice as WireToolChoice,
} from "@anthropic-ai/sdk/resources/messages";
import type { MessageImage } from "../thread/images.js";
import { inputObject } from "./call-input.js";
import type { ModelMessage, ModelRequest } from "./model.js";

/** The wire wants a bound: this one holds when the request has none. */
export const defaultMaxTokens = 8192;

export function messagesOf(model: string, request: ModelRequest): MessageCreateParamsStreaming {
  const { instructions, messages, maxOutputTokens, temperature, topP, format } = request;
  return {
    model,
    max_tokens: maxOutputTokens ?? defaultMaxTokens,
    ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }), // Its scale ends there.
    ...(topP !== undefined && { top_p: topP }),
    ...(instructions.trim() !== "" && { system: instructions }),
    messages: alternating(messages),
    ...toolsOf(request),
    ...(format?.type === "json_schema" && {
      output_config: { format: { type: "json_schema", schema: { ...format.schema } } },
    }),
    stream: true,
  };
}

function alternating(messages: readonly ModelMessage[]): MessageParam[] {
  const merged: { role: "user" | "assistant"; content: ContentBlockParam[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const blocks = blocksOf(message);
    const last = merged.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) merged.push({ role, content: blocks });
  }
  return merged;
}

function blocksOf(message: ModelMessage): ContentBlockParam[] {
  switch (message.role) {
    case "user":
      return [...(message.images ?? []).map(imageBlock), ...textBlocks(message.text)]; // Images are best seen first.
    case "assistant":
      return [
        ...textBlocks(message.text),
        ...message.calls.map(({ id, name, input }) => ({
          type: "tool_use" as const,
          id,
          name,
          input: inputObject(input),
        })),
      ];
    case "tool":
      return [
        {
          type: "tool_result",
          tool_use_id: message.callId,
          ...(message.text.trim() !== "" && { content: message.text }),
          ...(message.isError && { is_error: true }),
        },
      ];
  }
}

function imageBlock(image: MessageImage): ContentBlockParam {
  if ("url" in image) return { type: "image", source: { type: "url", url: image.url } };
  const media_type = image.mediaType as Base64ImageSource["media_type"];
  return { type: "image", source: { type: "base64", media_type, data: image.base64 } };
}

const textBlocks = (text: string): ContentBlockParam[] => (text.trim() === "" ? [] : [{ type: "text", text }]);

function toolsOf(request: ModelRequest): Partial<MessageCreateParamsStreaming> {
  if (request.tools.length === 0) return {};
  const choice = choiceOf(request);
  return {
    tools: request.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: { ...inputSchema, type: "object" } satisfies Tool["input_schema"],
    })),
    ...(choice && { tool_choice: choice }),
  };
}

/** Undefined: what the wire does by itself. */
function choiceOf({ toolChoice, parallelToolCalls }: ModelRequest): WireToolChoice | undefined {
  const oneAtATime = parallelToolCalls ? {} : { disable_parallel_tool_use: true };
  switch (toolChoice.type) {
    case "none":
      return { type: "none" };
    case "auto":
      return parallelToolCalls ? undefined : { type: "auto", ...oneAtATime };
    case "required":
      return { type: "any", ...oneAtATime };
    case "named":
      return { type: "tool", name: toolChoice.name, ...oneAtATime };
  }
}

// A request in the words of chat completions. What may be left out is left out: servers that imitate the wire refuse fields
// that they do not know.
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionToolChoiceOption,
} from "openai/resources/chat/completions";
import type { MessageImage } from "../thread/images.js";
import { inputText } from "./call-input.js";
import type { ModelMessage, ModelRequest, ReplyFormat, ToolChoice } from "./model.js";

export function completionOf(model: string, request: ModelRequest): ChatCompletionCreateParamsStreaming {
  const { instructions, messages, maxOutputTokens, temperature, topP, format } = request;
  const { presencePenalty, frequencyPenalty } = request;
  return {
    model,
    messages: [
      ...(instructions === "" ? [] : [{ role: "system" as const, content: instructions }]),
      ...messages.map(messageOf),
    ],
    ...toolsOf(request),
    ...(maxOutputTokens !== undefined && { max_completion_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(presencePenalty !== undefined && { presence_penalty: presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequency_penalty: frequencyPenalty }),
    ...(format && { response_format: formatOf(format) }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function messageOf(message: ModelMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case "user":
      return { role: "user", content: contentOf(message) };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
    case "assistant":
      if (message.calls.length === 0) return { role: "assistant", content: message.text };
      return {
        role: "assistant",
        content: message.text === "" ? null : message.text,
        tool_calls: message.calls.map(({ id, name, input }) => ({
          id,
          type: "function",
          function: { name, arguments: inputText(input) },
        })),
      };
  }
}

function contentOf({
  text,
  images = [],
}: Extract<ModelMessage, { role: "user" }>): string | ChatCompletionContentPart[] {
  if (images.length === 0) return text;
  return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images.map(imagePart)];
}

function imagePart(image: MessageImage): ChatCompletionContentPart {
  const url = "url" in image ? image.url : `data:${image.mediaType};base64,${image.base64}`;
  return { type: "image_url", image_url: { url, ...(image.detail !== "" && { detail: image.detail }) } };
}

function formatOf(format: ReplyFormat): NonNullable<ChatCompletionCreateParamsStreaming["response_format"]> {
  if (format.type === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  return {
    type: "json_schema",
    json_schema: {
      name,
      ...(description !== "" && { description }),
      schema: { ...schema },
      ...(strict !== undefined && { strict }),
    },
  };
}

function toolsOf({ tools, toolChoice, parallelToolCalls }: ModelRequest): Partial<ChatCompletionCreateParamsStreaming> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, description, parameters: { ...inputSchema } },
    })),
    ...(toolChoice.type !== "auto" && { tool_choice: choiceOf(toolChoice) }),
    ...(!parallelToolCalls && { parallel_tool_calls: false }),
  };
}

const choiceOf = (choice: ToolChoice): ChatCompletionToolChoiceOption =>
  choice.type === "named" ? { type: "function", function: { name: choice.name } } : choice.type;

// Models that speak Anthropic's messages.
import Anthropic from "@anthropic-ai/sdk";
import { AnthropicReply } from "./anthropic-reply.js";
import { messagesOf } from "./anthropic-request.js";
import { askProvider } from "./ask-provider.js";
import type { Model } from "./model.js";
import { type ProviderKind, type ProviderOptions, provider } from "./provider.js";
import { answerMs, type ProviderLine } from "./provider-line.js";

const anthropic: ProviderKind = {
  name: "anthropic",
  ownBaseUrl: "https://api.anthropic.com",
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  keyHeader: (key) => ["x-api-key", key],
};

export function anthropicModel(options: ProviderOptions): Model {
  const asked = provider(anthropic, options);
  return {
    name: `anthropic:${options.name}`,
    formats: ["json_schema"],
    stream: (request, signal) =>
      askProvider<unknown>({
        provider: asked,
        reply: new AnthropicReply(),
        signal,
        sdk: Anthropic,
        // Not `messages.create`, which writes to the console for models that are about to retire, with every request.
        send: (line, callSignal) =>
          clientOn(line, asked.baseUrl).post<AsyncIterable<unknown>>("/v1/messages", {
            body: messagesOf(options.name, request),
            stream: true,
            signal: callSignal,
          }),
      }),
  };
}

/** Whatever is left out here, the SDK looks for in the environment and in files. The key is the line's business. */
const clientOn = (line: ProviderLine, baseURL: string): Anthropic =>
  new Anthropic({
    baseURL,
    apiKey: "none",
    authToken: null,
    webhookKey: null,
    fetch: line.fetch,
    maxRetries: 0,
    timeout: answerMs,
    logLevel: "off",
    openTelemetry: false,
  });

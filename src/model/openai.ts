// Models that speak OpenAI's chat completions: OpenAI itself, and by base URL Ollama, vLLM, llama.cpp, OpenRouter and others.
import OpenAI from "openai";
import { askProvider } from "./ask-provider.js";
import type { Model } from "./model.js";
import { OpenAiReply } from "./openai-reply.js";
import { completionOf } from "./openai-request.js";
import { type ProviderKind, type ProviderOptions, provider } from "./provider.js";
import { answerMs, type ProviderLine } from "./provider-line.js";

const openai: ProviderKind = {
  name: "openai",
  ownBaseUrl: "https://api.openai.com/v1",
  keyVariable: "OPENAI_API_KEY",
  baseUrlVariable: "OPENAI_BASE_URL",
  keyHeader: (key) => ["authorization", `Bearer ${key}`],
};

export function openaiModel(options: ProviderOptions): Model {
  const asked = provider(openai, options);
  return {
    name: `openai:${options.name}`,
    formats: ["json_object", "json_schema"],
    takesPenalties: true,
    stream: (request, signal) =>
      askProvider<unknown>({
        provider: asked,
        reply: new OpenAiReply(),
        signal,
        sdk: OpenAI,
        send: (line, callSignal) =>
          clientOn(line, asked.baseUrl).chat.completions.create(completionOf(options.name, request), {
            signal: callSignal,
          }),
      }),
  };
}

/** Whatever is left out here, the SDK looks for in the environment. The key is the line's business. */
const clientOn = (line: ProviderLine, baseURL: string): OpenAI =>
  new OpenAI({
    baseURL,
    apiKey: "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    fetch: line.fetch,
    maxRetries: 0,
    timeout: answerMs,
    logLevel: "off",
  });

// Reads a streamed chat completion, as OpenAI sends it and as others imitate it.
import type { Reply } from "./ask-provider.js";
import type { EndReason, ModelEvent } from "./model.js";
import { CallPieces } from "./openai-calls.js";
import { countOf, type Fields, fieldsOf, listOf, textOf } from "./wire-values.js";

export class OpenAiReply implements Reply<unknown> {
  readonly #calls = new CallPieces();
  #finishReason = "";

  *read(chunk: unknown): Generator<ModelEvent> {
    const { choices, usage } = fieldsOf(chunk);
    const choice = fieldsOf(listOf(choices)[0]);
    yield* this.#delta(fieldsOf(choice["delta"]));
    const finishReason = textOf(choice["finish_reason"]);
    // Gateways say `error` when the provider behind them has failed: such a reply never becomes whole.
    if (finishReason !== "error") this.#finishReason = finishReason || this.#finishReason;
    if (typeof usage === "object" && usage !== null) yield usageOf(fieldsOf(usage));
  }

  /** The usage comes after the finish reason: the reply is over only when the stream is. */
  end(): readonly ModelEvent[] | undefined {
    if (this.#finishReason === "") return undefined;
    const reason = endReason(this.#finishReason, this.#calls.count > 0);
    return [
      ...(reason === "tool_calls" ? this.#calls.emptyInputs() : []),
      { type: "end", reason, providerReason: this.#finishReason },
    ];
  }

  *#delta(delta: Fields): Generator<ModelEvent> {
    const reasoning = textOf(delta["reasoning_content"]) || textOf(delta["reasoning"]);
    if (reasoning !== "") yield { type: "reasoning", text: reasoning };
    const text = textOf(delta["content"]);
    if (text !== "") yield { type: "text", text };
    const refusal = textOf(delta["refusal"]);
    if (refusal !== "") yield { type: "refusal", text: refusal };
    for (const piece of listOf(delta["tool_calls"])) yield* this.#calls.read(fieldsOf(piece));
  }
}

/** Some servers say `stop` after calls: what the reply holds tells whether there is something to run. */
function endReason(finishReason: string, hasCalls: boolean): EndReason {
  if (finishReason === "length" || finishReason === "model_length") return "truncated";
  if (finishReason === "content_filter") return "filtered";
  return hasCalls ? "tool_calls" : "stop";
}

function usageOf(usage: Fields): ModelEvent {
  return {
    type: "usage",
    usage: {
      inputTokens: countOf(usage["prompt_tokens"]) ?? 0,
      cachedInputTokens: countOf(fieldsOf(usage["prompt_tokens_details"])["cached_tokens"]) ?? 0,
      outputTokens: countOf(usage["completion_tokens"]) ?? 0,
      reasoningTokens: countOf(fieldsOf(usage["completion_tokens_details"])["reasoning_tokens"]) ?? 0,
    },
  };
}

// Reads a streamed message of Anthropic's.
import type { Reply } from "./ask-provider.js";
import type { EndReason, ModelEvent } from "./model.js";
import { countOf, type Fields, fieldsOf, textOf } from "./wire-values.js";

interface Call {
  /** Its place among the calls, which is not its place among the blocks. */
  readonly index: number;
  hasInput: boolean;
}

export class AnthropicReply implements Reply<unknown> {
  /** By the place of their blocks. */
  readonly #calls = new Map<unknown, Call>();
  #usage: Fields = {};
  #stopReason = "";
  #isWhole = false;

  /** Events and blocks that are not known are passed over. */
  *read(event: unknown): Generator<ModelEvent> {
    const fields = fieldsOf(event);
    switch (fields["type"]) {
      case "message_start":
        yield* this.#used(fieldsOf(fields["message"])["usage"]);
        break;
      case "content_block_start":
        yield* this.#begun(fields["index"], fieldsOf(fields["content_block"]));
        break;
      case "content_block_delta":
        yield* this.#gone(fields["index"], fieldsOf(fields["delta"]));
        break;
      case "content_block_stop":
        yield* this.#stopped(fields["index"]);
        break;
      case "message_delta":
        yield* this.#ending(fieldsOf(fields["delta"]));
        yield* this.#used(fields["usage"]);
        break;
      case "message_stop":
        this.#isWhole = true;
        break;
    }
  }

  end(): readonly ModelEvent[] | undefined {
    if (!this.#isWhole) return undefined;
    const reason = endReason(this.#stopReason, this.#calls.size > 0);
    return [
      ...(reason === "tool_calls" ? this.#emptyInputs() : []),
      { type: "end", reason, providerReason: this.#stopReason },
    ];
  }

  *#begun(place: unknown, block: Fields): Generator<ModelEvent> {
    if (block["type"] === "tool_use") {
      const call: Call = { index: this.#calls.size, hasInput: false };
      this.#calls.set(place, call);
      const [id, name] = [textOf(block["id"]), textOf(block["name"])];
      yield { type: "tool_call", index: call.index, ...(id !== "" && { id }), ...(name !== "" && { name }) };
      // The input follows in pieces; a server that imitates the wire may give all of it here.
      const input = fieldsOf(block["input"]);
      if (Object.keys(input).length > 0) yield* this.#input(call, JSON.stringify(input));
    }
    yield* textEvent("text", block["text"]);
    yield* textEvent("reasoning", block["thinking"]);
  }

  *#gone(place: unknown, delta: Fields): Generator<ModelEvent> {
    const call = this.#calls.get(place);
    if (call) yield* this.#input(call, textOf(delta["partial_json"]));
    yield* textEvent("text", delta["text"]);
    yield* textEvent("reasoning", delta["thinking"]);
  }

  *#input(call: Call, input: string): Generator<ModelEvent> {
    if (input === "") return;
    call.hasInput = true;
    yield { type: "tool_call", index: call.index, input };
  }

  *#stopped(place: unknown): Generator<ModelEvent> {
    const call = this.#calls.get(place);
    if (call?.hasInput) yield { type: "tool_call_end", index: call.index };
  }

  *#ending(delta: Fields): Generator<ModelEvent> {
    this.#stopReason = textOf(delta["stop_reason"]) || this.#stopReason;
    yield* textEvent("refusal", fieldsOf(delta["stop_details"])["explanation"]);
  }

  /** Each usage tells the counts that it knows; the others stay as they were. */
  *#used(usage: unknown): Generator<ModelEvent> {
    if (typeof usage !== "object" || usage === null) return;
    this.#usage = {
      ...this.#usage,
      ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null)),
    };
    const count = (field: string): number => countOf(this.#usage[field]) ?? 0;
    const cachedInputTokens = count("cache_read_input_tokens");
    yield {
      type: "usage",
      usage: {
        inputTokens: count("input_tokens") + cachedInputTokens + count("cache_creation_input_tokens"),
        cachedInputTokens,
        outputTokens: count("output_tokens"),
        reasoningTokens: countOf(fieldsOf(this.#usage["output_tokens_details"])["thinking_tokens"]) ?? 0,
      },
    };
  }

  /**
   * A call for which nothing was written takes nothing. Told only now: until the stop reason is known, it might as well be
   * a call whose input was cut off before it began.
   */
  #emptyInputs(): readonly ModelEvent[] {
    return [...this.#calls.values()]
      .filter(({ hasInput }) => !hasInput)
      .flatMap(({ index }) => [
        { type: "tool_call", index, input: "{}" },
        { type: "tool_call_end", index },
      ]);
  }
}

function* textEvent(type: "text" | "reasoning" | "refusal", value: unknown): Generator<ModelEvent> {
  const text = textOf(value);
  if (text !== "") yield { type, text };
}

function endReason(stopReason: string, hasCalls: boolean): EndReason {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "truncated";
    case "refusal":
      return "filtered";
    case "pause_turn":
      return "stop";
    default:
      return hasCalls ? "tool_calls" : "stop";
  }
}

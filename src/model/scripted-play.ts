// Plays the events of one reply of a script, as a provider would stream them.
import { ModelError, type ModelEvent } from "./model.js";
import { pause, untilAborted } from "./pause.js";
import { failureWords, type ScriptEvent } from "./script.js";

interface Playing {
  readonly chunk: number | undefined;
  readonly signal: AbortSignal;
}

export async function* play(events: readonly ScriptEvent[], { chunk, signal }: Playing): AsyncGenerator<ModelEvent> {
  /** One past the highest place of a call in the reply. */
  let calls = 0;
  for (const event of events) {
    signal.throwIfAborted();
    if ("delayMs" in event) await pause(event.delayMs, signal);
    else if ("hang" in event) await untilAborted(signal);
    else if ("fail" in event) throw failed(event.fail);
    else if ("end" in event) return yield endOf(event.end);
    else
      for (const told of modelEvents(event, calls, chunk)) {
        signal.throwIfAborted();
        if (told.type === "tool_call") calls = Math.max(calls, told.index + 1);
        yield told;
      }
  }
  yield endOf(calls > 0 ? "tool_calls" : "stop");
}

type Told = Exclude<ScriptEvent, { delayMs: number } | { hang: true } | { fail: object } | { end: string }>;

function* modelEvents(event: Told, nextIndex: number, chunk: number | undefined): Generator<ModelEvent> {
  if ("text" in event) for (const text of pieces(event.text, chunk)) yield { type: "text", text };
  else if ("reasoning" in event) for (const text of pieces(event.reasoning, chunk)) yield { type: "reasoning", text };
  else if ("refusal" in event) for (const text of pieces(event.refusal, chunk)) yield { type: "refusal", text };
  else if ("usage" in event) yield { type: "usage", usage: { ...noUsage, ...event.usage } };
  else if ("piece" in event) {
    const { isLast, ...piece } = event.piece;
    yield { type: "tool_call", ...piece };
    if (isLast) yield { type: "tool_call_end", index: piece.index };
  } else {
    const { input, ...named } = event.toolCall;
    yield { type: "tool_call", index: nextIndex, ...named };
    for (const piece of pieces(typeof input === "string" ? input : JSON.stringify(input), chunk))
      yield { type: "tool_call", index: nextIndex, input: piece };
    yield { type: "tool_call_end", index: nextIndex };
  }
}

const noUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

const endOf = (reason: Extract<ModelEvent, { type: "end" }>["reason"]): ModelEvent => ({
  type: "end",
  reason,
  providerReason: reason,
});

function failed({ kind, message, retryAfterMs }: Extract<ScriptEvent, { fail: object }>["fail"]): ModelError {
  return new ModelError(kind, message ?? `The script says: ${failureWords[kind]}`, { retryAfterMs });
}

/** Pieces of at most `units` each, or one unit more where a character would be cut in two. */
function pieces(text: string, units: number | undefined): string[] {
  if (units === undefined || text.length <= units) return [text];
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    const last = text.charCodeAt(start + units - 1);
    const isCut = last >= 0xd800 && last <= 0xdbff;
    const end = start + units + (isCut ? 1 : 0);
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}

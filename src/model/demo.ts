// A model that needs no key and no network, so that a fresh machine can show a whole run: it picks real tools by the words that
// the user writes, calls them, and tells what they said. It is a demo, and says so.
//
// It remembers nothing: what comes next is read off the conversation (demo/turn.ts, demo/plan.ts). demo/repair.ts is its longest piece of work.
import { missingTools, nextReply } from "./demo/plan.js";
import type { PlannedCall } from "./demo/planned-call.js";
import { readTurn } from "./demo/turn.js";
import { firstWords, reasoningWords } from "./demo/words.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import { pause } from "./pause.js";

/** Between two pieces: fast enough for nobody to wait, slow enough to see that it streams. */
const defaultPaceMs = 15;
/** A long reply comes faster, so that none takes longer than this. */
const longestReplyMs = 4_000;
/** Input comes in pieces of about this many characters. */
const inputPiece = 8;

export function demoModel({ paceMs = defaultPaceMs }: { paceMs?: number } = {}): Model {
  return {
    name: "demo:demo",
    async *stream(request, signal) {
      const events = replyTo(request);
      const delayMs = Math.min(paceMs, longestReplyMs / events.length);
      for (const event of events) {
        if (delayMs > 0) await pause(delayMs, signal);
        signal.throwIfAborted();
        yield event;
      }
    },
  };
}

function replyTo(request: ModelRequest): ModelEvent[] {
  const turn = readTurn(request);
  const { words, calls } = nextReply(request, turn);
  const first = turn.isFirstReply ? firstWords(turn, missingTools(request, turn)) : "";
  const text = [first, words].filter(Boolean).join("\n\n");
  // What is said already says why.
  const reasoning = words === "" ? reasoningWords(calls.map(({ tool }) => tool)) : "";
  return [
    ...wordsOf(text).map((piece): ModelEvent => ({ type: "text", text: piece })),
    ...wordsOf(reasoning).map((piece): ModelEvent => ({ type: "reasoning", text: piece })),
    ...interleaved(calls.map(callPieces)),
    calls.length === 0
      ? { type: "end", reason: "stop", providerReason: "demo" }
      : { type: "end", reason: "tool_calls", providerReason: "demo" },
  ];
}

const wordsOf = (text: string): string[] => text.match(/\s*\S+/g) ?? [];

function callPieces({ tool, input }: PlannedCall, index: number): ModelEvent[] {
  const pieces = JSON.stringify(input).match(new RegExp(`.{1,${inputPiece}}`, "gsu")) ?? [];
  return [
    { type: "tool_call", index, name: tool },
    ...pieces.map((piece): ModelEvent => ({ type: "tool_call", index, input: piece })),
    { type: "tool_call_end", index },
  ];
}

/** Calls of one reply grow side by side, as far as each goes. */
function interleaved(lanes: readonly (readonly ModelEvent[])[]): ModelEvent[] {
  const longest = Math.max(0, ...lanes.map((lane) => lane.length));
  return Array.from({ length: longest }, (_, step) => lanes.flatMap((lane) => lane[step] ?? [])).flat();
}

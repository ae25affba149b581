// The conversation of a thread as a model sees it: a fold of the log (conversation-fold.ts), joined with the bodies of its calls.
// Heddle's own runs and those of outside producers alike.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ModelMessage } from "../model/model.js";
import { decodeFrames } from "../thread/frame.js";
import type { ToolCallId } from "../thread/ids.js";
import { ToolCallOutcome } from "../thread/schema.js";
import { inputLimits } from "../tool/check-input.js";
import {
  type Asked,
  type AssistantTurn,
  type CalledAs,
  ConversationFold,
  type FoldedCall,
  type Turn,
  type UserTurn,
} from "./conversation-fold.js";
import { boundedForModel, modelTextBytes } from "./model-text.js";
import { type StoredImage, shownImages, tellImages } from "./told-images.js";

export interface Conversation {
  readonly messages: readonly ModelMessage[];
  /** The last reply is whole and calls nothing: there is nothing to ask the model. */
  readonly isAnswered: boolean;
  /** The last reply, where calls of it are still open. It is not among the messages. */
  readonly unfinished: UnfinishedTurn | undefined;
}

export interface UnfinishedTurn {
  readonly text: string;
  readonly calls: readonly UnfinishedCall[];
}

export interface UnfinishedCall {
  readonly id: ToolCallId;
  readonly name: string;
  readonly input: string;
  /** What the model is told of it. Undefined: it is open. */
  readonly over: { readonly text: string; readonly isError: boolean } | undefined;
  /** The question that was asked of a person. Undefined: none. */
  readonly asked: Asked | undefined;
  readonly isStarted: boolean;
  /** As whose tool it was called: what has that name by now may be another's. */
  readonly calledAs: CalledAs;
}

const readBytes = 256 * 1024;

/** `upTo`: the sequence of the last event that counts. Undefined: all of them. */
export async function readConversation(log: EventLog, key: ThreadKey, upTo?: bigint): Promise<Conversation> {
  const fold = new ConversationFold();
  for (let position = 0n; upTo === undefined || position < upTo; ) {
    const span = await log.read(key, position, readBytes);
    if (!span) break;
    for (const event of decodeFrames(span.bytes)) if (upTo === undefined || event.sequence <= upTo) fold.take(event);
    position = span.last;
  }
  const turns = fold.finish();
  const last = turns.at(-1);
  const isLastWord = last?.role === "assistant" && last.calls.length === 0;
  const messages: ModelMessage[] = [];
  const shown = shownImages(turns.flatMap((turn) => (turn.role === "user" ? turn.images : [])));
  if (last?.role === "assistant" && last.calls.some(isOpen)) {
    for (const turn of turns.slice(0, -1)) messages.push(...(await spoken(log, key, { turn, shown })));
    return { messages, isAnswered: false, unfinished: await unfinishedTurn(log, key, last) };
  }
  // A last word that broke off is asked for again: left in, the model would be asked to go on behind it.
  for (const turn of isLastWord && !last.isWhole ? turns.slice(0, -1) : turns)
    messages.push(...(await spoken(log, key, { turn, shown })));
  return { messages, isAnswered: isLastWord && last.isWhole, unfinished: undefined };
}

interface SpokenTurn<One extends Turn = Turn> {
  readonly turn: One;
  /** Images that the model is shown. */
  readonly shown: ReadonlySet<StoredImage>;
}

const isOpen = ({ outcome }: FoldedCall): boolean => outcome === ToolCallOutcome.UNSPECIFIED;

async function spoken(log: EventLog, key: ThreadKey, { turn, shown }: SpokenTurn): Promise<ModelMessage[]> {
  if (turn.role === "user") return [await asked(log, key, { turn, shown })];
  const calls = [];
  const results: ModelMessage[] = [];
  for (const call of turn.calls) {
    calls.push({ id: call.id, name: call.name, input: await inputText(log, key, call) });
    const isError = call.outcome !== ToolCallOutcome.SUCCEEDED;
    results.push({ role: "tool", callId: call.id, text: await resultText(log, key, call), isError });
  }
  return [{ role: "assistant", text: turn.text, calls }, ...results];
}

async function asked(log: EventLog, key: ThreadKey, { turn, shown }: SpokenTurn<UserTurn>): Promise<ModelMessage> {
  if (turn.images.length === 0) return { role: "user", text: turn.text };
  const { images, words } = await tellImages(log, key, { stored: turn.images, shown });
  const text = [turn.text, words].filter(Boolean).join("\n\n");
  return { role: "user", text, ...(images.length > 0 && { images }) };
}

async function unfinishedTurn(log: EventLog, key: ThreadKey, { text, calls }: AssistantTurn): Promise<UnfinishedTurn> {
  const unfinished: UnfinishedCall[] = [];
  for (const call of calls) {
    const { id, name, asked, outcome, isStarted, calledAs } = call;
    const input = await inputText(log, key, call);
    const over = isOpen(call)
      ? undefined
      : { text: await resultText(log, key, call), isError: outcome !== ToolCallOutcome.SUCCEEDED };
    unfinished.push({ id, name, input, over, asked, isStarted, calledAs });
  }
  return { text, calls: unfinished };
}

const inputText = async (log: EventLog, key: ThreadKey, call: FoldedCall): Promise<string> =>
  (await readText(log, key, { callId: call.id, contentId: "input" }, inputBytes)) ?? call.input;

/** More than any tool takes. */
const inputBytes = inputLimits.bytes;

/** What is recorded of a call that is over. */
export interface EndedCall {
  readonly id: ToolCallId;
  readonly outcome: ToolCallOutcome;
  readonly summary: string;
  readonly message: string;
}

/** What the model is told of a call that is over. */
export async function resultText(log: EventLog, key: ThreadKey, call: EndedCall): Promise<string> {
  const told = await readText(log, key, { callId: call.id, contentId: "model" }, modelTextBytes);
  if (told !== undefined) return told;
  const words = call.message || call.summary || "The call has not ended";
  const hasFailed = call.outcome === ToolCallOutcome.FAILED;
  if (!hasFailed && call.outcome !== ToolCallOutcome.SUCCEEDED) return words;
  const result = await readText(log, key, { callId: call.id, contentId: "result" }, modelTextBytes + 1);
  if (result === undefined) return words;
  return boundedForModel(hasFailed ? `${words}\n${result}` : result);
}

async function readText(
  log: EventLog,
  key: ThreadKey,
  body: { callId: ToolCallId; contentId: string },
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await log.readBody(key, body, { offset: 0, maxBytes });
  return bytes && Buffer.from(bytes).toString("utf8");
}

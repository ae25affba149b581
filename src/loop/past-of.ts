// A conversation up to some point, as another thread is told it that goes on from there.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ModelMessage } from "../model/model.js";
import { HeddleError } from "../thread/errors.js";
import { readConversation, type UnfinishedCall, type UnfinishedTurn } from "./conversation.js";
import type { PastEntry } from "./past.js";

export interface GoingOn {
  /** The last event that counts. */
  readonly upTo: bigint;
  /** What came of the calls that waited there, whatever has become of them since. */
  readonly outputs: readonly { readonly toolCallId: string; readonly output: string }[];
}

/** Throws `tool_call_unanswered` when a call that waited has no output, and `tool_call_over` when an output has no such call. */
export async function pastOf(log: EventLog, key: ThreadKey, { upTo, outputs }: GoingOn): Promise<PastEntry[]> {
  const { messages, unfinished } = await readConversation(log, key, upTo);
  const answers = new Map(outputs.map(({ toolCallId, output }) => [toolCallId, output]));
  const stray = outputs.find(({ toolCallId }) => !unfinished?.calls.some(({ id, over }) => id === toolCallId && !over));
  if (stray) throw new HeddleError("tool_call_over", "The response does not wait for this answer");
  return [...spokenPast(messages), ...(unfinished ? answeredPast(unfinished, answers) : [])];
}

function spokenPast(messages: readonly ModelMessage[]): PastEntry[] {
  const results = new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message]] : [])));
  return messages.flatMap((message): PastEntry[] => {
    if (message.role === "tool") return [];
    if (message.role === "user") return [{ kind: "message", ...message }];
    const calls = message.calls.map(({ id, name, input }, index): PastEntry => {
      const { text: output = "", isError = true } = results.get(id) ?? {};
      return { kind: "call", name, input, output, isError, isTogether: index > 0 };
    });
    return [...wordsPast(message.text), ...calls];
  });
}

/** A reply whose calls waited, with what came of them. */
function answeredPast({ text, calls }: UnfinishedTurn, answers: ReadonlyMap<string, string>): PastEntry[] {
  const answered = calls.map((call, index): PastEntry => {
    const { text: output, isError } = call.over ?? { text: answerTo(call, answers), isError: false };
    return { kind: "call", name: call.name, input: call.input, output, isError, isTogether: index > 0 };
  });
  return [...wordsPast(text), ...answered];
}

function answerTo({ id }: UnfinishedCall, answers: ReadonlyMap<string, string>): string {
  const output = answers.get(id);
  if (output !== undefined) return output;
  throw new HeddleError("tool_call_unanswered", `Tool call ${id} waits for an answer`, { detail: { toolCallId: id } });
}

const wordsPast = (text: string): PastEntry[] => (text === "" ? [] : [{ kind: "message", role: "assistant", text }]);

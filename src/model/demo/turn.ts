// What a conversation says about the user's last message and what was done about it since.
import type { ModelRequest } from "../model.js";

export interface Turn {
  /** The user's last message. */
  readonly text: string;
  readonly isFirstReply: boolean;
  /** The demo has introduced itself earlier in the conversation. */
  readonly isKnown: boolean;
  /** What was called since, in order. */
  readonly done: readonly DoneCall[];
}

export interface DoneCall {
  readonly tool: string;
  /** What the tool said. */
  readonly result: string;
  /** `denied`: somebody or something said no, and it has not run. */
  readonly outcome: "succeeded" | "failed" | "denied";
}

/** The words by which the demo finds its own introduction again. */
export const introduction = "Heddle's demo model";

export function readTurn({ messages }: ModelRequest): Turn {
  const start = messages.findLastIndex(({ role }) => role === "user");
  const last = messages[start];
  const since = messages.slice(start + 1);
  const results = new Map(since.flatMap((message) => (message.role === "tool" ? [[message.callId, message]] : [])));
  return {
    text: last?.role === "user" ? last.text : "",
    isFirstReply: !since.some(({ role }) => role === "assistant"),
    isKnown: messages
      .slice(0, Math.max(0, start))
      .some((message) => message.role === "assistant" && message.text.includes(introduction)),
    done: since.flatMap((message) =>
      message.role !== "assistant"
        ? []
        : message.calls.map(({ id, name }) => {
            const { text: result = "", isError = true } = results.get(id) ?? {};
            return { tool: name, result, outcome: isError ? errorOutcome(result) : "succeeded" };
          }),
    ),
  };
}

/** As the loop tells a model that a call was not allowed. */
const denial =
  /^(?:The call was not run\. (?:Nobody is here to say yes|The policy of this server|What it would do has changed)|The user said no|Nobody answered)/;

const errorOutcome = (result: string): DoneCall["outcome"] => (denial.test(result) ? "denied" : "failed");

// Hands a task to a sub-agent, and tells what that has said.
import { quotedIn } from "./named-things.js";
import type { Story } from "./story.js";
import { outcomeWords, quoted } from "./words.js";

export const delegationTools = ["delegate_task"];

/** The task in the user's own words. Undefined: nothing is to be delegated. */
export function delegationWish(text: string): string | undefined {
  const [, rest] = /\bdelegate\b(?:\s+(?:the|this)\s+(?:task|work))?\s*[:,-]?\s*(.+)/is.exec(text) ?? [];
  if (rest === undefined) return undefined;
  return quotedIn(rest) ?? rest.trim();
}

/** A title is a few words. */
const titleUnits = 60;

export function* delegation(task: string): Story {
  const title = task.split("\n", 1)[0]!.slice(0, titleUnits).trim();
  const [answer] = yield {
    words: "I hand that to a sub-agent: it works in a thread of its own.",
    calls: [{ tool: "delegate_task", input: { task: title, prompt: task } }],
  };
  if (answer?.outcome !== "succeeded") return outcomeWords(answer!);
  return `The sub-agent says: ${quoted(answer.result)}`;
}

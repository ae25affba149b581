// How far a sub-agent has come, in the words of the call that delegated the task.
import { counted } from "../words.js";
import type { SubProgress } from "./sub-runs.js";

const waiting = "Waiting for a yes: ";

/** `3 calls, now: Reading src/a.ts`, or what it waits for. */
export function progressWords({ toolCalls, summary, isWaiting }: SubProgress): string {
  if (isWaiting) return `${waiting}${summary}`;
  if (toolCalls === 0) return summary;
  return `${counted(toolCalls, "call", "calls")}${summary === "" ? "" : `, now: ${summary}`}`;
}

/** What is waited for, from the words above: however many levels down the question is, it is said once that it is one. */
export const waitedFor = (words: string): string => (words.startsWith(waiting) ? words.slice(waiting.length) : words);

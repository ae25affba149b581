// What a language's thread says to the main thread of its process.
import { parentPort } from "node:worker_threads";
import type { FromLanguage } from "./messages.js";

export const tell = (message: FromLanguage): void => parentPort!.postMessage(message);

/** With a mark where something is missing; the end of an error says most. */
export function bounded(text: string, units: number): string {
  if (text.length <= units) return text;
  const half = Math.floor(units / 2);
  return `${text.slice(0, half)}\n[…]\n${text.slice(text.length - half)}`;
}

// What a language's thread says to the main thread of its process.
import { setImmediate as afterwards } from "node:timers";
import { parentPort } from "node:worker_threads";
import type { CodeEnd, FileChanges, FromLanguage } from "./messages.js";

export const tell = (message: FromLanguage): void => parentPort!.postMessage(message);

/** What the code has left for later is done first: nothing of it runs when it is over. `made`: the files. */
export function tellEnd({ end, isBroken }: { end: CodeEnd; isBroken: boolean }, made: () => FileChanges): void {
  afterwards(() => tell({ type: "done", end, isBroken, files: isBroken ? { changed: [], removed: [] } : made() }));
}

/** With a mark where something is missing; the end of an error says most. */
export function bounded(text: string, units: number): string {
  if (text.length <= units) return text;
  const half = Math.floor(units / 2);
  return `${text.slice(0, half)}\n[…]\n${text.slice(text.length - half)}`;
}

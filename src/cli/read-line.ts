// One line that somebody types at the terminal, as an answer to what has just been shown.
import type { Io } from "./io.js";
import { nothingTyped, typed } from "./typed-line.js";

/** Nobody reads a question faster: what comes sooner was typed before it, and is no answer to it. */
export const shortestGlanceMs = 250;

/** Rejects with the signal's reason. */
export function readLine(io: Io, signal: AbortSignal): Promise<string> {
  const shownMs = performance.now();
  return new Promise((resolve, reject) => {
    let line = nothingTyped;
    const end = () => {
      stop();
      signal.removeEventListener("abort", leave);
    };
    const leave = () => {
      end();
      reject(signal.reason);
    };
    const stop = io.stdin.onTyped("lines", (text) => {
      if (performance.now() - shownMs < shortestGlanceMs) return;
      line = typed(line, text);
      if (!line.isComplete) return;
      end();
      resolve(line.text);
    });
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave);
  });
}

// Reads an answer from the terminal, key by key or line by line, until what is typed is one.
import type { Io } from "./io.js";
import { shortestGlanceMs } from "./read-line.js";
import { answerIn, type TypedAnswer } from "./run-question.js";
import { nothingTyped, typed } from "./typed-line.js";

export interface Reading {
  readonly mode: "keys" | "lines";
  readonly signal: AbortSignal;
  /** Called with what is typed so far, and whether what was typed before was no answer. */
  readonly onChange: (text: string, isUnclear: boolean) => void;
  readonly nowMs: () => number;
}

/** Rejects with the signal's reason. */
export function readAnswer(io: Io, { mode, signal, onChange, nowMs }: Reading): Promise<TypedAnswer> {
  const shownMs = nowMs();
  return new Promise((resolve, reject) => {
    let line = nothingTyped;
    let isUnclear = false;
    const end = () => {
      stop();
      signal.removeEventListener("abort", leave);
    };
    const leave = () => {
      end();
      reject(signal.reason);
    };
    const stop = io.stdin.onTyped(mode, (keys) => {
      if (nowMs() - shownMs < shortestGlanceMs) return;
      line = typed(line, keys);
      const answer = line.isComplete ? answerIn(line.text) : undefined;
      if (answer !== undefined) {
        end();
        return resolve(answer);
      }
      isUnclear = line.isComplete || (isUnclear && line.text === "");
      if (line.isComplete) line = nothingTyped;
      onChange(line.text, isUnclear);
    });
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave);
  });
}

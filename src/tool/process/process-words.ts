// Background processes in words: for the model, and as data in results.
import { z } from "zod";
import { shownCommand, tookWords } from "../command/command-words.js";
import type { BackgroundProcess } from "./background-process.js";
import type { OutputLine } from "./output-lines.js";

const nameUnits = 64;

export const processId = z.string().max(nameUnits).describe("Its name, such as p3");

export const processState = z
  .enum(["running", "exited", "stopped", "limit", "not_started", "interrupted"])
  .describe("Whether it runs, or how it ended");

export const stateOf = ({ ending }: BackgroundProcess): z.infer<typeof processState> => ending?.outcome ?? "running";

export const exitCodeOf = ({ ending }: BackgroundProcess): { exitCode?: number } =>
  ending?.exitCode === undefined ? {} : { exitCode: ending.exitCode };

/** `p3 runs (npm run dev, for 12.4 s)`, or how it ended. */
export function standing(process: BackgroundProcess): string {
  const { id, command, runningMs, ending } = process;
  if (ending) return `${id} is over: ${ending.summary}`;
  return `${id} runs (${shownCommand(command)}, for ${tookWords(runningMs)})`;
}

export const outputLine = z.object({
  line: z.number().int().describe("Its number, from 1 on"),
  stream: z.enum(["stdout", "stderr"]).describe("Where it was printed"),
  text: z.string().describe("Without its end"),
});

export const shownLine = ({ number, stream, text }: OutputLine): z.infer<typeof outputLine> => ({
  line: number,
  stream,
  text,
});

/** As the model reads it. */
export const lineText = ({ line, stream, text }: z.infer<typeof outputLine>): string =>
  `${line}${stream === "stderr" ? " (stderr)" : ""}\t${text}`;

/** The first lines, or the last, that are no longer than so many units together: one at least. */
export function fitting(lines: readonly OutputLine[], units: number, end: "first" | "last"): readonly OutputLine[] {
  const inOrder = end === "first" ? lines : lines.toReversed();
  let room = units;
  const fit = inOrder.filter(({ text }, index) => {
    room -= text.length;
    return room >= 0 || index === 0;
  });
  return end === "first" ? fit : fit.reverse();
}

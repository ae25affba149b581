// How the end of a command is told: to people in a few words, to the model with what it printed, and as parts for the record.
import { z } from "zod";
import { exitCodeWords } from "../exit-code.js";
import type { ToolContent } from "../tool.js";
import { counted, oneLine } from "../words.js";
import type { EndCause, ProcessEnd } from "./run-process.js";
import { type Excess, processLimits } from "./watch-processes.js";

export const commandResult = z.object({
  command: z.string().describe("As it was asked for"),
  ended: z
    .enum(["exited", "called_off", "timed_out", "too_many_processes", "too_much_memory"])
    .describe("By itself, or why it was ended"),
  exitCode: z.number().int().optional().describe("None when it was killed"),
  durationMs: z.number().int().describe("How long it took"),
  timeoutMs: z.number().int().describe("The longest it could take"),
  stdout: z.string().describe("The end of what it printed"),
  stdoutBytes: z.number().int().describe("All that it printed"),
  stderr: z.string().describe("The end of its errors and messages"),
  stderrBytes: z.number().int().describe("All of them"),
  leftBehind: z.number().int().describe("Processes that could not be ended"),
});
export type CommandResult = z.infer<typeof commandResult>;

export function resultOf(command: string, timeoutMs: number, end: ProcessEnd): CommandResult {
  const { cause, exitCode, durationMs, stdout, stderr, leftBehind } = end;
  return {
    command,
    ended: cause,
    ...(exitCode !== undefined && { exitCode }),
    durationMs: Math.round(durationMs),
    timeoutMs,
    stdout: stdout.tail(),
    stdoutBytes: stdout.bytes,
    stderr: stderr.tail(),
    stderrBytes: stderr.bytes,
    leftBehind,
  };
}

/** Each stream as a part, where something came. */
export const partsOf = ({ stdout, stderr }: ProcessEnd): ToolContent[] =>
  Object.entries({ stdout, stderr })
    .filter(([, output]) => output.bytes > 0)
    .map(([id, output]) => ({ id, mediaType: "text/plain", data: output.whole() }));

/** `exit code 0`, `timed out after 120 s`. */
export function endWords({ ended, exitCode, timeoutMs }: CommandResult): string {
  const words: Record<EndCause, string> = {
    exited: exitCodeWords(exitCode),
    called_off: "called off",
    timed_out: `timed out after ${secondsOf(timeoutMs)} s`,
    too_many_processes: excessWords("too_many_processes"),
    too_much_memory: excessWords("too_much_memory"),
  };
  return words[ended];
}

/** `killed: more than 512 processes`. */
export const excessWords = (excess: Excess): string =>
  excess === "too_many_processes"
    ? `killed: more than ${processLimits.processes} processes`
    : `killed: more than ${Math.round(processLimits.memoryBytes / 1024 ** 2)} MiB of memory`;

/** `12.4`, `120`. */
export const secondsOf = (ms: number): string => (ms / 1000).toFixed(1).replace(/\.0$/, "");

/** How long something took: `12 ms`, `1.2 s`. */
export const tookWords = (ms: number): string => (ms < 100 ? `${Math.round(ms)} ms` : `${secondsOf(ms)} s`);

/** What the model reads. */
export function textForModel(result: CommandResult): string {
  const { stdout, stderr, leftBehind, durationMs } = result;
  const left =
    leftBehind > 0 ? [`${counted(leftBehind, "process", "processes")} could not be ended and may still run.`] : [];
  const printed = [
    ...(stdout === "" ? [] : ["stdout:", stdout.trimEnd()]),
    ...(stderr === "" ? [] : ["stderr:", stderr.trimEnd()]),
  ];
  const end = `The command ended: ${endWords(result)} (it took ${tookWords(durationMs)}).`;
  return [end, ...left, ...(printed.length > 0 ? printed : ["It printed nothing."])].join("\n");
}

const shownUnits = 120;

/**
 * A command as part of a summary that goes on behind it. Cut between words only: a cut through a secret would hide it from
 * whoever blanks secrets out.
 */
export function shownCommand(command: string): string {
  const line = oneLine(command);
  if (line.length <= shownUnits) return line || "a command";
  const words = line
    .slice(0, shownUnits + 1)
    .split(" ")
    .slice(0, -1);
  return words.length === 0 ? "a command" : `${words.join(" ")} …`;
}

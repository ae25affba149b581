// How the end of a piece of code is told: to people in one line, to the model with what it printed, gave and made.
import { z } from "zod";
import { secondsOf, tookWords } from "../command/command-words.js";
import type { ToolContent } from "../tool.js";
import { sizeWords } from "../web/size-words.js";
import { counted, oneLine, visible } from "../words.js";
import { bounds } from "./bounds.js";
import type { Language } from "./child/messages.js";
import type { ThreadRun } from "./interpreters.js";
import { producedFiles } from "./produced-files.js";
import type { CodeCause } from "./run-code.js";

export const codeResult = z.object({
  language: z.enum(["python", "javascript"]).describe("What it was written in"),
  ended: z
    .enum(["finished", "timed_out", "called_off", "too_many_processes", "too_much_memory", "crashed"])
    .describe("By itself, or why it was ended"),
  value: z.string().optional().describe("The last expression, where it has a value"),
  error: z
    .object({
      line: z.string().describe("What went wrong, in one line"),
      trace: z.string().describe("And where"),
    })
    .optional()
    .describe("What the code has thrown"),
  durationMs: z.number().int().describe("How long it took, without the start of the interpreter"),
  stdout: z.string().describe("The end of what it printed"),
  stdoutBytes: z.number().int().describe("All that it printed"),
  stderr: z.string().describe("The end of its errors and messages"),
  stderrBytes: z.number().int().describe("All of them"),
  files: z
    .array(
      z.object({
        path: z.string().describe("From the scratch folder"),
        contentId: z
          .string()
          .optional()
          .describe("Names the part of the call that holds it; none where it was not kept"),
        mediaType: z.string().describe("What it holds"),
        bytes: z.number().int().describe("How large it is"),
      }),
    )
    .describe("New or changed files"),
  interpreter: z
    .enum(["new", "kept", "restarted"])
    .describe("kept: with the variables of earlier calls; restarted: those are gone"),
  isLost: z.boolean().describe("The interpreter was ended, with its variables and files"),
});
export type CodeResult = z.infer<typeof codeResult>;

export function resultOf(language: Language, run: ThreadRun): { result: CodeResult; content: ToolContent[] } {
  const { files, content } = producedFiles(run.files);
  const { cause, value, error, stdout, stderr, interpreter, isLost } = run;
  const result: CodeResult = {
    language,
    ended: cause,
    ...(value !== undefined && { value }),
    ...(error !== undefined && { error }),
    durationMs: Math.round(run.durationMs),
    stdout: stdout.tail(),
    stdoutBytes: stdout.bytes,
    stderr: stderr.tail(),
    stderrBytes: stderr.bytes,
    ...{ files, interpreter, isLost },
  };
  const printed = Object.entries({ stdout, stderr })
    .filter(([, output]) => output.bytes > 0)
    .map(([id, output]): ToolContent => ({ id, mediaType: "text/plain", data: output.whole() }));
  return { result, content: [...printed, ...content] };
}

/** What the settings say, for words about limits. */
export interface CodeLimits {
  readonly timeoutMs: number;
  readonly memoryBytes: number;
}

export function summaryOf(result: CodeResult, limits: CodeLimits): string {
  if (result.ended !== "finished") return `${endWords(result.ended, limits)}${result.isLost ? lostWords : ""}`;
  if (result.error !== undefined) return oneLine(result.error.line);
  const { length } = result.files;
  return `Code ran in ${tookWords(result.durationMs)}${length > 0 ? `, ${counted(length, "file", "files")} produced` : ""}`;
}

const lostWords = "; the interpreter's variables are gone";

function endWords(ended: Exclude<CodeCause, "finished">, { timeoutMs, memoryBytes }: CodeLimits): string {
  const words: Record<Exclude<CodeCause, "finished">, string> = {
    timed_out: `Stopped: it took more than ${secondsOf(timeoutMs)} s`,
    called_off: "Called off",
    too_many_processes: "Stopped: it started other processes",
    too_much_memory: `Stopped: it needed more than ${Math.round(memoryBytes / 1024 ** 2)} MiB of memory`,
    crashed: "The interpreter has crashed",
  };
  return words[ended];
}

/** What the model reads. */
export function textForModel(result: CodeResult, limits: CodeLimits): string {
  const { ended, value, error, stdout, stderr, files, interpreter, isLost, durationMs } = result;
  const took = tookWords(durationMs);
  const head =
    ended === "finished"
      ? `The code ${error === undefined ? "ran" : "failed"} (${took}).`
      : `${endWords(ended, limits)} (after ${took}).`;
  return [
    ...(interpreter === "restarted" ? ["The interpreter was restarted: earlier variables and files are gone."] : []),
    ...(interpreter === "new" ? ["This is a new interpreter: nothing of earlier calls is in it."] : []),
    head,
    ...(isLost
      ? ["The interpreter was ended: its variables and files are gone. The next call starts with a new one."]
      : []),
    ...(stdout === "" ? [] : ["stdout:", stdout.trimEnd()]),
    ...(stderr === "" ? [] : ["stderr:", stderr.trimEnd()]),
    ...(error === undefined ? [] : ["error:", error.trace.trimEnd()]),
    ...(value === undefined ? [] : ["value:", value]),
    ...(files.length === 0 ? [] : ["files (the user can download those with an id):", ...files.map(fileLine)]),
  ].join("\n");
}

function fileLine({ path, contentId, mediaType, bytes }: CodeResult["files"][number]): string {
  const kept =
    contentId === undefined
      ? `not kept: at most ${bounds.filesPerCall} files of ${sizeWords(bounds.scratch.fileBytes)} each are`
      : `id ${contentId}`;
  return `${visible(path)} (${mediaType}, ${sizeWords(bytes)}, ${kept})`;
}

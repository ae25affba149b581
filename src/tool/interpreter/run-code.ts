// One piece of code in an interpreter's process, to its end: what it prints as it comes, what it makes, and what came of it. When
// its time is up or it is called off, it is told to stop; when it does not, its process is ended.
import { setTimeout as pause } from "node:timers/promises";
import { KeptOutput } from "../command/kept-output.js";
import { bounds } from "./bounds.js";
import type { CodeError, FromChild, Language } from "./child/messages.js";
import type { InterpreterProcess, ProcessCause } from "./interpreter-process.js";

export interface CodeRequest {
  readonly language: Language;
  readonly code: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  onOutput(stream: "stdout" | "stderr", text: string): void;
}

/** Why it is over: by itself, or what ended it. */
export type CodeCause = "finished" | "timed_out" | "called_off" | Exclude<ProcessCause, "ended">;

export interface MadeFile {
  readonly path: string;
  readonly bytes: number;
  /** Undefined where it is too large. */
  readonly data: Buffer | undefined;
}

export interface CodeRun {
  readonly cause: CodeCause;
  readonly value: string | undefined;
  readonly error: CodeError | undefined;
  readonly durationMs: number;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
  readonly files: readonly MadeFile[];
  /** The process is gone, and everything in it. */
  readonly isLost: boolean;
}

/** Contract: the language is loaded, and nothing else runs. */
export async function runCode(process: InterpreterProcess, request: CodeRequest): Promise<CodeRun> {
  const { language, code, timeoutMs, signal } = request;
  const stdout = new KeptOutput((text) => request.onOutput("stdout", text));
  const stderr = new KeptOutput((text) => request.onOutput("stderr", text));
  const files = new MadeFiles();
  const done = new Promise<Extract<FromChild, { type: "done" }>>((resolve) => {
    process.onMessage = (message) => {
      if (message.type === "output")
        (message.stream === "stdout" ? stdout : stderr).add(Buffer.from(message.data, "base64"));
      else if (message.type === "file") files.add(message);
      else if (message.type === "done") resolve(message);
    };
  });
  const startedAt = performance.now();
  process.say({ type: "run", language, code });
  const time = new AbortController();
  const timedOut = pause(timeoutMs, "timed_out" as const, { signal: time.signal }).catch(() => "timed_out" as const);
  const first = await Promise.race([done, process.over, timedOut, aborted(signal)]).finally(() => time.abort());
  const stopCause = first === "timed_out" || first === "called_off" ? first : undefined;
  const end = stopCause === undefined ? first : await stop(process, done, bounds.interruptMs[stopCause]);
  const isLost = typeof end === "string";
  process.onMessage = () => {};
  stdout.close();
  stderr.close();
  const durationMs = performance.now() - startedAt;
  return {
    cause: stopCause ?? (isLost ? (end === "ended" ? "called_off" : end) : "finished"),
    value: isLost ? undefined : end.value,
    error: isLost ? undefined : end.error,
    ...{ durationMs, stdout, stderr, files: files.all, isLost },
  };
}

/** What was told to stop, stops; or its process ends. Told again and again: pyodide loses a word that comes as it looks for one. */
async function stop<Done>(
  process: InterpreterProcess,
  done: Promise<Done>,
  graceMs: number,
): Promise<Done | ProcessCause> {
  const tell = (): void => process.say({ type: "interrupt" });
  tell();
  const again = setInterval(tell, bounds.interruptAgainMs);
  const first = await Promise.race([done, process.over, pause(graceMs, "late" as const, { ref: false })]).finally(() =>
    clearInterval(again),
  );
  if (first !== "late") return first;
  await process.end("ended");
  return "ended";
}

/** No more than there can be, whatever is said. */
class MadeFiles {
  readonly all: MadeFile[] = [];
  #room: number = bounds.scratch.bytes;

  add({ path, bytes, data: said }: Extract<FromChild, { type: "file" }>): void {
    if (this.all.length >= bounds.scratch.files) return;
    const data = said === undefined ? undefined : Buffer.from(said, "base64");
    const isKept = data !== undefined && data.length <= Math.min(this.#room, bounds.scratch.fileBytes);
    if (isKept) this.#room -= data.length;
    this.all.push({ path, bytes: data?.length ?? bytes, data: isKept ? data : undefined });
  }
}

const aborted = (signal: AbortSignal): Promise<"called_off"> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("called_off");
    else signal.addEventListener("abort", () => resolve("called_off"), { once: true });
  });

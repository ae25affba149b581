// The process of an interpreter: takes code from the server, one piece at a time, and passes on what it prints and makes. Each
// language has a thread of its own, loaded when it is first needed, so that this one always hears the server: a word to stop, or
// that the server is gone, and then it ends whatever runs.
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import type { ChildSettings, FromChild, FromLanguage, Language, ToChild } from "./messages.js";
import { OutputRing, ringBytes } from "./output-ring.js";
import { SharedFiles } from "./shared-files.js";

interface Thread {
  readonly worker: Worker;
  readonly interrupt: Uint8Array;
  readonly output: OutputRing;
}

const settings = JSON.parse(process.argv[2]!) as ChildSettings;
const threads = new Map<Language, Thread>();
const files = new SharedFiles();
let running: Language | undefined;

const heapMb = 256;
const stop = 2;
/** Between two looks at what was printed. */
const lookEveryMs = 20;
const mostUnread = 4 * 1024 * 1024;

const say = (message: FromChild, onSent: () => void = () => {}): void => {
  process.stdout.write(`${JSON.stringify(message)}\n`, onSent);
};

const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
lines.on("line", (line) => hear(JSON.parse(line) as ToChild));
lines.on("close", () => process.exit(0));
setInterval(passOutput, lookEveryMs);

function hear(message: ToChild): void {
  switch (message.type) {
    case "load":
      threadOf(message.language);
      return;
    case "run": {
      const { language, code } = message;
      const thread = threadOf(language);
      running = language;
      thread.interrupt[0] = 0;
      thread.worker.postMessage({ type: "run", code, files: files.newFor(language) });
      return;
    }
    case "interrupt":
      if (running !== undefined) threadOf(running).interrupt[0] = stop;
  }
}

function threadOf(language: Language): Thread {
  const known = threads.get(language);
  if (known) return known;
  const interrupt = new SharedArrayBuffer(1);
  const output = new SharedArrayBuffer(ringBytes);
  const worker = new Worker(new URL(`./${language}.js`, import.meta.url), {
    workerData: { ...settings, interrupt, output },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  });
  const thread = { worker, interrupt: new Uint8Array(interrupt), output: new OutputRing(output) };
  threads.set(language, thread);
  worker.on("message", (message: FromLanguage) => pass(language, message));
  worker.on("error", (reason) => endBroken(language, reason instanceof Error ? reason.message : String(reason)));
  worker.on("exit", () => endBroken(language, "The interpreter ended"));
  return thread;
}

function pass(language: Language, message: FromLanguage): void {
  if (message.type === "loaded") say({ type: "loaded", language });
  else passEnd(language, message);
}

function passEnd(language: Language, { end, files: made, isBroken }: Extract<FromLanguage, { type: "done" }>): void {
  // To the last of it, however much the server has not read yet: what stays would be told as the next code's.
  passAll(language);
  running = undefined;
  for (const [path, data] of files.take(language, made)) {
    const isSmall = data.length <= settings.scratch.fileBytes;
    say({ type: "file", path, bytes: data.length, ...(isSmall && { data: Buffer.from(data).toString("base64") }) });
  }
  if (isBroken) endBroken(language, end.error?.line ?? "The interpreter ended");
  else say({ type: "done", ...end });
}

/** The thread that prints waits where nothing is read, and nothing is read before the server has read what came before. */
function passOutput(): void {
  if (running !== undefined && process.stdout.writableLength <= mostUnread) passAll(running);
}

function passAll(language: Language): void {
  for (const [stream, data] of threadOf(language).output.read())
    say({ type: "output", stream, data: Buffer.from(data).toString("base64") });
}

function endBroken(language: Language, message: string): void {
  say({ type: "broken", language, message: message.slice(0, settings.textUnits) }, () => process.exit(1));
}

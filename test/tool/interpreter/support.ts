// What the suites about interpreters share: interpreters that are gone afterwards, contexts of a thread of their own, and who is alive.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, vi } from "vitest";
import { codeInterpreter } from "../../../src/tool/builtin/code-interpreter.js";
import { type InterpreterSettings, Interpreters } from "../../../src/tool/interpreter/interpreters.js";
import type { Phase } from "../../../src/tool/tool.js";
import { hasBubblewrap } from "../command/support.js";
import { KeptContext } from "../support.js";

export const mib = 1024 ** 2;

export const settings: InterpreterSettings = {
  memoryBytes: 192 * mib,
  timeoutMs: 30_000,
  idleMs: 600_000,
  atOnce: 4,
  sandbox: "none",
  workspace: undefined,
};

/** Without a sandbox, and with one where there is one. */
export const ways = [
  { way: "without a sandbox", sandbox: "none", isHere: true },
  { way: "in bubblewrap (needs it)", sandbox: "bubblewrap", isHere: hasBubblewrap() },
] as const;

/** Held in where that can be. */
export const best = hasBubblewrap() ? "bubblewrap" : "none";

/** Python takes seconds to load, and on a machine that is busy as long as it may (bounds.loadMs). */
const testTimeout = 90_000;

/** Interpreters that end with the suite. What they are made with can be changed later. */
export function useInterpreters(): (changes?: Partial<InterpreterSettings>) => Interpreters {
  vi.setConfig({ testTimeout });
  const made: Interpreters[] = [];
  afterAll(async () => {
    await Promise.all(made.map((interpreters) => interpreters.close()));
  });
  return (changes = {}) => {
    for (const [name, value] of Object.entries(settings))
      if (!(name in changes)) Object.assign(changes, { [name]: value });
    const interpreters = new Interpreters(changes as InterpreterSettings);
    made.push(interpreters);
    return interpreters;
  };
}

/** A call in a thread. */
export class ThreadContext extends KeptContext {
  override readonly threadId: KeptContext["threadId"];
  readonly streams: [stream: string, text: string][] = [];
  readonly messages: string[] = [];

  constructor(threadId: string = randomUUID(), signal?: AbortSignal) {
    super(signal ? { signal } : {});
    this.threadId = threadId as KeptContext["threadId"];
  }

  override phase(_phase?: Phase, message?: string): void {
    if (message) this.messages.push(message);
  }

  override output(stream: "stdout" | "stderr", text: string): void {
    this.streams.push([stream, text]);
    super.output(stream, text);
  }
}

/** Runs code in one thread, as the tool does. */
export function inThread(interpreters: Interpreters, threadId: string = randomUUID()) {
  const tool = codeInterpreter(interpreters);
  const run = async (
    language: "python" | "javascript",
    code: string,
    { signal, onOutput }: { signal?: AbortSignal | undefined; onOutput?: (() => void) | undefined },
  ) => {
    const context = new ThreadContext(threadId, signal);
    if (onOutput) context.onOutput = onOutput;
    const outcome = await tool.run({ language, code }, context);
    return { ...outcome, context, forModel: tool.toModel!(outcome.result) };
  };
  return {
    threadId,
    python: (code: string, signal?: AbortSignal, onOutput?: () => void) => run("python", code, { signal, onOutput }),
    javascript: (code: string, signal?: AbortSignal, onOutput?: () => void) =>
      run("javascript", code, { signal, onOutput }),
    pid: () => interpreters.pids.get(threadId),
  };
}

/** Whether the process runs: one that waits to be noticed does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

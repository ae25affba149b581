// Clients that are commands: their standard output is the stream, and leaving is closing what they wait for.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** How it is told to leave: by a signal, or by the end of its standard input. */
  readonly leave: NodeJS.Signals | "stdin";
}

export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** Lines as they are printed; returns how the command ended. A reader that stops early ends the command. */
export async function* linesOf({ file, args, env, signal, leave }: Command): AsyncGenerator<string, Ended> {
  // A group of its own: commands from npm are wrappers, and a signal must reach what they started.
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env }, detached: true });
  // Not 'exit': what a wrapper started may still be writing.
  const closed = once(child, "close") as Promise<[number | null]>;
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const abort = () => (leave === "stdin" ? child.stdin.end() : signalGroup(child, leave));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    yield* createInterface({ input: child.stdout });
    const [code] = await closed;
    return { code, stderr };
  } finally {
    signal.removeEventListener("abort", abort);
    signalGroup(child, "SIGKILL");
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // Nobody is left in it.
  }
}

// A real executor: the built command in a process of its own, told to print lines of JSON.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach } from "vitest";
import { endChildren } from "./command-process.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");

export interface ExecutorLine {
  readonly kind: string;
  readonly call?: { readonly toolCallId: string; readonly toolName: string; readonly threadId: string };
  readonly outcome?: string;
  readonly summary?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface ExecutorProcessOptions {
  readonly url: string;
  readonly workspace: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export class ExecutorProcess {
  readonly lines: ExecutorLine[] = [];
  readonly child: ChildProcess;
  readonly #ended: Promise<[number | null]>;
  #stderr = "";
  #isOver = false;
  #wake = new Set<() => void>();

  constructor({ url, workspace, args = [], env }: ExecutorProcessOptions) {
    const given = ["executor", "--server", url, "--workspace", workspace, "--json", ...args];
    this.child = spawn(process.execPath, [command, ...given], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#ended = once(this.child, "close") as Promise<[number | null]>;
    void this.#ended.then(() => {
      this.#isOver = true;
      this.#news();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      this.lines.push(JSON.parse(line) as ExecutorLine);
      this.#news();
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  of(kind: string): ExecutorLine[] {
    return this.lines.filter((line) => line.kind === kind);
  }

  /** Resolves when so many lines are of the kind; rejects when it ends before. */
  async until(kind: string, count = 1): Promise<this> {
    while (this.of(kind).length < count) {
      if (this.#isOver) throw new Error(`the executor ended without ${kind}: ${this.#stderr}`);
      await new Promise<void>((resolve) => this.#wake.add(resolve));
    }
    return this;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.#ended;
  }

  /** Ctrl-C: the exit code. */
  async interrupt(): Promise<number | null> {
    this.child.kill("SIGINT");
    return this.end();
  }

  async end(): Promise<number | null> {
    const [code] = await this.#ended;
    return code;
  }

  #news(): void {
    const waiting = this.#wake;
    this.#wake = new Set();
    for (const wake of waiting) wake();
  }
}

/** Starts executors that are gone after each test. Resolves when the tools are offered. */
export function useExecutors(): (options: ExecutorProcessOptions) => Promise<ExecutorProcess> {
  const children: ChildProcess[] = [];
  afterEach(() => endChildren(children));
  return async (options) => {
    const executor = new ExecutorProcess(options);
    children.push(executor.child);
    return executor.until("offered");
  };
}

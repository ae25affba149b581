// What a scenario starts and makes, and its end: processes are killed and directories removed, also on Ctrl-C.
import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type AskFunction, asker, type UsageAsks } from "./ask.js";
import { distDirectory } from "./built.js";

export interface Running<Api> {
  readonly pid: number;
  readonly ask: AskFunction<Api & UsageAsks>;
  stop(): Promise<void>;
}

export interface RunningServer<Api = unknown> extends Running<Api> {
  readonly port: number;
}

const probe = join(import.meta.dirname, "usage-probe.mjs");
const root = join(import.meta.dirname, "../..");

export class Workspace implements AsyncDisposable {
  readonly #command = join(distDirectory(), "src/cli/main.js");
  readonly #children = new Set<ChildProcess>();
  readonly #directories = new Set<string>();

  directory(): string {
    const path = mkdtempSync(join(tmpdir(), "heddle-bench-"));
    this.#directories.add(path);
    return path;
  }

  /** A file of workers/ in a process of its own. */
  async worker<Api>(file: string, args: readonly string[] = []): Promise<Running<Api>> {
    const path = join(import.meta.dirname, "../workers", file);
    const child = fork(path, args, { ...forkOptions, execArgv: ["--import", "tsx", "--import", probe] });
    const running = this.#running<Api>(child, file);
    await Promise.race([once(child, "message"), ended(child, file)]); // answerAsks says that it is there.
    return running;
  }

  /** The real server, as `heddle serve` starts it. */
  async heddle(dataDir: string, nodeOptions: readonly string[] = []): Promise<RunningServer> {
    const args = ["serve", "--listen", "127.0.0.1:0", "--data", dataDir, "--log-level", "warn"];
    const child = fork(this.#command, args, {
      ...forkOptions,
      execArgv: [...nodeOptions, "--import", probe],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const running = this.#running<unknown>(child, "heddle serve");
    const port = await Promise.race([announcedPort(child), ended(child, "heddle serve")]);
    return { ...running, port };
  }

  /** The same without a promise, for signals. */
  abandon(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    for (const path of this.#directories) rmSync(path, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#children].map(stop));
    this.abandon();
  }

  #running<Api>(child: ChildProcess, name: string): Running<Api> {
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return { pid: child.pid!, ask: asker(child, name), stop: () => stop(child) };
  }
}

const forkOptions: ForkOptions = {
  cwd: root,
  serialization: "advanced",
  stdio: ["ignore", "inherit", "inherit", "ipc"],
};

async function announcedPort(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const port = /^heddle listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
    if (port) return Number(port);
  }
  return ended(child, "heddle serve");
}

function ended(child: ChildProcess, name: string): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error(`${name} ended (${child.exitCode ?? child.signalCode}) before it was ready`));
    if (child.exitCode !== null) fail();
    else child.once("exit", fail).once("error", reject);
  });
}

/** Killed, not asked: nothing that it has is wanted any more. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

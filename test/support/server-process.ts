// A real server: the built command in a process of its own, on a port of its own, upon a directory of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");

export interface ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly child: ChildProcess;
  /** What it wrote to stderr so far. */
  log(): string;
  /** What /statusz says. */
  status(): Promise<Record<string, number>>;
  /** SIGKILL, and wait. The data directory stays. */
  kill(): Promise<void>;
  /** SIGTERM, and wait: the exit code. */
  stop(): Promise<number | null>;
}

export interface ServerProcessOptions {
  dataDir: string;
  /** 0 picks one. */
  port?: number;
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  token?: string;
}

export const newDataDir = (): Promise<string> => mkdtemp(join(tmpdir(), "heddle-test-"));

export const removeDataDir = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/** Resolves when it says that it listens; rejects with its log when it ends before. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const listen = `127.0.0.1:${options.port ?? 0}`;
  const child = spawn(process.execPath, [command, "serve", "--listen", listen, "--data", options.dataDir, ...(options.args ?? [])], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
  });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const ended = once(child, "exit");
  const url = await Promise.race([
    listeningUrl(child),
    ended.then(() => Promise.reject(new Error(`the server ended before it listened:\n${log}`))),
  ]);
  const headers: Record<string, string> = options.token ? { authorization: `Bearer ${options.token}` } : {};
  return {
    url,
    port: Number(new URL(url).port),
    dataDir: options.dataDir,
    child,
    log: () => log,
    status: async () => (await fetch(`${url}/statusz`, { headers })).json() as Promise<Record<string, number>>,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    stop: async () => {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^heddle listening on (\S+)$/.exec(line)?.[1];
    if (url) {
      child.stdout?.resume();
      return url;
    }
  }
  return new Promise(() => {});
}

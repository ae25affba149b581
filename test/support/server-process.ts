// A real server: the built command in a process of its own, on a port of its own, upon a directory of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
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
  /** What /statusz says. The question itself is an open HTTP/1.1 request and a socket: at rest, `requests` is 1. */
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
  /** What to show at /statusz, where the server wants a token or has a certificate of its own. */
  token?: string;
  ca?: string;
}

export const newDataDir = (): Promise<string> => mkdtemp(join(tmpdir(), "heddle-test-"));

export const removeDataDir = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/** Resolves when it says that it listens; rejects with its log when it ends before. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const listen = `127.0.0.1:${options.port ?? 0}`;
  const child = spawn(
    process.execPath,
    [command, "serve", "--listen", listen, "--data", options.dataDir, ...(options.args ?? [])],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
    },
  );
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
    status: async () =>
      JSON.parse(await get(`${url}/statusz`, { headers, ...(options.ca && { ca: options.ca }) })) as Record<
        string,
        number
      >,
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

/** On a connection of its own, so that nothing of it is left for the next question to count. */
async function get(url: string, options: { headers: Record<string, string>; ca?: string }): Promise<string> {
  const request = (url.startsWith("https:") ? getHttps : getHttp)(url, { ...options, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

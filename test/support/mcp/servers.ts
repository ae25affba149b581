// Real MCP servers for tests, as the configuration names them: the reference servers of the npm registry, and one of our own that does
// what honest and less honest servers do.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const packages = createRequire(import.meta.url);
const entryOf = (name: string): string =>
  join(dirname(packages.resolve(`@modelcontextprotocol/${name}/package.json`)), "dist/index.js");

export const oddFile = join(import.meta.dirname, "odd-server.mjs");

const node = (...args: readonly string[]) => ({ command: process.execPath, args });

/** `mark`: stands in its command line, so that a test finds its own among those of others. */
export const oddServer = (env: Readonly<Record<string, string>> = {}, mark = "stdio") => ({
  ...node(oddFile, mark),
  env,
});
export const everythingServer = () => node(entryOf("server-everything"), "stdio");
export const filesystemServer = (directory: string) => node(entryOf("server-filesystem"), directory);

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** SIGKILL, and wait. */
  kill(): Promise<void>;
}

/** Our own, over streamable HTTP. */
export async function startOddHttp(env: Readonly<Record<string, string>> = {}): Promise<HttpServer> {
  const child = spawn(process.execPath, [oddFile, "http"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return running(child, Number(line));
}

/** The reference server: it is told its port, and says when it listens. */
export async function startEverythingHttp(port: number): Promise<HttpServer> {
  const child = spawn(process.execPath, [entryOf("server-everything"), "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.resume();
  for await (const line of createInterface({ input: child.stderr })) if (line.includes("listening on port")) break;
  return running(child, port);
}

const running = (child: ChildProcess, port: number): HttpServer => ({
  url: `http://127.0.0.1:${port}/mcp`,
  port,
  child,
  kill: async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
  },
});

/** One that nobody listens on, a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

// A server's inside with MCP servers, and the same calls with the bare SDK. The servers are the reference server, one over stdio for
// each side and one over HTTP for both. Arguments: a data directory for Heddle, and one for raw LMDB.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore, wire } from "../support/built.js";
import { TimedCalls } from "../support/timed-calls.js";

const [dir, rawDir] = process.argv.slice(2) as [string, string];

export type Over = "stdio" | "http";

export interface Work {
  readonly over: Over;
  readonly count: number;
}

const entry = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);
const input = { message: "A short line of text, as most are" };
const { port, end } = await startHttp();
const url = `http://127.0.0.1:${port}/mcp`;

const { McpServers } = await load<typeof import("../../src/tool/mcp/mcp-servers.js")>("tool/mcp/mcp-servers.js");
const limits = { startTimeoutMs: 30_000, idleTimeoutMs: 30_000, timeoutMs: 60_000, policy: "allow" } as const;
const program = { command: process.execPath, args: [entry, "stdio"], env: {}, cwd: process.cwd() };
const servers = new McpServers({
  threadServers: false,
  allowHosts: [],
  version: "0",
  servers: [
    { ...limits, label: "stdio", place: { kind: "program", ...program } },
    { ...limits, label: "http", place: { kind: "address", url, headers: {} } },
  ],
});
const bare = {
  stdio: await client(new StdioClientTransport({ ...program, stderr: "ignore" })),
  http: await client(new StreamableHTTPClientTransport(new URL(url))),
};

const { log } = await openBuiltCore(dir);
const calls = new TimedCalls(log, rawDir);
const core = await wire(calls.log, { model: calls.model, servers, agent: { maxSteps: 1000 } });
const callsOf = ({ over, count }: Work) => ({ tool: `mcp__${over}__echo`, input, count });

const asks = {
  warmUp: (work: Work): Promise<void> => calls.warmUp(core, callsOf(work)),
  heddle: (work: Work): Promise<number[]> => calls.run(core, callsOf(work)),
  bare: ({ over, count }: Work): Promise<number[]> =>
    calls.byHand(count, () => bare[over].callTool({ name: "echo", arguments: input })),
  close: async (): Promise<void> => {
    await Promise.all([servers.close(), bare.stdio.close(), bare.http.close()]);
    end();
  },
};

/** As a program has it that uses the SDK: it knows the tools, and checks what they give. */
async function client(transport: Parameters<Client["connect"]>[0]): Promise<Client> {
  const connected = new Client({ name: "bench", version: "0" });
  await connected.connect(transport);
  await connected.listTools();
  return connected;
}

async function startHttp(): Promise<{ port: number; end(): void }> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  const child = spawn(process.execPath, [entry, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stderr })) if (line.includes("listening on port")) break;
  return { port, end: () => void child.kill("SIGKILL") };
}

export type McpAsks = typeof asks;
answerAsks(asks);

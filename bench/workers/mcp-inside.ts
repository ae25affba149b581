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
import type { AppendBatch } from "../../src/log/event-log.js";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore, wire } from "../support/built.js";
import { beat } from "../support/pace.js";
import { putsOfAppends, watchAppends } from "../support/recorded-append.js";

const [dir, rawDir] = process.argv.slice(2) as [string, string];
/** Between a call's name and the end of the reply: what came before the end is on disk by then. */
let writesMs = 25;

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
let appends: AppendBatch[] = [];
let onIdle: () => void = () => {};
const watched = watchAppends(log, (batch) => {
  appends.push(batch);
  if (batch.busy === false) onIdle();
});
let tookMs: number[] = [];

/** Calls the tool as often as the message says. A call takes from the end of the reply until the model is asked again. */
const model: Model = {
  name: "bench:mcp",
  async *stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
    const now = performance.now();
    const asked = messages.find(({ role }) => role === "user");
    const { over, count } = JSON.parse(asked?.role === "user" ? asked.text : "{}") as Work;
    const done = messages.filter(({ role }) => role === "assistant").length;
    if (done > 0) tookMs.push(now - endedAt);
    if (done === count) {
      yield { type: "text", text: "Done." };
      yield { type: "end", reason: "stop", providerReason: "stop" };
      return;
    }
    const name = `mcp__${over}__echo`;
    yield { type: "tool_call", index: 0, id: `call_${done}`, name, input: JSON.stringify(input) };
    yield { type: "tool_call_end", index: 0 };
    await beat(writesMs);
    endedAt = performance.now();
    yield { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
  },
};
let endedAt = 0;
const core = await wire(watched, { model, servers, agent: { maxSteps: 1000 } });
const raw = new RawLmdb(rawDir);

const asks = {
  /** A server is judged warm: the way of a call is longer than by hand, and takes longer to be compiled. */
  warmUp: async (work: Work): Promise<void> => {
    writesMs = 0;
    await asks.heddle(work);
    writesMs = 25;
  },
  /** How long each call took, from the model's last word to the stored end. */
  heddle: async (work: Work): Promise<number[]> => {
    tookMs = [];
    appends = [];
    const ended = new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
    await core.threads.send(threadId, { requestId: newId(), text: JSON.stringify(work), options: undefined });
    await ended;
    return tookMs;
  },
  /** The bare SDK's call, between the two commits of the last call that Heddle made: its start and its end. */
  bare: async ({ over, count }: Work): Promise<number[]> => {
    const took: number[] = [];
    const groups = putsOfAppends(appends);
    const calls = appends.flatMap(({ calls }, index) => (calls?.length ? [index] : []));
    const [started, ended] = calls.slice(-2).map((index) => groups[index]!) as [(typeof groups)[0], (typeof groups)[0]];
    for (let call = 0; call < count; call++) {
      await beat(writesMs);
      const startedAt = performance.now();
      await raw.put(started);
      await bare[over].callTool({ name: "echo", arguments: input });
      await raw.put(ended);
      took.push(performance.now() - startedAt);
    }
    return took;
  },
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

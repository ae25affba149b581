// MCP servers as whoever watches a thread meets them: a real Heddle, real MCP servers in processes of their own, everything over gRPC.
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.js";
import { McpServerState } from "../../gen/heddle/v1/tool_service_pb.js";
import { Executor, RunOutcome, ToolCallOutcome, ToolKind, ToolPolicy } from "../../src/thread/schema.js";
import { type AgentServer, makeAgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { refusal, Session } from "../fixtures/engine/session.js";
import { cases, valuesOf } from "../support/agent.js";
import { canSeeLeftovers, processesWith } from "../support/left-behind.js";
import {
  everythingServer,
  filesystemServer,
  freePort,
  type HttpServer,
  oddServer,
  startEverythingHttp,
  startOddHttp,
} from "../support/mcp/servers.js";

const secret = "env-secret-of-odd-12345";
const header = "header-secret-of-web-67890";
const threadHeader = "header-secret-of-thread-24680";

/** The message is the tool's name, and what it is called with: the model calls it, and says "Done." */
const turn = (message: string, ...calls: readonly (readonly [name: string, input?: object])[]) => ({
  user: { exact: message },
  replies: [
    ...calls.map(([name, input = {}]) => ({ events: [{ toolCall: { name, input } }] })),
    { events: [{ text: "Done." }] },
  ],
});

let server: AgentServer;
let session: Session;
let directory: string;
let everything: HttpServer;
let odd: HttpServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-mcp-"));
  await writeFile(join(directory, "hello.txt"), "Hello from a file\n");
  everything = await startEverythingHttp(await freePort());
  odd = await startOddHttp();
  const oddCall = (name: string, input: object = {}) => turn(name, [`mcp__odd__${name}`, input]);
  const script = {
    turns: [
      oddCall("echo", { text: "hello" }),
      oddCall("steps", { steps: 3, everyMs: 150 }),
      ...["die", "hang", "flood", "fail", "refuse", "misfit", "garbage", "elicit", "blab", "wipe", "everything"].map(
        (name) => oddCall(name),
      ),
      turn("grow and use it", ["mcp__odd__grow"], ["mcp__odd__steps", { steps: 4, everyMs: 400 }], ["mcp__odd__late"]),
      turn("die twice", ["mcp__odd__die"], ["mcp__odd__echo", { text: "back" }]),
      turn("reference", ["mcp__everything__echo", { message: "hi" }], ["mcp__everything__get-tiny-image"]),
      turn("reference work", ["mcp__everything__trigger-long-running-operation", { duration: 1, steps: 4 }]),
      turn(
        "reference over http",
        ["mcp__web__get-sum", { a: 2, b: 3 }],
        ["mcp__web__get-structured-content", { location: "Chicago" }],
      ),
      turn("file", ["mcp__files__read_text_file", { path: join(directory, "hello.txt") }]),
      turn("no file", ["mcp__files__read_text_file", { path: "/etc/passwd" }]),
      turn("of the thread", ["mcp__mine__blab"]),
      turn("nothing"),
    ],
  };
  server = await makeAgentServer({
    script,
    logLevel: "debug",
    env: { ODD_KEY: secret },
    agent: {
      approvals: "deny",
      toolTimeoutMs: 1_000,
      policy: { mcp__odd__wipe: "ask", mcp__mine__blab: "allow" },
      mcp: { threadServers: true, allowHosts: [`127.0.0.1:${odd.port}`] },
    },
    config: {
      mcpServers: {
        odd: {
          ...oddServer({ ODD_SECRET: `\${ODD_KEY}`, ODD_TOOLS: "100", ODD_PAGE: "10" }, directory),
          policy: "allow",
        },
        everything: { type: "stdio", ...everythingServer(), policy: "allow" },
        files: filesystemServer(directory),
        web: { type: "http", url: everything.url, headers: { Authorization: `Bearer ${header}` }, policy: "allow" },
        gone: { command: "no-such-program-of-heddle" },
        off: { command: "never-started", disabled: true },
      },
    },
  });
  await server.start();
  session = new Session(server.url);
}, 60_000);
afterAll(async () => {
  await session.close();
  await server.remove();
  await Promise.all([everything.kill(), odd.kill()]);
  await rm(directory, { recursive: true });
});

const play = async (message: string) => {
  const { threadId } = await session.start(message);
  return { threadId, events: await session.until(threadId, "runCompleted") };
};
const completeOf = async (message: string) => {
  const { events } = await play(message);
  return valuesOf(events, "toolCallComplete");
};

test("X2: nothing is started before a run needs it", async () => {
  expect(processesWith(directory)).toEqual([]);
  const { mcpServers, tools } = await session.tools.listTools({});
  expect(mcpServers.map(({ label, state }) => [label, state])).toEqual(
    ["everything", "files", "gone", "odd", "web"].map((label) => [label, McpServerState.IDLE]),
  );
  expect(tools.some(({ name }) => name.startsWith("mcp__"))).toBe(false);
  expect(await server.process.status()).toMatchObject({ mcpIdle: 5, mcpReady: 0, mcpDown: 0 });
});

describe("discovery", () => {
  test("is recorded on the run that asks, with a list that can be read; one that is down keeps nobody waiting", async () => {
    const { threadId, events } = await play("nothing");
    const started = valuesOf(events, "toolDiscoveryStarted");
    expect(started.map(({ serverLabel }) => serverLabel).sort()).toEqual(["everything", "files", "gone", "odd", "web"]);
    const byLabel = Object.fromEntries(
      started.map(({ discoveryId, serverLabel }) => [
        serverLabel,
        valuesOf(events, "toolDiscoveryComplete").find((complete) => complete.discoveryId === discoveryId),
      ]),
    );
    expect(byLabel["odd"]).toMatchObject({ success: true, errorMessage: "" });
    expect(byLabel["odd"]!.toolCount).toBeGreaterThan(100);
    expect(byLabel["everything"]).toMatchObject({ success: true });
    expect(byLabel["gone"]).toMatchObject({
      success: false,
      errorMessage: expect.stringContaining("there is no program no-such-program-of-heddle"),
    });
    expect(events.at(-1)?.payload.value).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
    const { discoveryId } = byLabel["odd"]!;
    const list = await session.tools.getToolDiscovery({ threadId, discoveryId });
    expect(list.serverLabel).toBe("odd");
    expect(list.tools.filter(({ name }) => /^mcp__odd__tool-\d+$/.test(name))).toHaveLength(100);
    expect(list.toolsJson).not.toContain(secret);
  });

  test("shows in the list of tools, in /statusz and in health, and the server itself stays healthy", async () => {
    await play("nothing");
    const { mcpServers, tools } = await session.tools.listTools({});
    expect(mcpServers.find(({ label }) => label === "odd")).toMatchObject({
      state: McpServerState.READY,
      serverInfo: "odd 1.2.3",
    });
    expect(mcpServers.find(({ label }) => label === "gone")).toMatchObject({
      state: McpServerState.DOWN,
      retryTime: expect.anything(),
      errorMessage: expect.stringContaining("no-such-program-of-heddle"),
    });
    expect(tools.find(({ name }) => name === "mcp__files__write_file")).toMatchObject({
      kind: ToolKind.EXECUTE,
      policy: ToolPolicy.ASK,
      source: { source: { case: "mcp", value: { serverLabel: "files", toolName: "write_file" } } },
    });
    expect(await server.process.status()).toMatchObject({ mcpReady: 4, mcpDown: 1 });
    const health = createClient(Health, createGrpcTransport({ baseUrl: server.url }));
    const status = async (service: string) => (await health.check({ service })).status;
    expect(await status("mcp/odd")).toBe(Status.SERVING);
    expect(await status("mcp/gone")).toBe(Status.NOT_SERVING);
    expect(await status("")).toBe(Status.SERVING);
    expect(Object.keys((await health.list({})).statuses)).toContain("mcp/web");
  });

  test("is not recorded again while the list is the same, and is when it has changed, also within a run", async () => {
    const { threadId, events } = await play("nothing");
    await session.send(threadId, { text: "nothing" });
    const again = await session.until(threadId, "runCompleted", 2);
    const ofOdd = (all: typeof events) =>
      valuesOf(all, "toolDiscoveryStarted").filter(({ serverLabel }) => serverLabel === "odd").length;
    expect([ofOdd(events), ofOdd(again)]).toEqual([1, 1]);
    await session.send(threadId, { text: "grow and use it" });
    const grown = await session.until(threadId, "runCompleted", 3);
    expect(ofOdd(grown)).toBe(2);
    expect(valuesOf(grown, "toolCallComplete").map(({ summary }) => summary)).toEqual(["grown", "4 steps", "late"]);
  });
});

describe("a call", () => {
  test("has the same life as any other, and says where it runs", async () => {
    const { events } = await play("echo");
    expect(cases(events).slice(cases(events).indexOf("toolCallCreated"))).toEqual([
      "toolCallCreated",
      "toolCallInputDelta",
      "toolCallInputCompleted",
      "toolCallStarted",
      "toolCallComplete",
      "messageCreated",
      "messageDelta",
      "messageCompleted",
      "runCompleted",
    ]);
    expect(valuesOf(events, "toolCallCreated")).toMatchObject([
      {
        toolName: "mcp__odd__echo",
        title: "Echo",
        kind: ToolKind.READ,
        source: { source: { case: "mcp", value: { serverLabel: "odd", toolName: "echo" } } },
      },
    ]);
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ executor: Executor.MCP, summary: "Echo: hello" }]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.SUCCEEDED, success: true, summary: "hello" },
    ]);
  });

  test("tells its progress, with numbers and words, and a flood of it is bounded", async () => {
    const { events } = await play("steps");
    expect(valuesOf(events, "toolCallProgress")).toMatchObject(
      [1, 2, 3].map((step) => ({ completed: step, total: 3, message: `Step ${step}`, startedSummary: "steps" })),
    );
    const flooded = valuesOf((await play("flood")).events, "toolCallProgress");
    expect(flooded.at(-1)).toMatchObject({ completed: 5_000, total: 5_000, message: "All" });
    expect(flooded.length).toBeLessThan(300);
  });

  test("keeps all that came, behind GetToolCall", async () => {
    const [complete] = await completeOf("everything");
    const { toolCall, contents } = await session.clients.toolCalls.getToolCall({ toolCallId: complete!.toolCallId });
    const bodies = Object.fromEntries(
      contents.map(({ info, data }) => [info!.contentId, Buffer.from(data).toString()]),
    );
    expect(Object.keys(bodies).sort()).toEqual(["audio-2", "image-1", "input", "model", "resource-3", "result"]);
    expect(bodies["image-1"]).toBe("png");
    expect(toolCall!.contents.find(({ contentId }) => contentId === "image-1")?.mediaType).toBe("image/png");
    expect(JSON.parse(bodies["result"]!)).toMatchObject({
      content: expect.arrayContaining([{ type: "resource_link", uri: "test:///c", name: "c" }]),
    });
  });

  test.each([
    ["fail", { outcome: ToolCallOutcome.FAILED, summary: "The disk is full", error: { kind: "tool_error" } }],
    ["refuse", { outcome: ToolCallOutcome.FAILED, error: { kind: "protocol_error", code: "-32602" } }],
    ["misfit", { outcome: ToolCallOutcome.FAILED, error: { kind: "output_schema_violation" } }],
    ["garbage", { outcome: ToolCallOutcome.SUCCEEDED, summary: "said" }],
    ["elicit", { outcome: ToolCallOutcome.SUCCEEDED, summary: expect.stringContaining("Heddle declines elicitation") }],
    ["wipe", { outcome: ToolCallOutcome.DENIED }],
  ])("that %ss ends so", async (message, expected) => {
    expect(await completeOf(message)).toMatchObject([expected]);
  });

  test("that is called off is cancelled, not failed", async () => {
    const { threadId } = await session.start("hang");
    const [toolCallId] = await session.callIds(threadId, 1);
    await session.clients.toolCalls.cancelToolCall({ toolCallId: toolCallId!, reason: "enough" });
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: enough", error: { kind: "cancelled" } },
    ]);
  });

  test("X1: whose server dies is interrupted, once, and the next call finds it again", async () => {
    const { events } = await play("die twice");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      {
        outcome: ToolCallOutcome.INTERRUPTED,
        error: { kind: "connection_lost" },
        summary: expect.stringContaining("its process has ended with code 7"),
      },
      { outcome: ToolCallOutcome.SUCCEEDED, summary: "back" },
    ]);
    expect(valuesOf(events, "toolCallStarted")).toHaveLength(2);
  });
});

describe("the reference servers", () => {
  test("everything, over stdio", async () => {
    const { events } = await play("reference");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { success: true, summary: "Echo: hi" },
      { success: true },
    ]);
    const { events: work } = await play("reference work");
    expect(valuesOf(work, "toolCallProgress").at(-1)).toMatchObject({ completed: 4, total: 4 });
    expect(valuesOf(work, "toolCallComplete")).toMatchObject([{ success: true }]);
  });

  test("everything, over streamable HTTP", async () => {
    expect(await completeOf("reference over http")).toMatchObject([
      { success: true, summary: "The sum of 2 and 3 is 5." },
      { success: true },
    ]);
  });

  test("filesystem: what it allows, and what it does not", async () => {
    expect(await completeOf("file")).toMatchObject([{ success: true, summary: "Hello from a file" }]);
    expect(await completeOf("no file")).toMatchObject([
      { outcome: ToolCallOutcome.FAILED, summary: expect.stringContaining("Access denied") },
    ]);
  });
});

describe("a server of a thread", () => {
  const mine = () => ({ label: "mine", url: odd.url, headers: { Authorization: `Bearer ${threadHeader}` } });

  test("X3: is there for this thread alone, and its headers are nowhere", async () => {
    const { thread } = await session.clients.threads.createThread({ mcpServers: [mine()] });
    const threadId = thread!.id;
    session.watch(threadId);
    await session.send(threadId, { text: "of the thread" });
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { success: true, summary: expect.stringMatching(/^The secret is (?:Bearer )?\[redacted\]$/) },
    ]);
    const { mcpServers } = await session.tools.listTools({ threadId });
    expect(mcpServers.find(({ label }) => label === "mine")).toMatchObject({ state: McpServerState.READY });
    expect((await session.tools.listTools({})).mcpServers.map(({ label }) => label)).not.toContain("mine");
    const other = await completeOf("of the thread");
    expect(other).toMatchObject([{ outcome: ToolCallOutcome.REJECTED, error: { kind: "unknown_tool" } }]);
  });

  test.each([
    ["a label of the configuration", { label: "odd" }, "mcp_servers[0].label"],
    ["a label whose tools look like another's", { label: "odd__x" }, "mcp_servers[0].label"],
    ["no label", { label: "" }, "mcp_servers[0].label"],
    ["a file", { url: "file:///etc/passwd" }, "mcp_servers[0].url"],
    ["a password", { url: "http://me:you@example.com/" }, "mcp_servers[0].url"],
    ["a header that HTTP cannot send", { headers: { a: "b\nc" } }, "mcp_servers[0].headers"],
  ])("with %s is refused", async (_, wrong, field) => {
    const refused = await refusal(session.clients.threads.createThread({ mcpServers: [{ ...mine(), ...wrong }] }));
    expect(refused).toMatchObject({ reason: "INVALID_FIELD", detail: expect.objectContaining({ field }) });
    expect(refused.message).not.toContain(threadHeader);
  });

  test("on a private address that nobody opened is down, and the run goes on", async () => {
    const url = "http://127.0.0.1:9/mcp";
    const { thread } = await session.clients.threads.createThread({ mcpServers: [{ ...mine(), url }] });
    session.watch(thread!.id);
    await session.send(thread!.id, { text: "nothing" });
    const events = await session.until(thread!.id, "runCompleted");
    const { discoveryId } = valuesOf(events, "toolDiscoveryStarted").find(({ serverLabel }) => serverLabel === "mine")!;
    const complete = valuesOf(events, "toolDiscoveryComplete").find((each) => each.discoveryId === discoveryId);
    expect(complete).toMatchObject({ success: false, errorMessage: expect.stringContaining("agent.mcp.allowHosts") });
  });
});

test("X3: no secret reaches the stream, the data directory or the log; and nothing is left when the server stops", async () => {
  const { threadId, events } = await play("blab");
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ summary: "The secret is [redacted]" }]);
  await vi.waitFor(() => expect(server.log()).toContain("stderr: [redacted]"));
  const seen = JSON.stringify(session.seen(threadId), (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  if (canSeeLeftovers) expect(processesWith(directory)).toHaveLength(2); // Two of its servers are told of it.
  expect(await server.stop()).toBe(0);
  if (canSeeLeftovers) expect(processesWith(directory)).toEqual([]);
  const files = await readdir(server.dataDir, { recursive: true, withFileTypes: true });
  const stored = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  for (const each of [secret, header, threadHeader])
    for (const text of [seen, server.log(), ...stored]) expect(text.includes(each)).toBe(false);
  await server.start();
});

test.skipIf(!canSeeLeftovers)("X2: nothing is left when the server is killed (needs /proc)", async () => {
  await play("echo");
  expect(processesWith(directory)).toHaveLength(2);
  await server.kill();
  await vi.waitFor(() => expect(processesWith(directory)).toEqual([]), { timeout: 20_000 });
  await server.start();
});

describe("a server that takes none from its callers", () => {
  const makeServer = useAgentServers();
  test("refuses them, with a typed reason", async () => {
    const plain = await makeServer({ script: { turns: [turn("nothing")] } });
    await plain.start();
    const { clients } = new Session(plain.url);
    const request = clients.threads.createThread({ mcpServers: [{ label: "mine", url: odd.url }] });
    expect(await refusal(request)).toMatchObject({ code: "failed_precondition", reason: "MCP_NOT_ALLOWED" });
  });
});

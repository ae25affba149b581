// MCP servers as whoever watches a thread meets them: a real Heddle, real MCP servers in processes of their own, everything over gRPC.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Executor, ToolCallOutcome, ToolKind } from "../../src/thread/schema.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { cases, valuesOf } from "../support/agent.js";
import { oddServer } from "../support/mcp/servers.js";

let server: AgentServer;
let session: Session;

/** A message is the name of a tool and its input: the model calls it, and says "Done." */
const turn = (message: string, name: string, input: object = {}) => ({
  user: { exact: message },
  replies: [{ events: [{ toolCall: { name, input } }] }, { events: [{ text: "Done." }] }],
});

beforeAll(async () => {
  server = await makeAgentServer({
    script: { turns: [turn("echo", "mcp__odd__echo", { text: "hello" })] },
    config: { mcpServers: { odd: oddServer() } },
  });
  await server.start();
  session = new Session(server.url);
});
afterAll(async () => {
  await session.close();
  expect(await server.stop()).toBe(0);
  await server.remove();
});

test("a call of a server's tool has the same life as any other, and says where it runs", async () => {
  const { threadId } = await session.start("echo");
  const events = await session.until(threadId, "runCompleted");
  expect(cases(events)).toEqual([
    "runStarted",
    "messageCreated",
    "messageDelta",
    "messageCompleted",
    "toolDiscoveryStarted",
    "toolDiscoveryComplete",
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

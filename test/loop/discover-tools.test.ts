// What servers elsewhere offer: asked for before the first reply, recorded once for each list that a thread has not heard of, and
// never in the way of anything else.
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Executor, RunOptionsSchema, RunOutcome, ToolChoiceMode } from "../../src/thread/schema.js";
import { type ToolDefinition, ToolFailure } from "../../src/tool/tool.js";
import type { ToolOffer, ToolServer } from "../../src/tool/tool-server.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { storedEvents, useCores } from "../support/core.js";
import { checkLog } from "./log-rules.js";

const core = useCores();

const offer = (label: string, ...tools: readonly ToolDefinition[]): ToolOffer => {
  const json = JSON.stringify(tools.map(({ name }) => name));
  return {
    tools: tools.map((one) => ({ ...one, origin: { kind: "mcp", serverLabel: label, toolName: one.name } })),
    json,
    sha256: createHash("sha256").update(json).digest(),
  };
};

/** A server that answers when the test lets it. */
class TestServer implements ToolServer {
  readonly label: string;
  readonly status = { state: "ready" } as const;
  offer: ToolOffer | undefined;
  asked = 0;
  answer: (signal: AbortSignal) => Promise<ToolOffer>;

  constructor(label: string, answer: ToolOffer | ((signal: AbortSignal) => Promise<ToolOffer>)) {
    this.label = label;
    this.answer = typeof answer === "function" ? answer : async () => answer;
  }

  async discover(signal: AbortSignal): Promise<ToolOffer> {
    this.asked++;
    this.offer = await this.answer(signal);
    return this.offer;
  }
}

const servers = (...all: readonly ToolServer[]) => ({ servers: { forThread: () => all } });
const echo = tool("mcp__near__echo");

describe("discovery", () => {
  test("comes before the first reply, and the list is a record", async () => {
    const model = replies(called({ name: "mcp__near__echo" }), said("Done"));
    const near = new TestServer("near", offer("near", echo));
    const found = core({ model, ...servers(near) });
    const { threadId, events } = await play(found);
    expect(cases(events).slice(0, 7)).toEqual([
      "runStarted",
      "messageCreated",
      "messageDelta",
      "messageCompleted",
      "toolDiscoveryStarted",
      "toolDiscoveryComplete",
      "toolCallCreated",
    ]);
    const [complete] = valuesOf(events, "toolDiscoveryComplete");
    expect(complete).toMatchObject({ serverLabel: "near", success: true, toolCount: 1, errorMessage: "" });
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(["mcp__near__echo"]);
    expect(valuesOf(events, "toolCallCreated")).toMatchObject([
      { source: { source: { case: "mcp", value: { serverLabel: "near", toolName: "mcp__near__echo" } } } },
    ]);
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ executor: Executor.MCP }]);
    expect(await found.toolCalls.discovery(threadId, complete!.discoveryId)).toMatchObject({
      serverLabel: "near",
      toolsJson: '["mcp__near__echo"]',
      tools: [{ name: "mcp__near__echo", source: { source: { case: "mcp" } } }],
    });
    checkLog(events);
  });

  test("a list that the thread has heard of is not recorded again; one that has changed is", async () => {
    const model = replies(said("One"), said("Two"), said("Three"));
    const near = new TestServer("near", offer("near", echo));
    const found = core({ model, ...servers(near) });
    const { threadId } = await play(found);
    await play(found, { threadId });
    expect(valuesOf(await storedEvents(found, threadId), "toolDiscoveryComplete")).toHaveLength(1);
    expect(near.asked).toBe(1);
    near.offer = offer("near", echo, tool("mcp__near__more"));
    await play(found, { threadId });
    expect(valuesOf(await storedEvents(found, threadId), "toolDiscoveryComplete")).toMatchObject([
      { toolCount: 1 },
      { toolCount: 2 },
    ]);
    expect(model.requests[2]!.tools).toHaveLength(2);
    checkLog(await storedEvents(found, threadId));
  });

  test("another thread is told of it, without the server being asked again", async () => {
    const near = new TestServer("near", offer("near", echo));
    const found = core({ model: replies(said("One"), said("Two")), ...servers(near) });
    await play(found);
    const { events } = await play(found);
    expect(valuesOf(events, "toolDiscoveryComplete")).toMatchObject([{ success: true, toolCount: 1 }]);
    expect(near.asked).toBe(1);
  });

  test("a list that changes while the run goes is used from the next reply on", async () => {
    const near = new TestServer("near", offer("near", echo));
    const change = tool("change", async () => {
      near.offer = offer("near", tool("mcp__near__other"));
      return {};
    });
    const model = replies(called({ name: "change" }), called({ name: "mcp__near__other" }), said("Done"));
    const { events } = await play(core({ model, tools: [change], ...servers(near) }));
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ["change", "mcp__near__echo"],
      ["change", "mcp__near__other"],
      ["change", "mcp__near__other"],
    ]);
    expect(valuesOf(events, "toolCallComplete").map(({ success }) => success)).toEqual([true, true]);
    checkLog(events);
  });

  test("a server that is down costs its own tools, and nothing else", async () => {
    const down = new TestServer("down", async () => {
      throw new ToolFailure("Nothing answers at http://127.0.0.1:1");
    });
    const near = new TestServer("near", offer("near", echo));
    const model = replies(called({ name: "mcp__near__echo" }), said("Done"));
    const { events } = await play(core({ model, ...servers(down, near) }));
    expect(valuesOf(events, "toolDiscoveryComplete")).toContainEqual(
      expect.objectContaining({
        serverLabel: "down",
        success: false,
        toolCount: 0,
        errorMessage: "Nothing answers at http://127.0.0.1:1",
      }),
    );
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(down.asked).toBe(1);
    checkLog(events);
  });

  test("one that comes up later is used from then on", async () => {
    const late = new TestServer("late", async () => {
      throw new Error("not yet");
    });
    const wait = tool("wait", async () => {
      late.offer = offer("late", tool("mcp__late__echo"));
      return {};
    });
    const model = replies(called({ name: "wait" }), said("Done"));
    const { events } = await play(core({ model, tools: [wait], ...servers(late) }));
    expect(model.requests[1]!.tools.map(({ name }) => name)).toContain("mcp__late__echo");
    expect(valuesOf(events, "toolDiscoveryComplete").map(({ success }) => success)).toEqual([false, true]);
    checkLog(events);
  });

  test("a run that is called off meanwhile ends, and so does its discovery (T1)", async () => {
    const slow = new TestServer(
      "slow",
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const asking = core({ model: replies(), ...servers(slow) });
    const { threadId, runId } = await send(asking);
    await until(asking, threadId, isCase("toolDiscoveryStarted"));
    await asking.threads.cancelRun(threadId, runId);
    const events = await until(asking, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolDiscoveryComplete")).toMatchObject([{ success: false, errorMessage: "Cancelled" }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    checkLog(events);
  });

  test.each([
    ["may use none of its tools", { allowedTools: ["mcp__far__echo"] }],
    ["may use no tools at all", { toolChoice: { mode: ToolChoiceMode.NONE } }],
  ])("a server is not asked for a run that %s", async (_, init) => {
    const near = new TestServer("near", offer("near", echo));
    const options = create(RunOptionsSchema, init);
    const { events } = await play(core({ model: replies(said("Done")), ...servers(near) }), { options });
    expect(near.asked).toBe(0);
    expect(cases(events)).not.toContain("toolDiscoveryStarted");
  });

  test("what a list holds of secrets is not stored", async () => {
    const secret = "hunter2-hunter2-hunter2";
    const telling = { ...echo, description: `Uses ${secret}` };
    const json = JSON.stringify([secret]);
    const near = new TestServer("near", { ...offer("near", telling), json });
    const found = core({ model: replies(said("Done")), secrets: [secret], ...servers(near) });
    const { threadId, events } = await play(found);
    const { discoveryId } = valuesOf(events, "toolDiscoveryComplete")[0]!;
    const list = await found.toolCalls.discovery(threadId, discoveryId);
    expect(list.toolsJson).toBe('["[redacted]"]');
    expect(list.tools[0]!.description).toBe("Uses [redacted]");
  });

  test("two texts that look like one secret leave the list whole", async () => {
    const json = JSON.stringify([
      { name: "one", description: "-----BEGIN PRIVATE KEY-----" },
      { name: "two", description: "-----END PRIVATE KEY-----" },
    ]);
    const near = new TestServer("near", { ...offer("near", echo), json });
    const found = core({ model: replies(said("Done")), ...servers(near) });
    const { threadId, events } = await play(found);
    const { discoveryId } = valuesOf(events, "toolDiscoveryComplete")[0]!;
    const { toolsJson } = await found.toolCalls.discovery(threadId, discoveryId);
    expect((JSON.parse(toolsJson) as { name: string }[]).map(({ name }) => name)).toEqual(["one", "two"]);
  });

  test("a list that is not there is a typed error", async () => {
    const found = core({ model: replies(said("Done")) });
    const { threadId } = await play(found);
    const unknown = "00000000-0000-4000-8000-000000000000";
    await expect(found.toolCalls.discovery(threadId, unknown)).rejects.toMatchObject({ code: "discovery_not_found" });
    await expect(found.toolCalls.discovery(unknown, unknown)).rejects.toMatchObject({ code: "thread_not_found" });
  });
});

// An executor as a real process: it runs what agents call in a folder of its own, and hears when that is not wanted any more.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RunOutcome } from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import type { Script } from "../../src/model/script.js";
import { commandCall, linesOf, scriptOf, useExecutorScenes } from "../fixtures/engine/executor-scene.js";
import type { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";

const open = useExecutorScenes();

const callIn = async ({ clients }: Session, toolCallId: string) => {
  const { toolCall, contents } = await clients.toolCalls.getToolCall({ toolCallId });
  const bodies = new Map(contents.map(({ info, data }) => [info!.contentId, Buffer.from(data).toString()]));
  return { call: toolCall!, bodies };
};

describe("an executor", { timeout: 90_000 }, () => {
  test("runs a call in its own workspace, and the run goes on with what it found", async () => {
    const script = {
      replies: [
        { events: [{ toolCall: { name: "read_file", input: { path: "notes.md" } } }] },
        { expect: { lastTool: "from the executor" }, events: [{ text: "Read." }] },
      ],
    } as Script;
    const { server, session, workspace, start } = await open(script);
    await writeFile(join(workspace, "notes.md"), "from the executor\n");
    await writeFile(join(server.dir, "notes.md"), "from the server\n");
    const executor = await start(["--name", "mine"]);
    const { threadId } = await session.start("go");
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([
      { summary: "Reading notes.md", executor: Executor.CLIENT },
    ]);
    expect(valuesOf(events, "toolCallClaimed")).toMatchObject([{ executorName: "mine" }]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { success: true, summary: "Read 1 line from notes.md", locations: [{ path: join(workspace, "notes.md") }] },
    ]);
    expect(await executor.interrupt()).toBe(130);
    expect(executor.of("ended")).toMatchObject([{ outcome: "SUCCEEDED" }]);
  });

  test("streams what a command prints, and says how it ended", async () => {
    const { session, start } = await open(scriptOf(commandCall("echo out; echo err >&2; exit 3")));
    await start(["--trusted"]);
    const { threadId } = await session.start("go");
    const events = await session.until(threadId, "runCompleted");
    const printed = valuesOf(events, "toolCallOutputDelta").map(({ stream, text }) => `${stream} ${text}`);
    expect(printed.sort()).toEqual(["1 out\n", "2 err\n"]);
    const [complete] = valuesOf(events, "toolCallComplete");
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.FAILED, exitCode: 3, error: { kind: "tool_error" } });
    const { bodies } = await callIn(session, complete!.toolCallId);
    expect(JSON.parse(bodies.get("result")!)).toMatchObject({ exitCode: 3 });
    expect(bodies.get("model")).toContain("err");
  });

  test("a call that is called off stops at once, and nothing more is heard of it", async () => {
    const { session, start } = await open(scriptOf(commandCall("echo begun; sleep 600; echo never >> traces")));
    const executor = await start(["--trusted"]);
    const { threadId } = await session.start("go");
    await session.until(threadId, "toolCallOutputDelta");
    const [started] = valuesOf(session.seen(threadId), "toolCallStarted");
    const { toolCallId } = started!;
    await session.clients.toolCalls.cancelToolCall({ toolCallId, reason: "enough" });
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: enough" },
    ]);
    await executor.until("ended");
    expect(executor.of("ended")).toMatchObject([{ outcome: "CANCELLED" }]);
  });

  test("Ctrl-C: what runs is stopped and ends as interrupted, and the offer is withdrawn", async () => {
    const { session, start } = await open(scriptOf(commandCall("echo begun; sleep 600")));
    const executor = await start(["--trusted"]);
    const { threadId } = await session.start("go");
    await session.until(threadId, "toolCallOutputDelta");
    expect(await executor.interrupt()).toBe(130);
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, error: { kind: "executor_stopping" } },
    ]);
    const { tools } = await session.tools.listTools({});
    expect(tools.find(({ name }) => name === "run_command")?.source?.source.case).not.toBe("client");
  });

  test("for one thread, it is of no use to another; a thread that is not there ends it", async () => {
    const { server, session, start, lines } = await open(scriptOf(commandCall("echo x >> traces")));
    const mine = await session.newThread();
    await start(["--trusted", "--thread", mine]);
    const other = await session.newThread();
    await session.send(other, { text: "go" });
    await session.send(mine, { text: "go" });
    await session.until(mine, "runCompleted");
    const events = await session.until(other, "runCompleted");
    expect(valuesOf(events, "toolCallClaimed")).toEqual([]);
    expect(await lines("traces")).toEqual(["x"]);
    expect(await linesOf(join(server.dir, "traces"))).toEqual(["x"]);
    const lost = start(["--thread", "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10"]);
    await expect(lost).rejects.toThrow(/There is no thread/);
  });
});

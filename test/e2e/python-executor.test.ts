// Somebody else's executor, in another language and another process: the example that ships under examples/python-executor.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { RunOutcome } from "../../gen/heddle/v1/event_pb.js";
import { ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import type { Script } from "../../src/model/script.js";
import { useExecutorScenes } from "../fixtures/engine/executor-scene.js";
import { valuesOf } from "../support/agent.js";
import { endChildren } from "../support/command-process.js";
import { hasPythonGrpc, python } from "../support/tools.js";

const examples = join(import.meta.dirname, "../../examples");
const program = join(examples, "python-executor/executor.py");
const script = JSON.parse(readFileSync(join(examples, "scripted/count-words.json"), "utf8")) as Script;

describe.skipIf(!hasPythonGrpc())("an executor in Python (needs python3-grpcio)", { timeout: 90_000 }, () => {
  const open = useExecutorScenes();
  const children: ChildProcess[] = [];
  afterEach(() => endChildren(children));

  /** Resolves when its tool is offered. */
  async function start(...args: string[]): Promise<ChildProcess> {
    const child = spawn(python, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    for await (const line of createInterface({ input: child.stdout! })) if (line === "offered") return child;
    throw new Error("it ended before its tool was offered");
  }

  test("declares a tool, claims its calls, reports on them and completes them", async () => {
    const { server, session, workspace } = await open(script);
    await writeFile(join(workspace, "one.txt"), "a Heddle is a Heddle");
    await writeFile(join(workspace, "two.md"), "nothing here");
    await start(workspace, "--server", new URL(server.url).host);
    const { tools } = await session.tools.listTools({});
    expect(tools.find(({ name }) => name === "count_words")).toMatchObject({
      title: "Count words",
      kind: ToolKind.READ,
      source: { source: { case: "client", value: { name: "python-executor" } } },
    });
    const { threadId } = await session.start("How often?");
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ summary: "Counting the word Heddle" }]);
    expect(valuesOf(events, "toolCallClaimed")).toMatchObject([{ executorName: "python-executor" }]);
    expect(valuesOf(events, "toolCallOutputDelta").map(({ text }) => text)).toEqual([
      "one.txt: 5 words\n",
      "two.md: 2 words\n",
    ]);
    expect(valuesOf(events, "toolCallProgress").at(-1)).toMatchObject({ completed: 2, total: 2 });
    const [complete] = valuesOf(events, "toolCallComplete");
    expect(complete).toMatchObject({ success: true, summary: "Found Heddle 2 times in 2 files" });
    const { contents } = await session.clients.toolCalls.getToolCall({ toolCallId: complete!.toolCallId });
    const result = contents.find(({ info }) => info?.contentId === "result");
    expect(JSON.parse(Buffer.from(result!.data).toString())).toMatchObject({ found: 2 });
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });

  test("T1: it dies in the middle of a call, which is interrupted after its lease; the run goes on", async () => {
    const { server, session, workspace } = await open(script);
    await writeFile(join(workspace, "one.txt"), "a Heddle");
    const child = await start(workspace, "--server", new URL(server.url).host, "--die", "--lease", "2");
    const ended = once(child, "exit");
    const { threadId } = await session.start("How often?");
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, error: { kind: "executor_lost" } },
    ]);
    expect(await ended).toEqual([1, null]);
  });
});

// Executors and servers that race, die and come back: each call runs once, and every run goes on.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { RunOutcome } from "../../gen/heddle/v1/event_pb.js";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { commandCall, scriptOf, useExecutorScenes } from "../fixtures/engine/executor-scene.js";
import { valuesOf } from "../support/agent.js";

const open = useExecutorScenes();

describe("executors and servers that come and go", { timeout: 90_000 }, () => {
  test("two executors race for 500 calls: each runs once", { timeout: 240_000 }, async () => {
    const perThread = 50;
    const threads = 10;
    // The thread's own number comes from its call's place: what counts is how often each line is there.
    const calls = Array.from({ length: perThread }, (_, at) => commandCall(`echo ${at} >> traces`));
    const { session, start, lines } = await open(scriptOf(...calls));
    const args = ["--trusted", "--concurrency", "8"];
    const executors = await Promise.all([start([...args, "--name", "one"]), start([...args, "--name", "two"])]);
    const started = await Promise.all(Array.from({ length: threads }, () => session.start("go")));
    for (const { threadId } of started) {
      const events = await session.until(threadId, "runCompleted");
      expect(valuesOf(events, "toolCallClaimed")).toHaveLength(perThread);
      const ends = valuesOf(events, "toolCallComplete");
      expect(ends).toHaveLength(perThread);
      expect(ends.filter(({ success }) => !success)).toEqual([]);
    }
    const traces = await lines("traces");
    expect(traces).toHaveLength(perThread * threads);
    for (let at = 0; at < perThread; at++) expect(traces.filter((line) => line === `${at}`)).toHaveLength(threads);
    const ran = executors.map((executor) => executor.of("started").length);
    expect(ran[0]! + ran[1]!).toBe(perThread * threads);
    expect(Math.min(...ran)).toBeGreaterThan(0);
  });

  test("an executor that is killed in the middle of a call: interrupted after its lease, and the run goes on", async () => {
    const { session, start } = await open(scriptOf(commandCall("echo begun; sleep 600")));
    const executor = await start(["--trusted", "--lease", "3"]);
    const { threadId } = await session.start("go");
    await session.until(threadId, "toolCallOutputDelta");
    await executor.kill();
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, error: { kind: "executor_lost" } },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });

  test("an executor that is quiet for longer than its lease keeps its call", { timeout: 60_000 }, async () => {
    const { session, start, lines } = await open(scriptOf(commandCall("sleep 7; echo done >> traces")));
    await start(["--trusted", "--lease", "3"]);
    const { threadId } = await session.start("go");
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    expect(await lines("traces")).toEqual(["done"]);
  });

  test("a server that is killed while 50 calls are parked: an executor comes, and all complete", {
    timeout: 120_000,
  }, async () => {
    const { server, session, start, lines } = await open(scriptOf(commandCall("echo x >> traces")));
    const first = await start(["--trusted"]);
    // Offered by one that goes before it can take them: they are stopped first, and their calls come after.
    first.child.kill("SIGSTOP");
    const started = await Promise.all(Array.from({ length: 50 }, () => session.start("go")));
    for (const { threadId } of started) await session.until(threadId, "runSuspended");
    await first.kill();
    await server.kill();
    expect(await lines("traces")).toEqual([]);
    await server.start();
    await start(["--trusted", "--concurrency", "8"]);
    for (const { threadId } of started) {
      const events = await session.until(threadId, "runCompleted");
      expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    }
    expect(await lines("traces")).toHaveLength(50);
  });

  test("a server that is killed while an executor works: it comes back, and the call ends well and once", {
    timeout: 60_000,
  }, async () => {
    const { server, session, workspace, start, lines } = await open(
      scriptOf(commandCall("echo begun; until test -e go; do sleep 0.05; done; echo done >> traces")),
    );
    await start(["--trusted", "--lease", "20"]);
    const { threadId } = await session.start("go");
    await session.until(threadId, "toolCallOutputDelta");
    await server.kill();
    await writeFile(join(workspace, "go"), "");
    await server.start();
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    expect(await lines("traces")).toEqual(["done"]);
    expect(valuesOf(events, "toolCallOutputDelta").map(({ text }) => text)).toEqual(["begun\n"]);
  });
});

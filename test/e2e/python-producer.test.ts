// Somebody else's agent loop, in another language and another process, watched by several clients while it works and
// while it dies: the example that ships under examples/python-agent.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { eventLines } from "../../src/cli/event-line.js";
import { plainStyle } from "../../src/cli/terminal.js";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";
import { hasPythonGrpc, python } from "../support/tools.js";
import type { Frame, StreamClient } from "./clients/client.js";
import { connectClients } from "./clients/connect.js";
import { grpcJsClient } from "./clients/grpc-js.js";
import { heddleFollowClient } from "./clients/heddle-follow.js";
import { clientsFor, type OpenClients } from "./clients/producer.js";
import { Watch } from "./clients/watch.js";

const agent = join(import.meta.dirname, "../../examples/python-agent/agent.py");
const tools = ["list_directory", "search_text", "run_command"];
const watchers: readonly StreamClient[] = [grpcJsClient, ...connectClients, heddleFollowClient];

describe.skipIf(!hasPythonGrpc())("an agent loop in Python (needs python3-grpcio)", () => {
  let server: ServerProcess;
  let api: OpenClients;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await newDataDir();
    server = await startServerProcess({ dataDir });
    api = clientsFor(server);
  });
  afterAll(async () => {
    api.close();
    await server.stop();
    await removeDataDir(dataDir);
  });

  /** Runs the agent on a thread while everybody watches. Resolves when each has seen the run's end. */
  async function watched(threadId: string, ...flags: string[]): Promise<Map<StreamClient, Frame[]>> {
    const { thread } = await api.threads.getThread({ threadId });
    const request = { threadId, afterSequence: thread!.headSequence, follow: true };
    const watches = new Map(watchers.map((client) => [client, new Watch(client, server, request)]));
    await Promise.all([...watches.values()].map((watch) => watch.until("caughtUp")));
    const child = spawn(python, [agent, "--server", new URL(server.url).host, "--thread", threadId, ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [[exitCode], stderr] = await Promise.all([once(child, "exit"), text(child.stderr)]);
    expect(exitCode, stderr).toBe(flags.includes("--die") ? 1 : 0);
    await Promise.all([...watches.values()].map((watch) => watch.until("runCompleted")));
    const seen = new Map(
      [...watches].map(([client, { frames }]) => [client, frames.filter((frame) => "sequence" in frame)]),
    );
    for (const watch of watches.values()) void watch.leave();
    return seen;
  }

  /** As `heddle follow` prints them. */
  function linesOf(frames: readonly Frame[]): string[] {
    const line = eventLines(plainStyle, () => new Date());
    return frames.map((frame) => line(fromJson(StreamThreadEventsResponseSchema, frame as JsonValue)));
  }

  /** Without what differs from run to run, and without what the page leaves out. */
  const withoutTimes = (line: string): string =>
    line
      .replace(/^\S+/, "")
      .replace(/\d+\.\d s/, "")
      .replace(/(exit code unknown, ).*/, "$1");

  const newThread = async (): Promise<string> => (await api.threads.createThread({ title: "python" })).thread!.id;

  const payloads = (frames: readonly Frame[], name: string) =>
    frames.flatMap((frame) => (name in frame ? [frame[name] as Record<string, unknown>] : []));

  test("T1: it dies in the middle of its last call, and every watcher sees three ends, the last one interrupted", async () => {
    const seen = await watched(await newThread(), "--die", "--lease", "1");
    const [reference] = seen.values();
    for (const [client, frames] of seen) {
      expect(
        payloads(frames, "toolCallCreated").map(({ toolName }) => toolName),
        client.name,
      ).toEqual(tools);
      expect(payloads(frames, "toolCallComplete"), client.name).toMatchObject([
        { toolName: tools[0], outcome: "TOOL_CALL_OUTCOME_SUCCEEDED", success: true },
        { toolName: tools[1], outcome: "TOOL_CALL_OUTCOME_SUCCEEDED", success: true },
        { toolName: tools[2], outcome: "TOOL_CALL_OUTCOME_INTERRUPTED", error: { kind: "lease_expired" } },
      ]);
      expect(payloads(frames, "toolCallOutputDelta"), client.name).toMatchObject([{ text: "line 1\n" }]);
      expect(payloads(frames, "runCompleted"), client.name).toMatchObject([{ outcome: "RUN_OUTCOME_INTERRUPTED" }]);
      expect(frames, client.name).toEqual(reference);
    }
    const readme = await readFile(join(agent, "../README.md"), "utf8");
    const shown = /```text\n(.*?)```/s.exec(readme)![1]!.trimEnd().split("\n").map(withoutTimes);
    expect(shown).toEqual(linesOf(reference!).slice(-shown.length).map(withoutTimes));
  });

  test("it lives: three calls succeed, and their bodies can be read", async () => {
    const seen = await watched(await newThread());
    const [reference] = seen.values();
    for (const [client, frames] of seen) expect(frames, client.name).toEqual(reference);
    const completes = payloads(reference!, "toolCallComplete");
    expect(completes).toMatchObject(tools.map((toolName) => ({ toolName, outcome: "TOOL_CALL_OUTCOME_SUCCEEDED" })));
    expect(payloads(reference!, "runStarted")).toMatchObject([{ producer: "python-agent" }]);
    expect(payloads(reference!, "runCompleted")).toMatchObject([{ outcome: "RUN_OUTCOME_SUCCEEDED" }]);

    const [listed, , ran] = await Promise.all(completes.map(({ toolCallId }) => bodiesOf(toolCallId as string)));
    expect(listed!["result"]).toMatchObject({ entries: expect.arrayContaining(["agent.py"]) });
    expect(ran!["input"]).toMatchObject({ command: [python, "-c", expect.any(String)] });
    expect(ran!["result"]).toEqual({ exitCode: 0 });
  });

  test("after a death the thread is free, and the next recording goes on behind it", async () => {
    const threadId = await newThread();
    await watched(threadId, "--die", "--lease", "1");
    const { thread } = await api.threads.getThread({ threadId });
    const seen = await watched(threadId);
    for (const [client, [first]] of seen)
      expect(first, client.name).toMatchObject({ sequence: String(thread!.headSequence + 1n) });
  });

  async function bodiesOf(toolCallId: string): Promise<Record<string, unknown>> {
    const { contents } = await api.toolCalls.getToolCall({ toolCallId });
    return Object.fromEntries(
      contents.map(({ info, data }) => [info!.contentId, JSON.parse(Buffer.from(data).toString())]),
    );
  }
});

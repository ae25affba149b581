// Large bodies go beside the stream: an input to the executor through ReadToolCallContent, a result back through WriteToolCallContent.
// No built-in tool takes or gives so much: the executor here is the one of the command, with tools of this test.
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";
import { Executor } from "../../src/executor/executor.js";
import type { ExecutorEvent } from "../../src/executor/executor-events.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { defineTool } from "../../src/tool/tool.js";
import { scriptOf, useExecutorScenes } from "../fixtures/engine/executor-scene.js";
import { valuesOf } from "../support/agent.js";

const open = useExecutorScenes();
const leaving: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(leaving.splice(0).map((leave) => leave()));
});

const mib = 1024 * 1024;
const input = Array.from({ length: (5 * mib) / 64 }, (_, at) => `${at}`.padStart(63, "0")).join("\n");
const result = Array.from({ length: (20 * mib) / 64 }, (_, at) => `${at}`.padStart(63, "1")).join("\n");
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

const takeAndGive = defineTool({
  name: "take_and_give",
  title: "Take and give",
  description: "Takes a text and gives another.",
  kind: "other",
  input: z.object({ text: z.string() }),
  output: z.object({ taken: z.string(), given: z.string() }),
  describe: () => "Taking much",
  run: async ({ text }) => ({
    result: { taken: digest(text), given: result },
    summary: "Gave much",
    content: [{ id: "picture", mediaType: "image/png", data: new Uint8Array(3 * mib).fill(7) }],
  }),
  toModel: ({ given }) => `It gave ${given.length} characters`,
});

/** How often each method was called, and how many bytes of bodies it carried. */
const counted =
  (counts: Map<string, number>): Interceptor =>
  (next) =>
  (request) => {
    counts.set(request.method.name, (counts.get(request.method.name) ?? 0) + 1);
    return next(request);
  };

test("5 MB go to an executor and 20 MB come back, whole, and neither is on the stream", {
  timeout: 120_000,
}, async () => {
  const { server, session, workspace } = await open(scriptOf({ name: "take_and_give", input: { text: input } }));
  const counts = new Map<string, number>();
  const transport = createGrpcTransport({ baseUrl: server.url, interceptors: [counted(counts)] });
  const events: ExecutorEvent[] = [];
  let offered = (): void => {};
  const isOffered = new Promise<void>((resolve) => {
    offered = resolve;
  });
  const executor = new Executor({
    server: {
      threads: () => createClient(ThreadService, transport),
      toolCalls: () => createClient(ToolCallService, transport),
      tools: () => createClient(ToolService, transport),
    },
    tools: new ToolRegistry([takeAndGive]),
    policy: { policy: {}, trusted: false },
    settings: { workspace, toolTimeoutMs: 60_000, quietMs: 5_000, stopGraceMs: 1_000 },
    executorName: "a test",
    answerer: "a test",
    leaseMs: 30_000,
    concurrency: 1,
    threadId: undefined,
    asker: { kind: "nobody" },
    isPatient: false,
    on: (event) => {
      events.push(event);
      if (event.kind === "offered") offered();
    },
  });
  const leave = new AbortController();
  const serving = executor.run(leave.signal);
  leaving.push(async () => {
    leave.abort();
    await serving;
  });
  await isOffered;

  const { threadId } = await session.start("go");
  const seen = await session.until(threadId, "runCompleted");
  const [complete] = valuesOf(seen, "toolCallComplete");
  expect(complete).toMatchObject({ success: true, summary: "Gave much" });
  expect(events.filter(({ kind }) => kind === "problem")).toEqual([]);

  const read = async (contentId: string): Promise<Buffer> => {
    const pieces: Uint8Array[] = [];
    const request = { toolCallId: complete!.toolCallId, contentId };
    for await (const { data } of session.clients.toolCalls.readToolCallContent(request)) pieces.push(data);
    return Buffer.concat(pieces);
  };
  const given = JSON.parse((await read("result")).toString()) as { taken: string; given: string };
  expect(given.taken).toBe(digest(input));
  expect(digest(given.given)).toBe(digest(result));
  expect((await read("picture")).equals(Buffer.alloc(3 * mib, 7))).toBe(true);
  expect((await read("model")).toString()).toBe(`It gave ${result.length} characters`);

  // Everything that anybody who follows the thread was sent. Deltas of the input end at 512 KB.
  const streamed = seen.reduce((sum, event) => sum + toBinary(StreamThreadEventsResponseSchema, event).length, 0);
  expect(streamed).toBeLessThan(mib);
  expect(counts.get("ReadToolCallContent")).toBe(1);
  expect(counts.get("WriteToolCallContent")).toBeGreaterThanOrEqual(20 + 3 + 1);
  expect(counts.get("StreamThreadEvents")).toBeUndefined();
});

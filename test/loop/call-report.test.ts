// What a tool says while it runs: output, progress, phases, signs of life; and how much of it is kept.
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { boundedForModel } from "../../src/loop/model-text.js";
import { OutputStream, ToolCallOutcome, ToolCallPhase } from "../../src/thread/schema.js";
import type { ToolContext } from "../../src/tool/tool.js";
import { called, play, replies, said, tool, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();
afterEach(() => {
  vi.useRealTimers();
});
const playTool = async (work: Parameters<typeof tool>[1], limits = {}) => {
  const opened = core({ model: replies(called({ name: "work" }), said("ok")), tools: [tool("work", work)], limits });
  return { opened, ...(await play(opened)) };
};

test("output of both streams, with offsets of its own each", async () => {
  const { events } = await playTool(async (_, { output }) => {
    output("stdout", "één\n");
    output("stderr", "oops\n");
    output("stdout", "zwei\n");
    return { exitCode: 2 };
  });
  const text = (stream: OutputStream) =>
    valuesOf(events, "toolCallOutputDelta").filter((delta) => delta.stream === stream);
  expect(
    text(OutputStream.STDOUT)
      .map((delta) => delta.text)
      .join(""),
  ).toBe("één\nzwei\n");
  expect(text(OutputStream.STDERR)).toMatchObject([{ offset: 0n, text: "oops\n" }]);
  expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ exitCode: 2, outputBytes: 16n });
});

test.each<[string, (context: ToolContext) => ToolContext]>([
  ["as it is", (context) => context],
  ["copied with changes", (context) => ({ ...context, progress() {} })],
  ["without a part", ({ progress, ...rest }) => ({ progress, ...rest })],
  ["as a prototype", (context) => Object.create(context) as ToolContext],
  ["behind a proxy", (context) => new Proxy(context, {})],
])("a context that is handed on %s keeps its signal", async (_, handedOn) => {
  const { events } = await playTool(
    (_input, context) => {
      const { signal } = handedOn(context);
      expect(signal).toBe(context.signal);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    { toolTimeoutMs: 20 },
  );
  expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ outcome: ToolCallOutcome.TIMED_OUT });
});

test("a context whose methods are taken apart works all the same", async () => {
  const { events } = await playTool(async (_, { progress, phase }) => {
    phase("searching", "Looking");
    progress(1, 2, "half");
    return {};
  });
  expect(valuesOf(events, "toolCallProgress")).toMatchObject([
    { phase: ToolCallPhase.SEARCHING, message: "Looking", startedSummary: "Doing work" },
    { phase: ToolCallPhase.SEARCHING, completed: 1, total: 2, message: "half" },
  ]);
});

test("progress that comes too fast is thinned out, but the last one is kept", async () => {
  const { events } = await playTool(async (_, { progress }) => {
    for (let done = 1; done <= 1000; done++) progress(done, 1000);
    return {};
  });
  const numbers = valuesOf(events, "toolCallProgress").map(({ completed }) => completed);
  expect(numbers).toEqual([1, 1000]);
});

test("how far a phase came is said before the next begins; a tool that flits between them is not heard each time", async () => {
  const { events } = await playTool(async (_, { progress, phase }) => {
    for (let round = 1; round <= 100; round++) {
      phase("connecting");
      progress(round, 100);
      phase("interpreting");
    }
    return {};
  });
  const told = valuesOf(events, "toolCallProgress");
  expect(told.slice(0, 3)).toMatchObject([
    { phase: ToolCallPhase.CONNECTING },
    { phase: ToolCallPhase.CONNECTING, completed: 1 },
    { phase: ToolCallPhase.CONNECTING, completed: 2 },
  ]);
  expect(told.length).toBeLessThan(25);
});

test("the phase of a definition is told by the loop, before the tool says anything", async () => {
  const find = tool("find", async () => ({}), { phase: "searching" });
  const { events } = await play(core({ model: replies(called({ name: "find" }), said("ok")), tools: [find] }));
  const names = events.map(({ payload }) => payload.case);
  expect(names.indexOf("toolCallProgress")).toBe(names.indexOf("toolCallStarted") + 1);
  expect(valuesOf(events, "toolCallProgress")).toMatchObject([{ phase: ToolCallPhase.SEARCHING }]);
});

test("a plan is for everyone who follows the thread, and what is no line of it is left out", async () => {
  const { events } = await playTool(async (_, { plan }) => {
    plan([{ content: "Look", status: "completed" }, { content: "Mend", status: "in_progress" }, {} as never]);
    plan("nonsense" as never);
    return {};
  });
  expect(valuesOf(events, "planUpdated")).toMatchObject([{ entries: [{ content: "Look" }, { content: "Mend" }] }]);
});

test("numbers that are none are left out", async () => {
  const { events } = await playTool(async (_, { progress }) => {
    progress(Number.NaN, Number.POSITIVE_INFINITY, "hm");
    return {};
  });
  const [progress] = valuesOf(events, "toolCallProgress");
  expect(progress).toMatchObject({ message: "hm" });
  expect(progress!.completed).toBeUndefined();
  expect(progress!.total).toBeUndefined();
});

test("a quiet tool gets a sign of life, with the time since it started", async () => {
  const { events } = await playTool(
    async (_, { signal }) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      signal.throwIfAborted();
      return {};
    },
    { quietMs: 20 },
  );
  const [first] = valuesOf(events, "toolCallProgress");
  expect(first).toMatchObject({ message: "Still running", toolName: "work", startedSummary: "Doing work" });
  expect(first!.elapsed).toBeDefined();
});

test("output beyond its bound is not recorded, and that is said", async () => {
  const piece = "x".repeat(1024 * 1024);
  const { events } = await playTool(async (_, { output }) => {
    for (let count = 0; count < 20; count++) output("stdout", piece);
    return {};
  });
  const deltas = valuesOf(events, "toolCallOutputDelta");
  expect(deltas.at(-1)!.text).toContain("More output was not recorded");
  expect(deltas.reduce((bytes, { text }) => bytes + text.length, 0)).toBeLessThan(17 * 1024 * 1024);
});

describe("bodies", () => {
  test("input of any size is whole behind GetToolCall; its deltas stop at 512 KiB", async () => {
    const input = { text: "é".repeat(1_500_000) };
    const opened = core({ model: replies(called({ name: "work", input }), said("ok")), tools: [tool("work")] });
    const { events } = await play(opened);
    const [done] = valuesOf(events, "toolCallInputCompleted");
    expect(done).toMatchObject({ deltasTruncated: true, inputBytes: BigInt(Buffer.byteLength(JSON.stringify(input))) });
    const streamed = valuesOf(events, "toolCallInputDelta").reduce(
      (bytes, { text }) => bytes + Buffer.byteLength(text),
      0,
    );
    expect(streamed).toBeLessThanOrEqual(512 * 1024);
    expect(await bodyOf(opened, done!.toolCallId, "input")).toBe(JSON.stringify(input));
  });

  test("a large result is whole behind GetToolCall, and bounded for the model", async () => {
    const lines = Array.from({ length: 400_000 }, (_, index) => `line ${index}`).join("\n");
    const model = replies(called({ name: "work" }), said("ok"));
    const opened = core({
      model,
      tools: [tool("work", async () => ({ result: lines }), { output: z.string(), toModel: String })],
    });
    const { events } = await play(opened);
    const { toolCallId, resultBytes } = valuesOf(events, "toolCallComplete")[0]!;
    expect(JSON.parse(await bodyOf(opened, toolCallId, "result"))).toBe(lines);
    expect(Number(resultBytes)).toBe(Buffer.byteLength(JSON.stringify(lines)));
    const told = model.requests[1]!.messages.at(-1);
    expect(told).toMatchObject({ role: "tool" });
    expect(Buffer.byteLength((told as { text: string }).text)).toBeLessThanOrEqual(64 * 1024);
    expect((told as { text: string }).text).toMatch(/^line 0\n.*left out.*line 399999$/s);
  });

  test("parts come along under their names, and a name that cannot be used becomes another", async () => {
    const { opened, events } = await playTool(async () => ({
      content: [
        { id: "diff", mediaType: "text/x-diff", data: "+1" },
        { id: "Not a name!", mediaType: "image/png", data: new Uint8Array([1, 2]) },
        { id: "result", mediaType: "text/plain", data: "sly" },
      ],
    }));
    const { call } = await opened.toolCalls.get(valuesOf(events, "toolCallComplete")[0]!.toolCallId);
    expect(call.contents.map(({ contentId }) => contentId).sort()).toEqual([
      "diff",
      "input",
      "model",
      "part-1",
      "part-2",
      "result",
    ]);
  });
});

test.each([10, 64, 1000])("what the model reads has at most %i bytes, and no broken character", (maxBytes) => {
  const text = "aé😀".repeat(2000);
  const bounded = boundedForModel(text, Math.max(maxBytes, 100));
  expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(Math.max(maxBytes, 100));
  expect(bounded).not.toMatch(/\uFFFD|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/);
});

async function bodyOf(opened: ReturnType<typeof core>, toolCallId: string, contentId: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const { data } of opened.toolCalls.readContent({ toolCallId, contentId, offset: 0n })) pieces.push(data);
  return Buffer.concat(pieces).toString();
}

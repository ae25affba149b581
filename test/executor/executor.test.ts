// What an executor does with a call: it runs once, whatever is lost on the way, and stops when it is not wanted any more.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolCallOutcome, ToolCallPhase } from "../../src/thread/schema.js";
import { ToolFailure } from "../../src/tool/tool.js";
import { called, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { ExecutorBench, useBenches } from "./executor-bench.js";

const open = useBenches();

describe("a call", () => {
  test("runs here: progress, output, result, and what the model is told", async () => {
    const model = replies(called({ name: "look", input: { at: "it" } }), said("Done."));
    const here = tool(
      "look",
      async ({ at }, context) => {
        context.phase("searching");
        context.output("stdout", "one\n");
        context.output("stderr", "two\n");
        context.progress(1, 2, "half");
        return { result: { at }, summary: `Looked at ${at}`, locations: [{ path: "a.txt", line: 3 }] };
      },
      { toModel: () => "seen" },
    );
    const { core } = await open({ model, here: [here] });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallOutputDelta").map(({ text }) => text)).toEqual(["one\n", "two\n"]);
    const progress = valuesOf(events, "toolCallProgress");
    expect(progress[0]).toMatchObject({ phase: ToolCallPhase.SEARCHING });
    expect(progress.at(-1)).toMatchObject({ completed: 1, total: 2, message: "half" });
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { success: true, summary: "Looked at it", locations: [{ path: "a.txt", line: 3 }] },
    ]);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", text: "seen" });
  });

  test.each<[string, () => unknown, object]>([
    [
      "throws",
      () => {
        throw new ToolFailure("The disk is full", { code: "ENOSPC" });
      },
      { outcome: ToolCallOutcome.FAILED, error: { kind: "tool_error", code: "ENOSPC" } },
    ],
    ["says that it failed", () => ({ isError: true, exitCode: 3 }), { outcome: ToolCallOutcome.FAILED, exitCode: 3 }],
    ["gives what is no result", () => ({ result: 1n }), { error: { kind: "invalid_output" } }],
  ])("a tool that %s ends as it would on the server", async (_, run, end) => {
    const model = replies(called({ name: "look" }), said("Done."));
    const { core } = await open({ model, here: [tool("look", async () => run() as object)] });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([end]);
  });

  test("takes no longer than it may", async () => {
    const model = replies(called({ name: "look" }), said("Done."));
    const stuck = tool("look", (_, { signal }) => aborted(signal), { timeoutMs: 20 });
    const { core } = await open({ model, here: [stuck] });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.TIMED_OUT }]);
  });

  test("an input that does not fit what is here is told, and nothing runs", async () => {
    const model = replies(called({ name: "look", input: { at: 7 } }), said("Done."));
    let ran = 0;
    const strict = tool("look", async () => {
      ran++;
      return {};
    });
    const picky = {
      ...strict,
      input: z.looseObject({ at: z.string() }),
      schemas: { input: { type: "object" }, output: {} },
    };
    const { core } = await open({ model, here: [picky] });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.FAILED, error: { kind: "invalid_input" } },
    ]);
    expect(ran).toBe(0);
  });

  test("that is called off stops its tool at once, long before its lease would be renewed", async () => {
    const model = replies(called({ name: "look" }), said("Done."));
    let reason: unknown;
    const stuck = tool("look", async (_, { signal }) => {
      await aborted(signal).catch(() => {});
      reason = signal.reason;
      return {};
    });
    const bench = await open({ model, here: [stuck], executor: { leaseMs: 600_000 } });
    const { threadId } = await send(bench.core);
    await bench.until("started");
    await bench.core.toolCalls.cancel(bench.of("started")[0]!.call.toolCallId, "enough");
    await bench.until("ended");
    expect(reason).toMatchObject({ stop: { kind: "cancelled" } });
    expect(bench.of("ended")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
    const events = await until(bench.core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ summary: "Cancelled: enough" }]);
  });

  test("that runs when the executor stops ends as interrupted; one that waits for its turn stays for another", async () => {
    const model = replies(called({ name: "look" }, { name: "look" }), said("Done."));
    const stuck = tool("look", (_, { signal }) => aborted(signal));
    const bench = await open({ model, here: [stuck], executor: { concurrency: 1 } });
    const { threadId } = await send(bench.core);
    await bench.until("started");
    await bench.stop();
    const events = await until(bench.core, threadId, isCase("toolCallComplete"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, error: { kind: "executor_stopping" } },
    ]);
    expect(valuesOf(events, "toolCallClaimed")).toHaveLength(1);
    expect(await bench.core.threads.get(threadId)).toMatchObject({ offeredToolCalls: 1 });
    expect(bench.core.supply.offered.forThread(threadId).size).toBe(0);
    expect(bench.core.feeds.lasting.size).toBe(0);
  });

  test("that was given up before its input had come is not run any more", async () => {
    const model = replies(called({ name: "look" }), said("Done."));
    let isCut = true;
    let runs = 0;
    const look = tool("look", async () => {
      runs++;
      return {};
    });
    const losesRequest = (method: string): boolean =>
      method === "ReportToolCall" || (isCut && method === "GetToolCall");
    const bench = await open({ model, here: [look], executor: { leaseMs: 1_000 }, losesRequest });
    const { threadId } = await send(bench.core);
    const events = await until(bench.core, threadId, isCase("toolCallComplete"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ error: { kind: "executor_lost" } }]);
    isCut = false;
    await bench.until("ended");
    expect(runs).toBe(0);
    expect(bench.of("ended")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
  });

  test("of a tool that is not here is left alone", async () => {
    const model = replies(called({ name: "theirs" }, { name: "look" }), said("Done."));
    const bench = await open({ model, here: [tool("look")], tools: [tool("theirs")] });
    const { events } = await play(bench.core);
    expect(valuesOf(events, "toolCallClaimed")).toHaveLength(1);
    expect(bench.of("started").map(({ call }) => call.toolName)).toEqual(["look"]);
  });
});

test("whatever is lost on the way, each call runs once, and all of its output arrives once and in order", {
  timeout: 120_000,
}, async () => {
  const trial = async (losses: readonly ("answer" | "request" | "none")[]): Promise<void> => {
    const model = replies(
      called(...Array.from({ length: 4 }, (_, at) => ({ name: "look", input: { at } }))),
      said("Done."),
    );
    const ran: unknown[] = [];
    const here = tool("look", async ({ at }, { output }) => {
      ran.push(at);
      for (let line = 0; line < 3; line++) {
        output("stdout", `${at}.${line} `);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return { result: { at, more: "x".repeat(1_200_000) } };
    });
    const left = [...losses];
    const bench = new ExecutorBench({
      model,
      here: [here],
      losesAnswer: () => left[0] === "answer" && left.shift() !== undefined,
      losesRequest: () => {
        if (left[0] === "none") left.shift();
        return left[0] === "request" && left.shift() !== undefined;
      },
    });
    try {
      await bench.until("offered");
      const { events } = await play(bench.core);
      expect(ran.sort()).toEqual([0, 1, 2, 3]);
      const ends = valuesOf(events, "toolCallComplete");
      expect(ends.map(({ success }) => success)).toEqual([true, true, true, true]);
      const printed = new Map<string, string>();
      for (const { toolCallId, text } of valuesOf(events, "toolCallOutputDelta"))
        printed.set(toolCallId, `${printed.get(toolCallId) ?? ""}${text}`);
      expect([...printed.values()].sort()).toEqual([0, 1, 2, 3].map((at) => `${at}.0 ${at}.1 ${at}.2 `));
    } finally {
      await bench.close();
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(fc.constantFrom("answer", "request", "none"), { maxLength: 12 }), trial), {
    numRuns: 20,
  });
});

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });

// Each way a call can end (T1, T4): one Complete, its own outcome, a line for people, and words for the model.
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ModelError, type ModelEvent } from "../../src/model/model.js";
import { RunOptionsSchema, RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { ToolFailure } from "../../src/tool/tool.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();

/** A tool that ends when it is called off. */
const waits = tool("wait", async (_, { signal }) => {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
});
const isEnd = isCase("runCompleted");

describe("a call that never starts is rejected", () => {
  const strict = tool("strict", async () => ({}), { input: z.object({ depth: z.number() }) });
  test.each([
    ["unknown tool", { name: "nothing" }, "unknown_tool", /no tool named nothing/],
    ["invalid JSON", { name: "strict", input: '{"depth": ' }, "invalid_json", /JSON/],
    ["schema violation", { name: "strict", input: { depth: "two" } }, "invalid_input", /depth/],
  ])("T1: %s", async (_, call, kind, words) => {
    const model = replies(called(call), said("I see."));
    const { events } = await play(core({ model, tools: [strict] }));
    expect(cases(events)).not.toContain("toolCallStarted");
    const [complete, ...more] = valuesOf(events, "toolCallComplete");
    expect(more).toEqual([]);
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.REJECTED, success: false, error: { kind } });
    expect(complete!.summary).toMatch(words);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({
      role: "tool",
      isError: true,
      text: expect.stringMatching(words),
    });
  });

  test("T1: an input that the length limit cut off", async () => {
    const cut: ModelEvent[] = [
      { type: "tool_call", index: 0, name: "strict", input: '{"depth": 1' },
      { type: "end", reason: "truncated", providerReason: "length" },
    ];
    const { events } = await play(core({ model: replies(cut, said("Shorter.")), tools: [strict] }));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ error: { kind: "truncated_input" } });
  });

  test("T1: a call whose name never came", async () => {
    const nameless: ModelEvent[] = [
      { type: "tool_call", index: 0, input: "{}" },
      { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
    ];
    const { events } = await play(core({ model: replies(nameless, said("ok")), tools: [strict] }));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({
      outcome: ToolCallOutcome.REJECTED,
      toolName: "unnamed_tool",
      summary: "The call names no tool",
    });
  });
});

describe("a call that ran and failed", () => {
  const outcomes = {
    "throws an error": tool("bad", async () => {
      throw new Error("the disk is on fire");
    }),
    "throws what it foresaw": tool("bad", async () => {
      throw new ToolFailure("the disk is on fire", { code: "EFIRE" });
    }),
    "returns a result that says so": tool("bad", async () => ({ isError: true, summary: "the disk is on fire" })),
  };
  test.each(Object.entries(outcomes))("T4: %s", async (_, bad) => {
    const model = replies(called({ name: "bad" }), said("Oh."));
    const { events } = await play(core({ model, tools: [bad] }));
    const [complete, ...more] = valuesOf(events, "toolCallComplete");
    expect(more).toEqual([]);
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.FAILED, success: false, error: { kind: "tool_error" } });
    expect(complete!.summary).toContain("the disk is on fire");
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ isError: true });
  });

  test("T4: a result that does not fit its description", async () => {
    const bad = tool("bad", async () => ({ result: { count: "many" } }), { output: z.object({ count: z.number() }) });
    const { events } = await play(core({ model: replies(called({ name: "bad" }), said("Oh.")), tools: [bad] }));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ error: { kind: "invalid_output" } });
  });

  test("T4: a result that JSON cannot hold", async () => {
    const bad = tool("bad", async () => ({ result: { count: 1n } }));
    const { events } = await play(core({ model: replies(called({ name: "bad" }), said("Oh.")), tools: [bad] }));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ error: { kind: "invalid_output" } });
  });
});

describe("a call that was called off", () => {
  test("T1: its own time is up", async () => {
    const slow = { ...waits, timeoutMs: 20 };
    const { events } = await play(core({ model: replies(called({ name: "wait" }), said("ok")), tools: [slow] }));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({
      outcome: ToolCallOutcome.TIMED_OUT,
      summary: "Timed out after 20 ms",
      error: { kind: "timeout" },
    });
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
  });

  test("T1: the run's time is up", async () => {
    const options = create(RunOptionsSchema, { timeLimit: durationFromMs(30) });
    const { events } = await play(core({ model: replies(called({ name: "wait" })), tools: [waits] }), { options });
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({
      outcome: ToolCallOutcome.TIMED_OUT,
      error: { kind: "run_timeout" },
    });
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
      outcome: RunOutcome.INCOMPLETE,
      finishReason: "time_limit",
    });
  });

  test("T1: CancelRun ends its calls, then the run", async () => {
    const opened = core({ model: replies(called({ name: "wait" }, { name: "wait" })), tools: [waits] });
    const { threadId, runId } = await send(opened);
    await until(opened, threadId, isCase("toolCallStarted"));
    await opened.threads.cancelRun(threadId, runId);
    const events = await until(opened, threadId, isEnd);
    expect(valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.CANCELLED,
      ToolCallOutcome.CANCELLED,
    ]);
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.CANCELLED });
    await expect(opened.threads.cancelRun(threadId, runId)).rejects.toMatchObject({ code: "run_not_found" });
  });

  test("T1: CancelToolCall ends one call, and the run goes on", async () => {
    const model = replies(called({ name: "wait" }), said("Then not."));
    const opened = core({ model, tools: [waits] });
    const { threadId } = await send(opened);
    const started = await until(opened, threadId, isCase("toolCallStarted"));
    const { toolCallId } = valuesOf(started, "toolCallStarted")[0]!;
    await opened.toolCalls.cancel(toolCallId, "enough");
    const events = await until(opened, threadId, isEnd);
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({
      outcome: ToolCallOutcome.CANCELLED,
      summary: "Cancelled: enough",
    });
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
    await expect(opened.toolCalls.cancel(toolCallId, "")).rejects.toMatchObject({ code: "tool_call_over" });
  });

  test("T1: a tool that does not hear its signal is left behind, and not heard any more", async () => {
    let late: () => void = () => {};
    const deaf = tool(
      "deaf",
      (_, context) =>
        new Promise(() => {
          late = () => context.output("stdout", "too late");
        }),
      { timeoutMs: 10 },
    );
    const opened = core({
      model: replies(called({ name: "deaf" }), said("ok")),
      tools: [deaf],
      limits: { stopGraceMs: 10 },
    });
    const { events } = await play(opened);
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ outcome: ToolCallOutcome.TIMED_OUT });
    late();
    expect(cases(events)).not.toContain("toolCallOutputDelta");
    expect(opened.errors).toEqual([]);
  });
});

describe("a model's reply that breaks", () => {
  async function* breaks(): AsyncGenerator<ModelEvent> {
    yield { type: "text", text: "Let me" };
    yield { type: "tool_call", index: 0, name: "wait", input: '{"a":' };
    throw new ModelError("broken", "The connection was lost");
  }

  test("T1: in the middle: its calls are discarded, and it is made again once", async () => {
    const model = replies(breaks, said("Better."));
    const { events } = await play(core({ model, tools: [waits] }));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DISCARDED, toolName: "wait" },
    ]);
    expect(valuesOf(events, "messageCompleted").map(({ incomplete }) => incomplete)).toEqual([false, true, false]);
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
  });

  test("twice: the run fails with the model's words", async () => {
    const { events } = await play(core({ model: replies(breaks, breaks), tools: [waits] }));
    expect(valuesOf(events, "toolCallComplete")).toHaveLength(2);
    expect(valuesOf(events, "toolCallCreated").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
      outcome: RunOutcome.FAILED,
      errorMessage: "The connection was lost",
    });
  });

  test("before the first token: it is waited out, up to four times", async () => {
    const busy = () => {
      throw new ModelError("rate_limited", "Too many requests", { retryAfterMs: 1 });
    };
    const { events } = await play(core({ model: replies(busy, busy, busy, busy, said("At last.")), tools: [] }));
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
    const { events: failed } = await play(core({ model: replies(busy, busy, busy, busy, busy) }));
    expect(valuesOf(failed, "runCompleted")[0]).toMatchObject({
      outcome: RunOutcome.FAILED,
      errorMessage: "Too many requests",
    });
  });

  test("a wait that the run's time does not last for is not begun: the run fails with the model's words", async () => {
    const busy = () => {
      throw new ModelError("rate_limited", "Too many requests", { retryAfterMs: 86_400_000 });
    };
    const options = create(RunOptionsSchema, { timeLimit: durationFromMs(60_000) });
    const { events } = await play(core({ model: replies(busy) }), { options });
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
      outcome: RunOutcome.FAILED,
      finishReason: "rate_limited",
      errorMessage: "Too many requests",
    });
  });

  test("a reply that cannot be used is not told as one that broke off", async () => {
    const toMany: ModelEvent[] = Array.from({ length: 257 }, (_, index) => ({
      type: "tool_call",
      index,
      name: "wait",
    }));
    const { events } = await play(core({ model: replies(toMany), tools: [waits] }));
    const ends = valuesOf(events, "toolCallComplete");
    expect(ends).toHaveLength(256);
    expect(ends[0]).toMatchObject({
      outcome: ToolCallOutcome.DISCARDED,
      summary: "Discarded: the model's reply cannot be used",
      error: { message: "The model made more than 256 calls in one reply; nothing of it was run" },
    });
  });

  test("a refusal to serve is not tried again", async () => {
    const wrongKey = () => {
      throw new ModelError("unauthorized", "Check OPENAI_API_KEY");
    };
    const { events } = await play(core({ model: replies(wrongKey) }));
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ errorMessage: "Check OPENAI_API_KEY" });
  });
});

describe("the server", () => {
  test("T1: stops: calls are interrupted, and the run is left open to go on", async () => {
    const opened = core({ model: replies(called({ name: "wait" })), tools: [waits] });
    const { threadId } = await send(opened);
    await until(opened, threadId, isCase("toolCallStarted"));
    await opened.runs.close();
    const events = await until(opened, threadId, isCase("toolCallComplete"));
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({
      outcome: ToolCallOutcome.INTERRUPTED,
      error: { kind: "server_stopping" },
    });
    expect(cases(events)).not.toContain("runCompleted");
    await expect(send(opened)).rejects.toMatchObject({ code: "shutting_down" });
  });

  test("T1: stops, where runs do not go on: the run ends, too", async () => {
    const opened = core({ model: replies(called({ name: "wait" })), tools: [waits], afterRestart: "end" });
    const { threadId } = await send(opened);
    await until(opened, threadId, isCase("toolCallStarted"));
    await opened.runs.close();
    const events = await until(opened, threadId, isEnd);
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.INTERRUPTED });
  });
});

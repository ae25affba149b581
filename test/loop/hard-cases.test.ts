// What a model or a tool can do to a run that no other test asks for: each was once a mistake.
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openMemoryLog } from "../../src/log/memory.js";
import { ModelError, type ModelEvent } from "../../src/model/model.js";
import { recover } from "../../src/recorder/recover.js";
import { limits } from "../../src/thread/limits.js";
import { RunOptionsSchema, RunOutcome, ToolCallOutcome, ToolChoiceMode } from "../../src/thread/schema.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { replaced, useCores } from "../support/core.js";

const core = useCores();
const usage = { inputTokens: 1000, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** A tool that must not run. */
function forbidden() {
  let runs = 0;
  const wipe = tool("wipe", async () => {
    runs++;
    return {};
  });
  return { wipe, runs: () => runs };
}

describe("a call that must not run", () => {
  test.each(["truncated", "filtered"] as const)("T1: its reply was %s before its input began", async (reason) => {
    const { wipe, runs } = forbidden();
    const cut: ModelEvent[] = [
      { type: "tool_call", index: 0, name: "wipe" },
      { type: "end", reason, providerReason: reason },
    ];
    const { events } = await play(core({ model: replies(cut, said("ok")), tools: [wipe] }));
    expect(runs()).toBe(0);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.REJECTED, error: { kind: "truncated_input" } },
    ]);
  });

  test("T1: one of its reply was cut off, and the run ends with that", async () => {
    const { wipe, runs } = forbidden();
    const cut: ModelEvent[] = [
      { type: "tool_call", index: 0, name: "wipe", input: "{}" },
      { type: "tool_call", index: 1, name: "wipe", input: '{"a": ' },
      { type: "end", reason: "truncated", providerReason: "length" },
    ];
    const model = replies(cut, said("never asked"));
    const options = create(RunOptionsSchema, { endWhenCutOff: true });
    const { events } = await play(core({ model, tools: [wipe] }), { options });
    expect([runs(), model.requests.length]).toEqual([0, 1]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Not run: the reply was cut off" },
      { outcome: ToolCallOutcome.REJECTED, error: { kind: "truncated_input" } },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([
      { outcome: RunOutcome.INCOMPLETE, finishReason: "length" },
    ]);
  });

  test("T1: no tools may be used, and the model calls one all the same", async () => {
    const { wipe, runs } = forbidden();
    const options = create(RunOptionsSchema, { toolChoice: { mode: ToolChoiceMode.NONE } });
    const { events } = await play(core({ model: replies(called({ name: "wipe" }), said("ok")), tools: [wipe] }), {
      options,
    });
    expect(runs()).toBe(0);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ error: { kind: "tool_not_allowed" } }]);
  });

  test("T1: in order, an earlier call has ended the run", async () => {
    const { wipe, runs } = forbidden();
    const options = create(RunOptionsSchema, { parallelToolCalls: false });
    const stop = tool("stop", async () => ({ stopIteration: true }));
    const model = replies(called({ name: "stop" }, { name: "wipe" }));
    const { events } = await play(core({ model, tools: [stop, wipe] }), { options });
    expect(runs()).toBe(0);
    expect(valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.SUCCEEDED,
      ToolCallOutcome.CANCELLED,
    ]);
  });
});

describe("text that redaction makes longer", () => {
  const credentials = "a://b:c@\n";

  test("as output", async () => {
    const print = tool("print", async (_, { output }) => {
      output("stdout", credentials.repeat(20_000));
      return {};
    });
    const { events } = await play(core({ model: replies(called({ name: "print" }), said("ok")), tools: [print] }));
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(
      valuesOf(events, "toolCallOutputDelta")
        .map(({ text }) => text)
        .join(""),
    ).not.toContain(":c@");
  });

  test("as the model's own words, and the user's", async () => {
    const text = credentials.repeat(20_000);
    const { events } = await play(core({ model: replies(said(text)) }), { text });
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });

  test("as input: the deltas stop at their bound", async () => {
    const input = { a: "s://a:b@h ".repeat(40_000) };
    const { events } = await play(
      core({ model: replies(called({ name: "look", input }), said("ok")), tools: [tool("look")] }),
    );
    expect(valuesOf(events, "toolCallInputCompleted")).toMatchObject([{ deltasTruncated: true }]);
    const bytes = valuesOf(events, "toolCallInputDelta").reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeLessThanOrEqual(limits.inputDeltaBytes + limits.ownDeltaBytes * 3);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });
});

test("a tool's words reach the model as they are stored, live and later", async () => {
  const secret = "abcdefgh12345";
  const leak = tool("leak", async () => ({ result: `key is ${secret}` }), { output: z.string(), toModel: String });
  const model = replies(called({ name: "leak" }), said(`It is ${secret}`), said("again"));
  const opened = core({ model, tools: [leak], secrets: [secret] });
  const { threadId } = await play(opened);
  await play(opened, { threadId });
  expect(JSON.stringify(model.requests.slice(1))).not.toContain(secret);
  expect(model.requests[2]!.messages.slice(0, 3)).toEqual(model.requests[1]!.messages);
});

test("no more runs are started than fit", async () => {
  const model = {
    name: "test:stuck",
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
  };
  const opened = core({ model, limits: { stopGraceMs: 1 } });
  const sends = await Promise.allSettled(Array.from({ length: 1_010 }, () => send(opened)));
  const refused = sends.filter(({ status }) => status === "rejected");
  expect(opened.runs.active).toBeGreaterThan(900);
  expect(opened.runs.active).toBeLessThanOrEqual(1_000);
  expect(refused).toHaveLength(1_010 - opened.runs.active);
  expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ code: "limit_exceeded" });
  await opened.runs.close();
});

describe("a tool that says too much", () => {
  const talk = async (say: Parameters<typeof tool>[1]) => {
    const { events } = await play(
      core({ model: replies(called({ name: "talk" }), said("ok")), tools: [tool("talk", say)] }),
    );
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    return events;
  };

  test("in phases", async () => {
    const events = await talk(async (_, { phase }) => {
      for (let count = 0; count < 5_000; count++) phase(count % 2 ? "searching" : "waiting");
      return {};
    });
    expect(valuesOf(events, "toolCallProgress").length).toBeLessThan(10);
  });

  test("on two streams by turns", async () => {
    const events = await talk(async (_, { output }) => {
      for (let count = 0; count < 40_000; count++) output(count % 2 ? "stdout" : "stderr", "x");
      return {};
    });
    expect(valuesOf(events, "toolCallOutputDelta").length).toBeLessThan(35_000);
  });

  test("and what is no text at all", async () => {
    const events = await talk(async (_, { output, progress, phase }) => {
      for (const odd of [5, null, undefined, {}, Buffer.from("bytes")]) output("stdout", odd as string);
      progress("1" as unknown as number, undefined, 5 as unknown as string);
      phase("dancing" as never, {} as string);
      return {};
    });
    expect(valuesOf(events, "toolCallOutputDelta")).toMatchObject([{ text: "bytes" }]);
  });

  test("inside its input: the text of a field stops with the input's deltas", async () => {
    const speak = tool("talk", async () => ({}), {
      input: z.object({ message: z.string() }),
      textFields: [{ field: "message", purpose: "speech" }],
    });
    const pieces = Array.from(
      { length: 300 },
      (): ModelEvent => ({ type: "tool_call", index: 0, input: "x".repeat(10_000) }),
    );
    const reply: ModelEvent[] = [
      { type: "tool_call", index: 0, name: "talk", input: '{"message":"' },
      ...pieces,
      { type: "tool_call", index: 0, input: '"}' },
      { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
    ];
    const { events } = await play(core({ model: replies(reply, said("ok")), tools: [speak] }));
    const units = valuesOf(events, "toolCallTextDelta").reduce((sum, { text }) => sum + text.length, 0);
    expect(units).toBeGreaterThan(400_000);
    expect(units).toBeLessThanOrEqual(limits.inputDeltaBytes);
  });

  test("when it throws", async () => {
    await talk(async () => {
      throw new Error("x".repeat(8_000_000));
    });
  });
});

test("a tool that was timed out and returned: the model is told both", async () => {
  const slow = tool(
    "slow",
    async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { result: "partial" };
    },
    { output: z.string(), toModel: String, timeoutMs: 10 },
  );
  const model = replies(called({ name: "slow" }), said("ok"));
  await play(core({ model, tools: [slow] }));
  expect(model.requests[1]!.messages.at(-1)).toMatchObject({
    isError: true,
    text: expect.stringMatching(/Timed out after 10 ms.*partial/s),
  });
});

test("names in pieces that interleave stay whole", async () => {
  const piece = (index: number, name: string): ModelEvent => ({ type: "tool_call", index, name });
  const end: ModelEvent = { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
  const model = replies([piece(0, "read_"), piece(1, "list_"), piece(0, "file"), piece(1, "dir"), end], said("ok"));
  const { events } = await play(core({ model, tools: [tool("read_file"), tool("list_dir")] }));
  expect(valuesOf(events, "toolCallCreated").map(({ toolName }) => toolName)).toEqual(["read_file", "list_dir"]);
});

describe("what was used", () => {
  test("is told of a run that was called off in the middle of a reply", async () => {
    async function* stuck(): AsyncGenerator<ModelEvent> {
      yield { type: "usage", usage };
      yield { type: "text", text: "Well" };
      await new Promise(() => {});
    }
    const opened = core({ model: replies(stuck) });
    const { threadId, runId } = await send(opened);
    await until(
      opened,
      threadId,
      (event) => event.payload.case === "messageDelta" && event.payload.value.text === "Well",
    );
    await opened.threads.cancelRun(threadId, runId);
    const events = await until(opened, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ usage: { inputTokens: 1000n } }]);
  });

  test("is unset where no provider has named it", async () => {
    const { events } = await play(core({ model: replies(said("ok")) }));
    expect(valuesOf(events, "runCompleted")[0]!.usage).toBeUndefined();
  });

  test("counts an attempt that was dropped", async () => {
    async function* breaks(): AsyncGenerator<ModelEvent> {
      yield { type: "usage", usage };
      yield { type: "text", text: "We" };
      throw new ModelError("broken", "lost");
    }
    const { events } = await play(core({ model: replies(breaks, [{ type: "usage", usage }, ...said("ok")]) }));
    expect(valuesOf(events, "runCompleted")[0]!.usage).toMatchObject({ inputTokens: 2000n });
  });
});

test("a reply that was cut at its length is incomplete, also when only its end was missing at the restart", async () => {
  const memory = openMemoryLog();
  // The process dies before the run's end is stored.
  const log = replaced(memory, {
    append: async (key, head, batch) =>
      batch.busy === false ? new Promise<never>(() => {}) : memory.append(key, head, batch),
  });
  const cut: ModelEvent[] = [
    { type: "text", text: "And so" },
    { type: "end", reason: "truncated", providerReason: "length" },
  ];
  const before = core({ log, model: replies(cut) });
  const { threadId } = await send(before);
  await until(before, threadId, ({ payload, sequence }) => payload.case === "messageCompleted" && sequence > 5n);
  const after = core({ log: memory, model: replies() });
  await recover(memory, after.recordings);
  const events = await until(after, threadId, isCase("runCompleted"));
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INCOMPLETE, finishReason: "length" }]);
});

test("256 allowed tools with long names are no problem of the echo", async () => {
  const tools = Array.from({ length: 256 }, (_, index) => tool(`${"t".repeat(60)}${String(index).padStart(3, "0")}`));
  const options = create(RunOptionsSchema, { allowedTools: tools.map(({ name }) => name) });
  const { events } = await play(core({ model: replies(said("ok")), tools }), { options });
  expect(cases(events).at(-1)).toBe("runCompleted");
});

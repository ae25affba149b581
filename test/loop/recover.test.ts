// What becomes of a run when its process is gone: by the state of its calls, from the log alone.
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import { recover } from "../../src/recorder/recover.js";
import { RunRecorder } from "../../src/recorder/run-recorder.js";
import { keyOf } from "../../src/request-fields.js";
import { newId } from "../../src/thread/ids.js";
import {
  Executor,
  Role,
  RunOutcome,
  SuspendReason,
  ToolCallOutcome,
  WireThreadState,
} from "../../src/thread/schema.js";
import { called, cases, isCase, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { type CoreOptions, storedEvents, useCores } from "../support/core.js";

const core = useCores();

/** A tool that counts how often it has begun, and ends only when it is called off. */
function counted() {
  const begun: string[] = [];
  const wait = tool("wait", async (_, { signal, toolCallId }) => {
    begun.push(toolCallId);
    if (!signal.aborted) await once(signal, "abort");
    throw signal.reason;
  });
  return { begun, wait };
}

/** The process is gone: whatever it still does reaches no log. */
function severed(log: EventLog): { log: EventLog; die(): void } {
  let isDead = false;
  const dead = () => new Promise<never>(() => {});
  return {
    log: new Proxy(log, {
      get: (target, name: keyof EventLog) =>
        isDead && name === "append" ? dead : (target[name] as () => unknown).bind(target),
    }),
    die: () => {
      isDead = true;
    },
  };
}

/** A run whose process dies while its one call runs, and the next process upon the same log. */
async function dieWhileRunning(next: CoreOptions, first: CoreOptions = {}) {
  const { begun, wait } = counted();
  const log = openMemoryLog();
  const { log: mortal, die } = severed(log);
  const before = core({ log: mortal, model: replies(called({ name: "wait" })), tools: [wait], ...first });
  const { threadId, runId } = await send(before, { text: "Wait" });
  await until(before, threadId, isCase("toolCallStarted"));
  die();
  const after = core({ log, tools: [wait], ...next });
  await recover(log, after.recordings);
  return { after, threadId, runId, begun };
}

describe("a run whose process died", () => {
  test("T1: goes on: the running call is interrupted, not run again, and the model is told", async () => {
    const model = replies(said("I shall not try again."));
    const { after, threadId, begun } = await dieWhileRunning({ model });
    const events = await until(after, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, summary: "Interrupted: the server stopped" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(begun).toHaveLength(1);
    expect(model.requests[0]!.messages).toMatchObject([
      { role: "user", text: "Wait" },
      { role: "assistant", calls: [{ name: "wait", input: "{}" }] },
      { role: "tool", isError: true, text: expect.stringContaining("Whether it had an effect is not known") },
    ]);
  });

  test("T1: ends, where that is configured, with what it had used", async () => {
    const usage = { inputTokens: 7, cachedInputTokens: 0, outputTokens: 3, reasoningTokens: 0 };
    const first = { model: replies([{ type: "usage", usage }, ...called({ name: "wait" })]) };
    const { after, threadId } = await dieWhileRunning({ model: replies(), afterRestart: "end" }, first);
    const events = await storedEvents(after, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.INTERRUPTED }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([
      { outcome: RunOutcome.INTERRUPTED, usage: { inputTokens: 7n, outputTokens: 3n } },
    ]);
    expect(await after.threads.get(threadId)).toMatchObject({ state: WireThreadState.IDLE });
  });

  test("ends when its model is not offered any more", async () => {
    const { after, threadId } = await dieWhileRunning({});
    expect(valuesOf(await storedEvents(after, threadId), "runCompleted")).toMatchObject([
      { outcome: RunOutcome.INTERRUPTED },
    ]);
  });

  test("remembers how often the model has answered, and what was used", async () => {
    const usage = { inputTokens: 7, cachedInputTokens: 0, outputTokens: 3, reasoningTokens: 0 };
    const first = { model: replies([{ type: "usage", usage }, ...called({ name: "wait" })]) };
    const next = { model: replies([{ type: "usage", usage }, ...said("Done.")]) };
    const { after, threadId } = await dieWhileRunning(next, first);
    const events = await until(after, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ usage: { inputTokens: 14n, outputTokens: 6n } });
  });

  test("keeps answering its request with the same run", async () => {
    const log = openMemoryLog();
    const { log: mortal, die } = severed(log);
    const { wait } = counted();
    const before = core({ log: mortal, model: replies(called({ name: "wait" })), tools: [wait] });
    const { id: threadId } = await before.threads.create({ threadId: "", title: "", labels: {} });
    const request = { requestId: "once", text: "Wait", options: undefined };
    const runId = await before.threads.send(threadId, request);
    await until(before, threadId, isCase("toolCallStarted"));
    die();
    const after = core({ log, tools: [wait], model: replies(said("ok")) });
    await recover(log, after.recordings);
    expect(await after.threads.send(threadId, request)).toBe(runId);
  });
});

test("T1: a reply that was cut off is asked for again, and its half call is interrupted", async () => {
  const log = openMemoryLog();
  const { log: mortal, die } = severed(log);
  async function* stuck() {
    yield { type: "text", text: "Let me see" } as const;
    yield { type: "tool_call", index: 0, name: "look", input: '{"half' } as const;
    await new Promise(() => {});
  }
  const before = core({ log: mortal, model: replies(stuck), tools: [tool("look")] });
  const { threadId } = await send(before);
  await until(before, threadId, isCase("toolCallInputDelta"));
  die();
  const model = replies(said("Here it is."));
  const after = core({ log, model, tools: [tool("look")] });
  await recover(log, after.recordings);
  const events = await until(after, threadId, isCase("runCompleted"));
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([
    { outcome: ToolCallOutcome.INTERRUPTED, error: { message: expect.stringContaining("It had not started") } },
  ]);
  expect(valuesOf(events, "messageCompleted").map(({ incomplete }) => incomplete)).toEqual([false, true, false]);
  // Nothing of it is part of the conversation: the model is asked what it was asked before.
  expect(model.requests.map(({ messages }) => messages)).toEqual([[{ role: "user", text: "Go" }]]);
});

test("a run whose last word was stored only lacks its end", async () => {
  const log = openMemoryLog();
  const { threadId, recorder } = await openRun(log);
  const messageId = newId();
  await recorder.record({ case: "messageCreated", value: { messageId, role: Role.ASSISTANT } });
  recorder.delta({ case: "messageDelta", value: { messageId, text: "Bye." } });
  await recorder.record({ case: "messageCompleted", value: { messageId } });
  const after = core({ log, model: replies() });
  await recover(log, after.recordings);
  const events = await until(after, threadId, isCase("runCompleted"));
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
});

/** A run of Heddle's own whose model never answers: the test records what it would have. */
async function openRun(log: EventLog) {
  const never = new Promise<never>(() => {});
  const opened = core({
    log,
    model: { name: "test:stalled", stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }) },
  });
  const { threadId, runId } = await send(opened);
  return { threadId, runId, recorder: new RunRecorder(opened.recorder, keyOf(threadId), { runId }) };
}

describe("calls that wait for somebody outside", () => {
  /** A run of Heddle's own whose calls wait, as a process that died would have left it. */
  async function parked(log: EventLog, states: readonly ("approval" | "offered" | "running")[]) {
    const { threadId, runId, recorder } = await openRun(log);
    const ids: string[] = [];
    for (const state of states) {
      const toolCallId = newId();
      ids.push(toolCallId);
      await recorder.record({ case: "toolCallCreated", value: { toolCallId, toolName: "look" } });
      await recorder.record({ case: "toolCallInputCompleted", value: { toolCallId } });
      if (state === "approval") await recorder.record({ case: "toolCallApprovalRequested", value: { toolCallId } });
      else {
        const executor = state === "offered" ? Executor.CLIENT : Executor.SERVER;
        await recorder.record({ case: "toolCallStarted", value: { toolCallId, executor } });
      }
    }
    return { threadId, runId, ids };
  }

  test("stay, and suspend the run; what ran is interrupted", async () => {
    const log = openMemoryLog();
    const { threadId, ids } = await parked(log, ["approval", "offered", "running"]);
    const after = core({ log, model: replies(said("ok")) });
    await recover(log, after.recordings);
    const events = await storedEvents(after, threadId);
    expect(valuesOf(events, "toolCallComplete").map(({ toolCallId }) => toolCallId)).toEqual([ids[2]]);
    expect(valuesOf(events, "runSuspended")).toMatchObject([
      { reason: SuspendReason.APPROVAL, openToolCallIds: [ids[0], ids[1]] },
    ]);
    expect(await after.threads.get(threadId)).toMatchObject({ state: WireThreadState.SUSPENDED, openToolCalls: 2 });
  });

  test("called off one by one: the run resumes with the last of them", async () => {
    const log = openMemoryLog();
    const { threadId, ids } = await parked(log, ["approval", "offered"]);
    const model = replies(said("Then not."));
    const after = core({ log, model });
    await recover(log, after.recordings);
    await after.toolCalls.cancel(ids[0]!, "");
    expect(cases(await storedEvents(after, threadId))).not.toContain("runResumed");
    await after.toolCalls.cancel(ids[1]!, "");
    const events = await until(after, threadId, isCase("runCompleted"));
    expect(cases(events)).toContain("runResumed");
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });

  test("called off with their run", async () => {
    const log = openMemoryLog();
    const { threadId, runId } = await parked(log, ["approval"]);
    const after = core({ log, model: replies() });
    await recover(log, after.recordings);
    await after.threads.cancelRun(threadId, runId);
    const events = await storedEvents(after, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
  });

  test("still wait after another restart, and are not suspended twice", async () => {
    const log = openMemoryLog();
    const { threadId } = await parked(log, ["approval"]);
    for (let start = 0; start < 3; start++) await recover(log, core({ log, model: replies() }).recordings);
    expect(cases(await storedEvents(core({ log }), threadId)).filter((name) => name === "runSuspended")).toHaveLength(
      1,
    );
  });
});

// Whatever ends a call that delegates ends the run below it first; whatever ends that run ends the call. A crash leaves both whole.
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test, vi } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { ChildRuns } from "../../src/loop/sub-runs.js";
import { recover } from "../../src/recorder/recover.js";
import { keyOf } from "../../src/request-fields.js";
import { HeddleError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { decodeFrames } from "../../src/thread/frame.js";
import { newId } from "../../src/thread/ids.js";
import {
  ApprovalDecision,
  RunOptionsSchema,
  RunOutcome,
  ToolCallOutcome,
  ToolCallPhase,
  WireThreadState,
} from "../../src/thread/schema.js";
import { called, isCase, said, send, tool, until, valuesOf } from "../support/agent.js";
import { type Core, type CoreOptions, ManualClock, replaced, storedEvents, useCores } from "../support/core.js";
import { below, childAt, delegated, ends, family } from "./family.js";
import { checkLog } from "./log-rules.js";
import { MortalCore } from "./mortal-core.js";
import { Workbench } from "./workbench.js";

const core = useCores();

/** A run whose sub-agent, and its sub-agent where there is one, is at work or waits for a yes. */
async function underWay(kind: "at work" | "asking", options: CoreOptions & { deep?: boolean } = {}) {
  const work = new Workbench();
  const change = tool("change", undefined, { kind: "edit" });
  const busy = [called({ name: kind === "at work" ? "work" : "change" }), said("It is done.")];
  const model = family({
    Go: [delegated("it"), said("Done")],
    it: options.deep ? [delegated("deep"), said("Deep is done.")] : busy,
    deep: busy,
  });
  const server = core({ model, tools: [work.tool, change], delegation: {}, ...options });
  const sent = await send(server, {
    options: create(RunOptionsSchema, options.defaults?.timeLimitMs ? { timeLimit: durationFromMs(300) } : {}),
  });
  const isThere = kind === "at work" ? isCase("toolCallStarted") : isCase("runSuspended");
  let child = await childAt(server, sent.threadId, options.deep ? isCase("toolCallStarted") : isThere);
  const middle = child;
  if (options.deep) child = await childAt(server, child.childId, isThere);
  if (kind === "at work") await work.started(1);
  return { server, model, work, ...sent, middle, child };
}

/** Both logs are whole, nothing runs on, and the run below ended before the call did. */
async function wholeFamily(server: Core, threadId: string): Promise<readonly ThreadEvent[]> {
  const events = await ends(server, threadId);
  const logs = await below(server, events);
  for (const log of [events, ...logs]) checkLog(log);
  for (const log of logs) expect((await server.threads.get(log[0]!.threadId)).state).toBe(WireThreadState.IDLE);
  await vi.waitFor(() => expect(server.runs.active).toBe(0), { interval: 1 });
  return events;
}

const outcomeOf = async (server: Core, threadId: string) =>
  valuesOf(await storedEvents(server, threadId), "runCompleted")[0];

describe.each(["at work", "asking"] as const)("called off while the sub-agent is %s", (kind) => {
  test("the call: the run below is over before it, and the run goes on", async () => {
    const { server, threadId, child } = await underWay(kind);
    await server.toolCalls.cancel(child.callId, "too slow");
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: too slow" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    const log = await storedEvents(server, child.childId);
    expect(valuesOf(log, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
    expect(valuesOf(log, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    expect(isBefore(log.at(-1)!, events.find(isCase("toolCallComplete"))!)).toBe(true);
  });

  test("the run", async () => {
    const { server, threadId, runId, child } = await underWay(kind);
    await server.threads.cancelRun(threadId, runId);
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    expect(await outcomeOf(server, child.childId)).toMatchObject({ outcome: RunOutcome.CANCELLED });
  });

  test("two levels down, by the uppermost run", async () => {
    const { server, threadId, runId, middle, child } = await underWay(kind, { deep: true });
    await server.threads.cancelRun(threadId, runId);
    const events = await wholeFamily(server, threadId);
    const logs = await Promise.all([middle, child].map(({ childId }) => storedEvents(server, childId)));
    for (const log of logs) expect(valuesOf(log, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    expect(isBefore(logs[1]!.at(-1)!, logs[0]!.at(-1)!)).toBe(true);
    expect(isBefore(logs[0]!.at(-1)!, events.at(-1)!)).toBe(true);
  });

  test("the run below itself: its call says so", async () => {
    const { server, threadId, child } = await underWay(kind);
    await server.threads.cancelRun(child.childId, child.runId);
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.FAILED, summary: "Sub-agent was cancelled" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  });

  test("a call of the run below: that run goes on", async () => {
    const { server, threadId, child } = await underWay(kind);
    const log = await storedEvents(server, child.childId);
    await server.toolCalls.cancel(valuesOf(log, "toolCallCreated")[0]!.toolCallId, "");
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.SUCCEEDED }]);
  });

  test("the time of the run is up", async () => {
    const { server, threadId, child } = await underWay(kind, { defaults: { timeLimitMs: 300 } });
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.TIMED_OUT }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INCOMPLETE }]);
    const end = await outcomeOf(server, child.childId);
    expect([RunOutcome.CANCELLED, RunOutcome.INCOMPLETE]).toContain(end?.outcome);
  });

  test.each(["continue", "end"] as const)("the server stops (afterRestart: %s): the run below ends", async (after) => {
    const log = openMemoryLog();
    const { server, threadId, child } = await underWay(kind, { log, afterRestart: after });
    await server.runs.close();
    expect(await outcomeOf(server, child.childId)).toMatchObject({ outcome: RunOutcome.INTERRUPTED });
    const events = await storedEvents(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.INTERRUPTED }]);
    expect(events.some(isCase("runCompleted"))).toBe(after === "end");
    checkLog(await storedEvents(server, child.childId));
    const next = core({
      log,
      model: family({ Go: [delegated("it"), said("Done")] }),
      delegation: {},
      afterRestart: after,
    });
    await recover(log, next.recordings);
    await wholeFamily(next, threadId);
  });

  test("a crash: both logs are whole, and the run below never goes on by itself", async () => {
    const log = openMemoryLog();
    const work = new Workbench();
    const change = tool("change", undefined, { kind: "edit" });
    const name = kind === "at work" ? "work" : "change";
    const model = family({ Go: [delegated("it"), said("Done")], it: [called({ name })] });
    const server = new MortalCore(log, { log, model, tools: [work.tool, change], delegation: {} });
    const { threadId } = await send(server.core);
    const isThere = kind === "at work" ? isCase("toolCallStarted") : isCase("runSuspended");
    const child = await childAt(server.core, threadId, isThere);
    await server.dieAndRestart("before the write");
    const events = await wholeFamily(server.core, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.INTERRUPTED, summary: "Interrupted: the server stopped" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(await outcomeOf(server.core, child.childId)).toMatchObject({ outcome: RunOutcome.INTERRUPTED });
    server.close();
  });

  test("nobody can wake a run below after a crash, whoever is looked after first", async () => {
    const log = openMemoryLog();
    const { threadId, child } = await underWay(kind, { log });
    const model = family({ Go: [delegated("it"), said("Done")] });
    // As if the first process had never been: it is left hanging.
    const next = core({
      log,
      model,
      tools: [tool("change", undefined, { kind: "edit" }), tool("work")],
      delegation: {},
    });
    const [question] = valuesOf(child.events, "toolCallApprovalRequested");
    const answer = {
      decision: ApprovalDecision.ALLOWED,
      reason: "",
      resolvedBy: "me",
      sha256: question?.approvalSha256,
    };
    if (question)
      await expect(next.toolCalls.answer(question.toolCallId, answer as never)).rejects.toMatchObject({
        code: "approval_not_pending",
      });
    await next.recordings.recover(keyOf(threadId));
    await next.recordings.recover(keyOf(child.childId));
    await wholeFamily(next, threadId);
    expect(await outcomeOf(next, child.childId)).toMatchObject({ outcome: RunOutcome.INTERRUPTED });
  });
});

describe("a question of a sub-agent", () => {
  const answer = (sha256: Uint8Array, decision: ApprovalDecision.ALLOWED | ApprovalDecision.DENIED) => ({
    decision,
    reason: "",
    resolvedBy: "a person",
    sha256,
  });
  const isWaiting = ({ payload }: ThreadEvent) =>
    payload.case === "toolCallProgress" && payload.value.phase === ToolCallPhase.WAITING;

  test.each([1, 2])("%d deep: the call above says that it waits, and then that it does not", async (levels) => {
    const { server, threadId, child } = await underWay("asking", { deep: levels === 2 });
    const waiting = await until(server, threadId, isWaiting);
    expect(valuesOf(waiting, "toolCallProgress").at(-1)).toMatchObject({ message: "Waiting for a yes: Doing change" });
    const [listed] = await server.toolCalls.approvals({ threadId: "", pageSize: 10, after: "" });
    expect(listed).toMatchObject({ threadId: child.childId, parentToolCallId: child.callId });
    const [question] = valuesOf(child.events, "toolCallApprovalRequested");
    await server.toolCalls.answer(question!.toolCallId, answer(question!.approvalSha256, ApprovalDecision.ALLOWED));
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallProgress").at(-1)).toMatchObject({ phase: ToolCallPhase.UNSPECIFIED });
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.SUCCEEDED }]);
    const log = await storedEvents(server, child.childId);
    expect(valuesOf(log, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.SUCCEEDED }]);
  });

  test("denied: the sub-agent goes on without it", async () => {
    const { server, threadId, child } = await underWay("asking");
    const [question] = valuesOf(child.events, "toolCallApprovalRequested");
    await server.toolCalls.answer(question!.toolCallId, answer(question!.approvalSha256, ApprovalDecision.DENIED));
    const events = await wholeFamily(server, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.SUCCEEDED }]);
    const log = await storedEvents(server, child.childId);
    expect(valuesOf(log, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.DENIED }]);
  });

  test("nobody answers in time", async () => {
    const clock = new ManualClock();
    const { server, threadId, child } = await underWay("asking", { clock, policy: { approvalTimeoutMs: 1_000 } });
    clock.advance(1_000);
    await wholeFamily(server, threadId);
    const log = await storedEvents(server, child.childId);
    expect(valuesOf(log, "toolCallComplete")).toMatchObject([{ error: { kind: "approval_expired" } }]);
  });
});

test("T1: a run below that could not be called off at once is ended as soon as the log can be written", async () => {
  const memory = openMemoryLog();
  let isFull = false;
  let childId = "";
  const log = replaced(memory, {
    append: async (key, ...rest) => {
      if (!isFull || key.threadId !== childId) return memory.append(key, ...rest);
      isFull = false;
      throw new HeddleError("storage_full", "No space is left", { detail: { path: "memory" } });
    },
  });
  const { server, threadId, child } = await underWay("asking", { log, limits: { stopGraceMs: 1 } });
  childId = child.childId;
  isFull = true;
  await server.toolCalls.cancel(child.callId, "");
  await ends(server, threadId);
  await vi.waitFor(async () => expect((await server.threads.get(childId)).state).toBe(WireThreadState.IDLE));
  checkLog(await storedEvents(server, childId));
  expect(isFull).toBe(false);
});

test("T1: a run that breaks beside a task waits for it: nothing goes on below a run that is over", async () => {
  const memory = openMemoryLog();
  let hasBroken = false;
  const log = replaced(memory, {
    append: async (key, head, batch) => {
      const ended = [...decodeFrames(Buffer.concat(batch.frames))].filter(isCase("toolCallComplete"));
      if (hasBroken || !valuesOf(ended, "toolCallComplete").some(({ toolName }) => toolName === "quick"))
        return memory.append(key, head, batch);
      hasBroken = true;
      throw new HeddleError("storage_full", "No space is left", { detail: { path: "memory" } });
    },
  });
  const work = new Workbench();
  const both = called({ name: "delegate_task", input: { task: "it", prompt: "it" } }, { name: "quick" });
  const model = family({ Go: [both], it: [called({ name: "work" }), said("Done")] });
  const server = core({ log, model, tools: [work.tool, tool("quick")], delegation: {} });
  const { threadId } = await send(server);
  const [id] = await work.started(1);
  await vi.waitFor(() => expect(hasBroken).toBe(true));
  expect((await server.threads.get(threadId)).state).toBe(WireThreadState.RUNNING);
  work.finish(id!);
  const events = await wholeFamily(server, threadId);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INTERRUPTED }]);
  const [child] = await below(server, events);
  expect(isBefore(child!.at(-1)!, events.at(-1)!)).toBe(true);
});

test("T1: a run with a call at work is not suspended for another that waits, also when it was taken up again", async () => {
  const work = new Workbench();
  const model = family({ Go: [called({ name: "change" }, { name: "work" }), said("Done")] });
  const change = tool("change", undefined, { kind: "edit" });
  const server = core({ model, tools: [work.tool, change], policy: { policy: { work: "ask" } } });
  const { threadId } = await send(server);
  const asked = valuesOf(await until(server, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
  const { toolCallId, approvalSha256: sha256 } = asked.find(({ summary }) => summary === "Doing work")!;
  const yes = { decision: ApprovalDecision.ALLOWED, reason: "", resolvedBy: "me", sha256 } as const;
  await server.toolCalls.answer(toolCallId, yes);
  await work.started(1);
  expect((await server.threads.get(threadId)).state).toBe(WireThreadState.RUNNING);
  await server.toolCalls.cancel(toolCallId, "");
  await until(server, threadId, isCase("toolCallComplete"));
  const [waiting] = await server.toolCalls.approvals({ threadId, pageSize: 10, after: "" });
  await server.toolCalls.cancel(waiting!.id, "");
  checkLog(await ends(server, threadId));
  expect(work.children.size).toBe(0);
  expect(server.errors).toEqual([]);
});

test("a run below that cannot be caught is called off again and again, but not without a rest", async () => {
  const quiet = { create: async () => true, read: async () => undefined, waitBeyond: () => new Promise(() => {}) };
  const parent = {
    key: keyOf(newId()),
    options: create(RunOptionsSchema),
    tokens: 0n,
    levelsBelow: 1,
    depth: 0,
    tasks: { count: 0, begin: () => undefined },
    recorder: { note: async () => undefined },
  };
  let tries = 0;
  const stop = async () => ++tries > 1_000;
  const children = new ChildRuns({ depth: 1, atOnce: 1, perRun: 1 });
  children.runWith({
    log: quiet,
    recorder: { redacted: (text: string) => text },
    runs: { runOf: () => parent, startTask: async () => "run", stop },
    onError: () => undefined,
  } as unknown as Parameters<ChildRuns["runWith"]>[0]);
  const task = { threadId: parent.key.threadId, toolCallId: newId<string>(), title: "it", prompt: "it" };
  const leaving = new AbortController();
  void children.run({ ...task, signal: leaving.signal, onProgress: () => undefined });
  leaving.abort();
  await vi.waitFor(() => expect(tries).toBeGreaterThan(2), { timeout: 5_000 });
  expect(tries).toBeLessThan(10);
});

/** By the time at which they were recorded. */
function isBefore(one: ThreadEvent, other: ThreadEvent): boolean {
  const [a, b] = [one, other].map(({ time }) => Number(time!.seconds) * 1e9 + time!.nanos);
  return a! <= b!;
}

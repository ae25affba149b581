// Calls that policy wants a person's yes for: asked with what would happen, waited for in the log, answered once.

import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { recover } from "../../src/recorder/recover.js";
import {
  ApprovalDecision,
  ApprovalMode,
  RunOptionsSchema,
  RunOutcome,
  SuspendReason,
  ToolCallOutcome,
  ToolCallState,
  WireThreadState,
} from "../../src/thread/schema.js";
import { ToolFailure } from "../../src/tool/tool.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { type Core, type CoreOptions, ManualClock, useCores } from "../support/core.js";
import { checkLog } from "./log-rules.js";
import { MortalCore } from "./mortal-core.js";

const core = useCores();

/** A tool that needs a yes, and remembers when it ran. */
function guarded(name = "change", extra: Parameters<typeof tool>[2] = {}) {
  const ran: unknown[] = [];
  const guarded = tool(
    name,
    async (input) => {
      ran.push(input);
      return {};
    },
    { kind: "edit", ...extra },
  );
  return { ran, guarded };
}

/** A run that waits: its one call asks. */
async function asking(options: CoreOptions = {}, input: unknown = { path: "a.txt" }) {
  const { ran, guarded: change } = guarded();
  const model = replies(called({ name: "change", input }), said("Done"));
  const asked = core({ model, tools: [change], ...options });
  const sent = await send(asked);
  const events = await until(asked, sent.threadId, isCase("runSuspended"));
  const [question] = valuesOf(events, "toolCallApprovalRequested");
  return { core: asked, ...sent, model, ran, question: question!, events };
}

const yes = (question: { approvalSha256: Uint8Array }) => ({
  decision: ApprovalDecision.ALLOWED as const,
  reason: "",
  resolvedBy: "a person",
  sha256: question.approvalSha256,
});

const no = (question: { approvalSha256: Uint8Array }, reason = "not today") => ({
  ...yes(question),
  decision: ApprovalDecision.DENIED as const,
  reason,
});

const end = (core: Core, threadId: string) => until(core, threadId, isCase("runCompleted"));

describe("policy", () => {
  test("what only looks runs at once; what changes things is asked for", async () => {
    const { core, events, ran, threadId } = await asking();
    expect(ran).toEqual([]);
    expect(cases(events).slice(-3)).toEqual(["toolCallInputCompleted", "toolCallApprovalRequested", "runSuspended"]);
    expect(valuesOf(events, "runSuspended")).toMatchObject([{ reason: SuspendReason.APPROVAL }]);
    expect(valuesOf(events, "toolCallApprovalRequested")).toMatchObject([
      { summary: "Doing change", reason: "Policy asks before files are changed" },
    ]);
    expect(await core.threads.get(threadId)).toMatchObject({ state: WireThreadState.SUSPENDED });
    expect(core.runs.active).toBe(0);
  });

  test("a trusted workspace is not asked for", async () => {
    const { ran, guarded: change } = guarded();
    const trusting = core({
      model: replies(called({ name: "change" }), said("Done")),
      tools: [change],
      policy: { trusted: true },
    });
    const { events } = await play(trusting);
    expect(ran).toHaveLength(1);
    expect(cases(events)).not.toContain("toolCallApprovalRequested");
  });

  test("A1: a tool that is denied never starts, and the model is told to go on", async () => {
    const { ran, guarded: change } = guarded();
    const model = replies(called({ name: "change" }), said("Done"));
    const { events } = await play(core({ model, tools: [change], policy: { policy: { change: "deny" } } }));
    expect(ran).toEqual([]);
    expect(cases(events)).not.toContain("toolCallStarted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      {
        outcome: ToolCallOutcome.DENIED,
        summary: "Denied: the policy of this server does not allow change",
        error: { kind: "denied_by_policy" },
      },
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
    checkLog(events);
  });

  test("nobody to ask: denied at once, with a summary that says so", async () => {
    const { ran, guarded: change } = guarded();
    const model = () => replies(called({ name: "change" }), said("Done"));
    const unattended = core({ model: model(), tools: [change], defaults: { approvals: "deny" } });
    const options = create(RunOptionsSchema, { approvalMode: ApprovalMode.DENY });
    const looser = create(RunOptionsSchema, { approvalMode: ApprovalMode.ASK });
    for (const { events } of [
      await play(unattended),
      await play(core({ model: model(), tools: [change], defaults: { approvals: "deny" } }), { options: looser }),
      await play(core({ model: model(), tools: [change] }), { options }),
    ]) {
      expect(valuesOf(events, "toolCallComplete")).toMatchObject([
        { outcome: ToolCallOutcome.DENIED, summary: "Denied: nobody is here to say yes to change" },
      ]);
      expect(cases(events)).not.toContain("runSuspended");
    }
    expect(ran).toEqual([]);
  });

  test("the configuration can ask for a tool that is allowed by its kind, and allow one that is asked for", async () => {
    const talk = tool("talk");
    const { guarded: change, ran } = guarded();
    const model = replies(called({ name: "talk" }, { name: "change" }), said("Done"));
    const policy = { policy: { talk: "ask", change: "allow" } } as const;
    const asked = core({ model, tools: [talk, change], policy });
    const { threadId } = await send(asked);
    const events = await until(asked, threadId, isCase("runSuspended"));
    expect(valuesOf(events, "toolCallApprovalRequested")).toMatchObject([
      { reason: "The configuration asks before talk" },
    ]);
    expect(ran).toHaveLength(1);
  });
});

describe("an answer", () => {
  test("A1, A2: yes: the call runs once, the run goes on, and the record says who and when", async () => {
    const { core, threadId, ran, question, model } = await asking();
    await core.toolCalls.answer(question.toolCallId, yes(question));
    const events = await end(core, threadId);
    expect(ran).toEqual([{ path: "a.txt" }]);
    expect(cases(events).slice(6)).toEqual([
      "toolCallInputCompleted",
      "toolCallApprovalRequested",
      "runSuspended",
      "toolCallApprovalResolved",
      "runResumed",
      "toolCallStarted",
      "toolCallComplete",
      "messageCreated",
      "messageDelta",
      "messageCompleted",
      "runCompleted",
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    const { call } = await core.toolCalls.get(question.toolCallId);
    expect(call).toMatchObject({
      state: ToolCallState.OVER,
      approval: { allowed: true, resolvedBy: "a person" },
    });
    expect(Buffer.from(call.approval!.approvalSha256)).toEqual(Buffer.from(question.approvalSha256));
    expect(call.approval?.requestTime).toBeDefined();
    expect(call.approval?.resolveTime).toBeDefined();
    expect(model.requests[1]!.messages).toMatchObject([
      { role: "user" },
      { role: "assistant", calls: [{ name: "change" }] },
      { role: "tool", isError: false },
    ]);
    checkLog(events);
  });

  test("A1: no: the call never starts, and the model reads the reason", async () => {
    const { core, threadId, ran, question, model } = await asking();
    await core.toolCalls.answer(question.toolCallId, no(question, "the file is mine"));
    const events = await end(core, threadId);
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DENIED, summary: "Denied: the file is mine" },
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({
      role: "tool",
      isError: true,
      text: "The user said no: the file is mine",
    });
    checkLog(events);
  });

  test("A2: none in time: denied, and the run goes on", async () => {
    const clock = new ManualClock();
    const { core, threadId, ran, question } = await asking({ clock, policy: { approvalTimeoutMs: 60_000 } });
    clock.advance(60_001);
    const events = await end(core, threadId);
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallApprovalResolved")).toMatchObject([{ decision: ApprovalDecision.EXPIRED }]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DENIED, summary: "Denied: nobody answered within 60 s" },
    ]);
    await expect(core.toolCalls.answer(question.toolCallId, yes(question))).rejects.toMatchObject({
      code: "tool_call_over",
    });
    checkLog(events);
  });

  test("with another hash is refused, and the call goes on waiting", async () => {
    const { core, threadId, ran, question } = await asking();
    const other = { approvalSha256: new Uint8Array(32) };
    await expect(core.toolCalls.answer(question.toolCallId, yes(other))).rejects.toMatchObject({
      code: "approval_mismatch",
    });
    await expect(core.toolCalls.answer(question.toolCallId, no(other))).rejects.toMatchObject({
      code: "approval_mismatch",
    });
    await core.toolCalls.answer(question.toolCallId, yes(question));
    await end(core, threadId);
    expect(ran).toHaveLength(1);
  });

  test("A3: of two at once, one counts; a yes is used once", async () => {
    for (let round = 0; round < 50; round++) {
      const { core, threadId, ran, question } = await asking();
      const answers = await Promise.allSettled([
        core.toolCalls.answer(question.toolCallId, yes(question)),
        core.toolCalls.answer(question.toolCallId, round % 2 ? no(question) : yes(question)),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const events = await end(core, threadId);
      expect(valuesOf(events, "toolCallApprovalResolved")).toHaveLength(1);
      const isAllowed = valuesOf(events, "toolCallApprovalResolved")[0]!.decision === ApprovalDecision.ALLOWED;
      expect(ran).toHaveLength(isAllowed ? 1 : 0);
      checkLog(events);
    }
  });

  test("to a call that does not ask is refused with a word of its own", async () => {
    const { core: other, threadId } = await asking();
    const begun = tool(
      "wait",
      (_, { signal }) => new Promise((__, reject) => signal.addEventListener("abort", reject)),
    );
    const running = core({ model: replies(called({ name: "wait" })), tools: [begun] });
    const sent = await send(running);
    const [started] = valuesOf(await until(running, sent.threadId, isCase("toolCallStarted")), "toolCallStarted");
    const question = { approvalSha256: new Uint8Array(32) };
    await expect(running.toolCalls.answer(started!.toolCallId, yes(question))).rejects.toMatchObject({
      code: "approval_not_pending",
    });
    await running.threads.cancelRun(sent.threadId, sent.runId);
    await expect(other.toolCalls.answer(started!.toolCallId, yes(question))).rejects.toMatchObject({
      code: "tool_call_not_found",
    });
    await other.threads.get(threadId);
  });
});

describe("what is approved is what was shown", () => {
  test("the preview can be read while the call waits", async () => {
    const { guarded: change } = guarded("change", {
      preview: async () => ({ mediaType: "text/x-diff", data: "-old\n+new\n" }),
    });
    const asked = core({ model: replies(called({ name: "change" })), tools: [change] });
    const { threadId } = await send(asked);
    const [question] = valuesOf(await until(asked, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
    const { contents } = await asked.toolCalls.get(question!.toolCallId);
    const preview = contents.find(({ info }) => info.contentId === "preview");
    expect(preview?.info).toMatchObject({ mediaType: "text/x-diff" });
    expect(Buffer.from(preview!.data).toString()).toBe("-old\n+new\n");
  });

  test("A2: what would happen has changed since: not run, and the model is told to ask once more", async () => {
    let world = "one";
    const { ran, guarded: change } = guarded("change", {
      preview: async () => ({ mediaType: "text/plain", data: world }),
    });
    const model = replies(called({ name: "change" }), said("Done"));
    const asked = core({ model, tools: [change] });
    const { threadId } = await send(asked);
    const [question] = valuesOf(await until(asked, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
    world = "two";
    await asked.toolCalls.answer(question!.toolCallId, yes(question!));
    const events = await end(asked, threadId);
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      {
        outcome: ToolCallOutcome.DENIED,
        summary: "Denied: what it would do has changed since it was approved",
      },
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ text: expect.stringContaining("ask once more") });
  });

  test("A2: another workspace after a restart: the yes was for the first", async () => {
    const log = openMemoryLog();
    const { core: first, question, ran, threadId } = await asking({ log, workspace: "/one" });
    await first.runs.close();
    const { guarded: change, ran: later } = guarded();
    const next = core({ log, model: replies(said("Done")), tools: [change], workspace: "/two" });
    await recover(log, next.recordings);
    await next.toolCalls.answer(question.toolCallId, yes(question));
    const events = await end(next, threadId);
    expect([...ran, ...later]).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.DENIED }]);
    checkLog(events);
  });

  test("A2: a change behind what is shown of a long preview counts too", async () => {
    let end = "one";
    const { ran, guarded: change } = guarded("change", {
      preview: async () => ({ mediaType: "text/plain", data: `${"x".repeat(600_000)}${end}` }),
    });
    const asked = core({ model: replies(called({ name: "change" }), said("Done")), tools: [change] });
    const { threadId } = await send(asked);
    const [question] = valuesOf(await until(asked, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
    end = "two";
    await asked.toolCalls.answer(question!.toolCallId, yes(question!));
    const events = await until(asked, threadId, isCase("runCompleted"));
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ error: { kind: "approval_changed" } }]);
  });

  test("what cannot succeed is not asked for", async () => {
    const { ran, guarded: change } = guarded("change", {
      preview: async () => {
        throw new ToolFailure("Text not found in a.txt: read it first", { code: "ENOTEXT" });
      },
    });
    const model = replies(called({ name: "change" }), said("Done"));
    const { events } = await play(core({ model, tools: [change] }));
    expect(cases(events)).not.toContain("toolCallApprovalRequested");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.REJECTED, summary: "Text not found in a.txt: read it first" },
    ]);
    expect(ran).toEqual([]);
  });
});

describe("beside other calls", () => {
  test("a fast call ends, and a running one goes on, while another waits; then the run is suspended", async () => {
    const { ran, guarded: change } = guarded();
    let finish = (): void => {};
    const slow = tool("slow", () => new Promise((resolve) => (finish = () => resolve({}))));
    const model = replies(called({ name: "change" }, { name: "slow" }, { name: "fast" }), said("Done"));
    const busy = core({ model, tools: [change, slow, tool("fast")] });
    const { threadId } = await send(busy);
    const before = await until(busy, threadId, isCase("toolCallComplete"));
    expect(cases(before)).not.toContain("runSuspended");
    finish();
    const events = await until(busy, threadId, isCase("runSuspended"));
    expect(valuesOf(events, "toolCallComplete")).toHaveLength(2);
    const [question] = valuesOf(events, "toolCallApprovalRequested");
    await busy.toolCalls.answer(question!.toolCallId, yes(question!));
    const all = await end(busy, threadId);
    expect(ran).toHaveLength(1);
    expect(model.requests[1]!.messages.filter(({ role }) => role === "tool")).toHaveLength(3);
    checkLog(all);
  });

  test("an answer while others run: the call runs at once, and the run is never suspended", async () => {
    const { ran, guarded: change } = guarded();
    let finish = (): void => {};
    const slow = tool("slow", () => new Promise((resolve) => (finish = () => resolve({}))));
    const model = replies(called({ name: "change" }, { name: "slow" }), said("Done"));
    const busy = core({ model, tools: [change, slow] });
    const { threadId } = await send(busy);
    const asked = await until(busy, threadId, isCase("toolCallApprovalRequested"));
    const [question] = valuesOf(asked, "toolCallApprovalRequested");
    await busy.toolCalls.answer(question!.toolCallId, yes(question!));
    await until(busy, threadId, isCase("toolCallComplete"));
    expect(ran).toHaveLength(1);
    finish();
    const events = await end(busy, threadId);
    expect(cases(events)).not.toContain("runSuspended");
    checkLog(events);
  });

  test("several questions are answered one by one, in any order", async () => {
    const { ran, guarded: change } = guarded();
    const calls = [1, 2, 3].map((number) => ({ name: "change", input: { number } }));
    const model = replies(called(...calls), said("Done"));
    const busy = core({ model, tools: [change] });
    const { threadId } = await send(busy);
    const asked = valuesOf(await until(busy, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
    for (const question of [asked[2]!, asked[0]!]) {
      await busy.toolCalls.answer(question.toolCallId, yes(question));
      await until(busy, threadId, (event) => isCase("runSuspended")(event) && event.sequence > 0n);
    }
    await busy.toolCalls.answer(asked[1]!.toolCallId, no(asked[1]!));
    const events = await end(busy, threadId);
    expect(ran.map((input) => (input as { number: number }).number).sort()).toEqual([1, 3]);
    expect(model.requests[1]!.messages.filter(({ role }) => role === "tool")).toHaveLength(3);
    checkLog(events);
  });

  test("one after the other: what stands behind a waiting call waits too, also over a restart", async () => {
    const log = openMemoryLog();
    const { ran, guarded: change } = guarded();
    const after = tool("after");
    const options = create(RunOptionsSchema, { parallelToolCalls: false });
    const first = core({ log, model: replies(called({ name: "change" }, { name: "after" })), tools: [change, after] });
    const { threadId } = await send(first, { options });
    const suspended = await until(first, threadId, isCase("runSuspended"));
    expect(valuesOf(suspended, "toolCallStarted")).toEqual([]);
    await first.runs.close();
    const model = replies(said("Done"));
    const next = core({ log, model, tools: [change, after] });
    await recover(log, next.recordings);
    const [question] = valuesOf(suspended, "toolCallApprovalRequested");
    await next.toolCalls.answer(question!.toolCallId, yes(question!));
    const events = await end(next, threadId);
    expect(ran).toHaveLength(1);
    expect(valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.SUCCEEDED,
      ToolCallOutcome.SUCCEEDED,
    ]);
    checkLog(events);
  });

  test("a call that ends the run beside one that waits: the run ends when that one is answered", async () => {
    const { ran, guarded: change } = guarded();
    const stop = tool("stop", async () => ({ stopIteration: true }));
    const stopping = core({ model: replies(called({ name: "stop" }, { name: "change" })), tools: [stop, change] });
    const { threadId } = await send(stopping);
    const asked = await until(stopping, threadId, isCase("runSuspended"));
    const [question] = valuesOf(asked, "toolCallApprovalRequested");
    await stopping.toolCalls.answer(question!.toolCallId, yes(question!));
    const events = await end(stopping, threadId);
    expect(ran).toHaveLength(1);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ finishReason: "tool_stop" }]);
    checkLog(events);
  });
});

describe("called off while it waits", () => {
  test("the call alone: it is cancelled, and the run goes on", async () => {
    const { core, threadId, question, ran } = await asking();
    await core.toolCalls.cancel(question.toolCallId, "never mind");
    const events = await end(core, threadId);
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: never mind" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    checkLog(events);
  });

  test("the run: everything is cancelled", async () => {
    const { core, threadId, runId } = await asking();
    await core.threads.cancelRun(threadId, runId);
    const events = await end(core, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    checkLog(events);
  });

  test("in the same moment as an answer: one of them counts, and the call ends once", async () => {
    for (let round = 0; round < 100; round++) {
      const { guarded: change, ran } = guarded();
      let finish = (): void => {};
      const slow = tool("slow", () => new Promise((resolve) => (finish = () => resolve({}))));
      const model = replies(called({ name: "change" }, { name: "slow" }), said("Done"));
      const busy = core({ model, tools: [change, slow] });
      const { threadId } = await send(busy);
      const asked = await until(busy, threadId, isCase("toolCallApprovalRequested"));
      const [question] = valuesOf(asked, "toolCallApprovalRequested");
      const answer = round % 2 ? yes(question!) : no(question!);
      const race = [
        () => busy.toolCalls.cancel(question!.toolCallId, "never mind"),
        () => busy.toolCalls.answer(question!.toolCallId, answer),
      ];
      await Promise.allSettled((round % 4 < 2 ? race : race.toReversed()).map((go) => go()));
      finish();
      const events = await end(busy, threadId);
      expect(ran.length).toBeLessThanOrEqual(1);
      expect(busy.errors).toEqual([]);
      checkLog(events);
    }
  });
});

describe("over restarts", () => {
  test("A3: twenty parked questions survive, and each is answered once", async () => {
    const log = openMemoryLog();
    const { ran, guarded: change } = guarded();
    const model = {
      name: "test:model",
      async *stream({ messages }: { messages: readonly { role: string }[] }) {
        yield* messages.at(-1)?.role === "user" ? called({ name: "change", input: { messages: 1 } }) : said("Done");
      },
    };
    const mortal = new MortalCore(log, { model, tools: [change] });
    const threadIds: string[] = [];
    for (let count = 0; count < 20; count++) threadIds.push((await send(mortal.core)).threadId);
    for (const threadId of threadIds) await until(mortal.core, threadId, isCase("runSuspended"));
    await mortal.dieAndRestart("before the write");
    await mortal.restart();
    const waiting = await mortal.core.toolCalls.approvals({ threadId: "", pageSize: 100, after: "" });
    expect(waiting.map(({ threadId }) => threadId).sort()).toEqual(threadIds.toSorted());
    for (const [index, { id, approval }] of waiting.entries())
      await mortal.core.toolCalls.answer(id, index % 2 ? yes(approval!) : no(approval!));
    for (const threadId of threadIds) checkLog(await end(mortal.core, threadId));
    expect(ran).toHaveLength(10);
    mortal.close();
    expect(mortal.errors).toEqual([]);
  });

  test("a yes whose process died before it acted on it still counts, once", async () => {
    const log = openMemoryLog();
    const { ran, guarded: change } = guarded();
    const model = replies(called({ name: "change" }), said("Done"));
    const mortal = new MortalCore(log, { model, tools: [change] });
    const { threadId } = await send(mortal.core);
    const asked = await until(mortal.core, threadId, isCase("runSuspended"));
    const [question] = valuesOf(asked, "toolCallApprovalRequested");
    void mortal.core.toolCalls.answer(question!.toolCallId, yes(question!)).catch(() => {});
    await mortal.dieAndRestart("after the write");
    const events = await end(mortal.core, threadId);
    expect(ran).toHaveLength(1);
    expect(valuesOf(events, "toolCallApprovalResolved")).toHaveLength(1);
    checkLog(events);
    mortal.close();
  });

  test("A2: a yes that was not acted on before its time was up is none any more", async () => {
    const log = openMemoryLog();
    const { ran, guarded: change } = guarded();
    const model = replies(called({ name: "change" }), said("Done"));
    const mortal = new MortalCore(log, { model, tools: [change], policy: { approvalTimeoutMs: 60_000 } });
    const { threadId } = await send(mortal.core);
    const asked = await until(mortal.core, threadId, isCase("runSuspended"));
    const [question] = valuesOf(asked, "toolCallApprovalRequested");
    void mortal.core.toolCalls.answer(question!.toolCallId, yes(question!)).catch(() => {});
    const restarted = mortal.dieAndRestart("after the write");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
    await restarted;
    const events = await end(mortal.core, threadId);
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DENIED, error: { kind: "approval_expired" } },
    ]);
    checkLog(events);
    mortal.close();
  });

  test("a question whose time ran out while the server was away is denied at its start", async () => {
    const log = openMemoryLog();
    const { core: first, threadId } = await asking({ log, policy: { approvalTimeoutMs: 1 } });
    await first.runs.close();
    const next = core({ log, model: replies(said("Done")), tools: [guarded().guarded] });
    await recover(log, next.recordings);
    const events = await end(next, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.DENIED }]);
    checkLog(events);
  });

  test("a server that stops while a call waits beside a running one leaves the question open", async () => {
    const log = openMemoryLog();
    const { ran, guarded: change } = guarded();
    const slow = tool(
      "slow",
      (_, { signal }) => new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const first = core({ log, model: replies(called({ name: "change" }, { name: "slow" })), tools: [change, slow] });
    const { threadId } = await send(first);
    const asked = await until(first, threadId, isCase("toolCallApprovalRequested"));
    await first.runs.close();
    const model = replies(said("Done"));
    const next = core({ log, model, tools: [change, slow] });
    await recover(log, next.recordings);
    const [question] = valuesOf(asked, "toolCallApprovalRequested");
    await next.toolCalls.answer(question!.toolCallId, yes(question!));
    const events = await end(next, threadId);
    expect(ran).toHaveLength(1);
    expect(valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.INTERRUPTED,
      ToolCallOutcome.SUCCEEDED,
    ]);
    checkLog(events);
  });

  test("A3: a server that ends its runs when it stops leaves those that only wait to the next one", async () => {
    const { core: first, threadId, question, ran } = await asking({ afterRestart: "end" });
    await first.runs.close();
    const { guarded: change, ran: later } = guarded();
    const passing = core({ log: first.log, tools: [change], afterRestart: "end" });
    await recover(first.log, passing.recordings);
    await expect(passing.toolCalls.answer(question.toolCallId, yes(question))).rejects.toMatchObject({
      code: "model_not_offered",
    });
    const next = core({ log: first.log, model: replies(said("Done")), tools: [change], afterRestart: "end" });
    await recover(first.log, next.recordings);
    await next.toolCalls.answer(question.toolCallId, yes(question));
    const events = await end(next, threadId);
    expect([...ran, ...later]).toHaveLength(1);
    checkLog(events);
  });
});

test("the time that a run waits does not count against its limit", async () => {
  const log = openMemoryLog();
  const { core: first, threadId, question, ran } = await asking({ log, defaults: { timeLimitMs: 60_000 } });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_000_000 });
  await first.toolCalls.answer(question.toolCallId, yes(question));
  const events = await end(first, threadId);
  expect(ran).toHaveLength(1);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
});

afterEach(() => {
  vi.useRealTimers();
});

test("the questions of all threads are listed by their age, page by page, and of one thread alone", async () => {
  const log = openMemoryLog();
  const { guarded: change } = guarded();
  const model = {
    name: "test:model",
    stream: async function* () {
      yield* called({ name: "change" });
    },
  };
  const many = core({ log, model, tools: [change] });
  const threadIds: string[] = [];
  for (let count = 0; count < 5; count++) {
    const { threadId } = await send(many);
    await until(many, threadId, isCase("runSuspended"));
    threadIds.push(threadId);
  }
  const all = await many.toolCalls.approvals({ threadId: "", pageSize: 50, after: "" });
  expect(all).toHaveLength(5);
  const times = all.map(({ approval }) => Number(approval!.requestTime!.seconds) * 1e9 + approval!.requestTime!.nanos);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const [one] = await many.toolCalls.approvals({ threadId: threadIds[3]!, pageSize: 50, after: "" });
  expect(one).toMatchObject({ threadId: threadIds[3], state: ToolCallState.AWAITING_APPROVAL });
});

// Calls that need a yes: who is asked, with what, and what becomes of them. A1: none of them runs before the yes.
import { describe, expect, test } from "vitest";
import type { Answer, Asker, Question } from "../../src/executor/questions.js";
import { ApprovalDecision, ToolCallOutcome } from "../../src/thread/schema.js";
import { ToolFailure } from "../../src/tool/tool.js";
import { called, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { useBenches } from "./executor-bench.js";

const open = useBenches();

/** Somebody who is asked, and answers when the test says so. */
function person() {
  const questions: Question[] = [];
  const waiting: { resolve(answer: Answer): void; signal: AbortSignal }[] = [];
  let wake = (): void => {};
  const asker: Asker = {
    kind: "person",
    ask: (question, signal) =>
      new Promise((resolve, reject) => {
        questions.push(question);
        waiting.push({ resolve, signal });
        signal.addEventListener("abort", () => reject(signal.reason));
        wake();
      }),
  };
  const asked = async (count = 1): Promise<Question> => {
    while (questions.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return questions[count - 1]!;
  };
  const answer = (isAllowed: boolean, reason = ""): void => waiting.at(-1)!.resolve({ isAllowed, reason });
  return { asker, asked, answer, questions, signal: () => waiting.at(-1)!.signal };
}

/** Its preview is what the test says it is. */
function writer(extra: { preview?: () => string } = {}) {
  let ran = 0;
  const write = tool(
    "write",
    async () => {
      ran++;
      return {};
    },
    {
      kind: "edit",
      preview: async () => ({ mediaType: "text/x-diff", data: extra.preview?.() ?? "+ a line\n" }),
    },
  );
  return { write, ran: () => ran };
}

const model = () => replies(called({ name: "write", input: { path: "a" } }), said("Done."));

describe("where the server asks", () => {
  test("the executor shows what would happen here, and its yes lets the call run", async () => {
    const { write, ran } = writer();
    const someone = person();
    const { core } = await open({ model: model(), here: [write], executor: { asker: someone.asker } });
    const { threadId } = await send(core);
    const question = await someone.asked();
    expect(question).toMatchObject({
      call: { toolName: "write", threadId },
      why: "Policy asks before files are changed",
      preview: { mediaType: "text/x-diff", data: "+ a line\n" },
      input: '{"path":"a"}',
    });
    expect(ran()).toBe(0);
    someone.answer(true);
    const events = await until(core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallApprovalResolved")).toMatchObject([
      { decision: ApprovalDecision.ALLOWED, resolvedBy: "somebody" },
    ]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    expect(ran()).toBe(1);
    expect(someone.questions).toHaveLength(1);
  });

  test("a no is the answer, with its reason", async () => {
    const { write, ran } = writer();
    const someone = person();
    const { core } = await open({ model: model(), here: [write], executor: { asker: someone.asker } });
    const { threadId } = await send(core);
    await someone.asked();
    someone.answer(false, "not now");
    const events = await until(core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DENIED, summary: "Denied: not now" },
    ]);
    expect(ran()).toBe(0);
  });

  test("what would fail here is not asked for: it is denied with what is wrong", async () => {
    const someone = person();
    const write = tool("write", async () => ({}), {
      kind: "edit",
      preview: () => Promise.reject(new ToolFailure("There is no file a")),
    });
    const { core } = await open({ model: model(), here: [write], executor: { asker: someone.asker } });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ summary: "Denied: There is no file a" }]);
    expect(someone.questions).toEqual([]);
  });

  test("an answer from elsewhere takes the question away", async () => {
    const { write } = writer();
    const someone = person();
    const { core } = await open({ model: model(), here: [write], executor: { asker: someone.asker } });
    const { threadId } = await send(core);
    const { call } = await someone.asked();
    const { call: asked } = await core.toolCalls.get(call.toolCallId);
    const sha256 = asked.approval!.approvalSha256;
    const answer = { decision: ApprovalDecision.ALLOWED as const, reason: "", resolvedBy: "another", sha256 };
    await core.toolCalls.answer(call.toolCallId, answer);
    await until(core, threadId, isCase("runCompleted"));
    expect(someone.signal().aborted).toBe(true);
    expect(someone.questions).toHaveLength(1);
  });

  test("A2: a yes is for what was shown: where that has changed, nothing runs", async () => {
    let shown = 0;
    const { write, ran } = writer({ preview: () => `+ line ${++shown}\n` });
    const someone = person();
    const { core } = await open({ model: model(), here: [write], executor: { asker: someone.asker } });
    const { threadId } = await send(core);
    await someone.asked();
    someone.answer(true);
    const events = await until(core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.FAILED, error: { kind: "approval_changed" } },
    ]);
    expect(ran()).toBe(0);
  });

  test("--yes says yes to all of them, and nobody is asked", async () => {
    const { write, ran } = writer();
    const { core } = await open({ model: model(), here: [write], executor: { asker: { kind: "yes" } } });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    expect(ran()).toBe(1);
  });

  test("with nobody to ask, the question waits for somebody else", async () => {
    const { write } = writer();
    const bench = await open({ model: model(), here: [write] });
    const { threadId } = await send(bench.core);
    await bench.until("unanswered");
    expect(await bench.core.threads.get(threadId)).toMatchObject({ awaitingApprovals: 1 });
  });
});

describe("where only the executor's own policy asks", () => {
  const allowed = { policy: { policy: { write: "allow" as const } } };

  test("it asks before it claims", async () => {
    const { write, ran } = writer();
    const someone = person();
    const { core } = await open({ model: model(), here: [write], ...allowed, executor: { asker: someone.asker } });
    const { threadId } = await send(core);
    expect(await someone.asked()).toMatchObject({ why: "The policy of this executor asks first" });
    const before = await until(core, threadId, isCase("runSuspended"));
    expect(valuesOf(before, "toolCallClaimed")).toEqual([]);
    someone.answer(true);
    const events = await until(core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
    expect(ran()).toBe(1);
    expect(someone.questions).toHaveLength(1);
  });

  test("a no calls the call off, with its reason", async () => {
    const { write, ran } = writer();
    const someone = person();
    const bench = await open({ model: model(), here: [write], ...allowed, executor: { asker: someone.asker } });
    const { threadId } = await send(bench.core);
    await someone.asked();
    someone.answer(false, "not here");
    const events = await until(bench.core, threadId, isCase("runCompleted"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: not here" },
    ]);
    expect(bench.of("refused")).toMatchObject([{ reason: "not here" }]);
    expect(ran()).toBe(0);
  });

  test("with nobody to ask it is not claimed, and that is told", async () => {
    const { write } = writer();
    const bench = await open({ model: model(), here: [write], ...allowed });
    const { threadId } = await send(bench.core);
    await bench.until("unanswered");
    expect(await bench.core.threads.get(threadId)).toMatchObject({ offeredToolCalls: 1 });
    expect(bench.methods).not.toContain("ClaimToolCall");
  });

  test("what it denies is offered as denied; where the server allows it, it is called off", async () => {
    const { write, ran } = writer();
    const denies = { policy: { policy: { write: "deny" as const }, trusted: false } };
    const denied = await open({ model: model(), here: [write], executor: denies });
    const first = await play(denied.core);
    expect(valuesOf(first.events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.DENIED }]);

    const { core } = await open({ model: model(), here: [write], ...allowed, executor: denies });
    const second = await play(core);
    expect(valuesOf(second.events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: The policy of this executor does not allow write" },
    ]);
    expect(ran()).toBe(0);
  });

  test("a folder that is trusted is not asked for", async () => {
    const { write, ran } = writer();
    const { core } = await open({
      model: model(),
      here: [write],
      executor: { policy: { policy: {}, trusted: true } },
    });
    const { events } = await play(core);
    expect(valuesOf(events, "toolCallApprovalRequested")).toEqual([]);
    expect(ran()).toBe(1);
  });
});

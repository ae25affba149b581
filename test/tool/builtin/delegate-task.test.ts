// delegate_task: what people and the model are told of a sub-agent, while it works and when it is over.
import { describe, expect, test } from "vitest";
import { delegateTask } from "../../../src/tool/builtin/delegate-task.js";
import type { SubProgress, SubRunEnd, SubTask } from "../../../src/tool/delegate/sub-runs.js";
import type { Phase } from "../../../src/tool/tool.js";
import { finished } from "../sample-sub-runs.js";
import { KeptContext } from "../support.js";

const input = { task: "review\nthe plan", prompt: "Read it." };

/** Also what it says while it works. */
class ToldContext extends KeptContext {
  readonly told: unknown[] = [];

  override progress(completed: number, _total?: number, message?: string): void {
    this.told.push([completed, message]);
  }

  override phase(phase?: Phase, message?: string): void {
    this.told.push([phase, message]);
  }
}

async function run(end: Partial<SubRunEnd>, news: readonly SubProgress[] = []) {
  const context = new ToldContext();
  let asked: SubTask | undefined;
  const tool = delegateTask({
    run: async (task) => {
      asked = task;
      for (const each of news) task.onProgress(each);
      return { ...finished, ...end };
    },
  });
  const { result, summary, isError } = await tool.run(input, context);
  return { asked, context, summary, isError, result, told: tool.toModel!(result) };
}

test("hands over the task, with the call that it is of", async () => {
  const { asked, context } = await run({});
  const { toolCallId, threadId, signal } = context;
  expect(asked).toMatchObject({ toolCallId, threadId, signal, title: input.task, prompt: input.prompt });
  expect(delegateTask({ run: async () => finished }).describe(input)).toBe("Delegating: review the plan");
});

test("finished: the model reads the last words", async () => {
  const { summary, isError, told, result } = await run({});
  expect({ summary, isError, told }).toEqual({
    summary: "Sub-agent finished (9 tool calls, 41 s)",
    isError: false,
    told: "The plan is sound.",
  });
  expect(result).toMatchObject({ childThreadId: finished.childThreadId, toolCalls: 9, stopped: "" });
});

describe("not finished", () => {
  test.each<[string, Partial<SubRunEnd>]>([
    ["Stopped: step limit", { outcome: "incomplete", finishReason: "step_limit" }],
    ["Stopped: time limit", { outcome: "incomplete", finishReason: "time_limit" }],
    ["Stopped: token limit", { outcome: "incomplete", finishReason: "token_limit" }],
    ["Stopped: reply too long", { outcome: "incomplete", finishReason: "max_tokens" }],
    ["Stopped: some reason", { outcome: "incomplete", finishReason: "some\nreason" }],
    ["Stopped: cut off", { outcome: "incomplete", finishReason: "" }],
    ["Stopped: constructor", { outcome: "incomplete", finishReason: "constructor" }],
    ["Sub-agent failed: no key", { outcome: "failed", errorMessage: "no\nkey" }],
    [
      "Sub-agent failed: Interrupted: the server stopped",
      { outcome: "interrupted", errorMessage: "Interrupted: the server stopped" },
    ],
    ["Sub-agent failed: interrupted", { outcome: "interrupted", errorMessage: "" }],
    ["Sub-agent was cancelled", { outcome: "cancelled" }],
  ])("%s", async (words, end) => {
    const { summary, isError, told, result } = await run(end);
    expect({ summary, isError }).toEqual({ summary: words, isError: true });
    expect(result).toMatchObject({ stopped: words, text: finished.text });
    expect(told).toBe(`${words}. Its last words were:\nThe plan is sound.`);
  });

  test("without a word", async () => {
    expect((await run({ text: "" })).told).toBe("The sub-agent said nothing.");
    expect((await run({ text: "", outcome: "cancelled" })).told).toBe(
      "Sub-agent was cancelled. The sub-agent said nothing.",
    );
  });
});

test("says how far it is, and in its phase when somebody is waited for", async () => {
  const { context } = await run({}, [
    { toolCalls: 0, summary: "Waiting for another task to end", isWaiting: false },
    { toolCalls: 1, summary: "Reading src/a.ts", isWaiting: false },
    { toolCalls: 2, summary: "", isWaiting: false },
    { toolCalls: 3, summary: "Running npm test", isWaiting: true },
    { toolCalls: 3, summary: "Running npm start", isWaiting: true },
    { toolCalls: 3, summary: "Running npm test", isWaiting: false },
  ]);
  expect(context.told).toEqual([
    [0, "Waiting for another task to end"],
    [1, "1 call, now: Reading src/a.ts"],
    [2, "2 calls"],
    [3, "3 calls, now: Running npm test"],
    ["waiting", "Waiting for a yes: Running npm test"],
    [3, "Waiting for a yes: Running npm start"],
    [undefined, "3 calls, now: Running npm test"],
  ]);
});

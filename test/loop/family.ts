// Agents that delegate: one model for all of them, which replies by the message that a thread began with.
import { expect } from "vitest";
import type { ThreadEvent } from "../../src/thread/event.js";
import { childThreadOf } from "../../src/thread/ids.js";
import { called, isCase, type ReplyScript, type TestModel, until, valuesOf } from "../support/agent.js";
import { type Core, storedEvents } from "../support/core.js";

/** Each thread's replies in turn, by its first message. */
export function family(scripts: Readonly<Record<string, readonly ReplyScript[]>>): TestModel {
  const requests: TestModel["requests"] = [];
  return {
    name: "test:family",
    requests,
    async *stream(request, signal) {
      requests.push(request);
      const [first] = request.messages;
      const script = scripts[first?.text ?? ""]?.[request.messages.filter(({ role }) => role === "assistant").length];
      if (!script) throw new Error(`There is no such reply to ${first?.text}`);
      yield* typeof script === "function" ? script(request, signal) : script;
    },
  };
}

/** A reply that delegates each of the tasks. */
export const delegated = (...prompts: readonly string[]) =>
  called(...prompts.map((prompt) => ({ name: "delegate_task", input: { task: `do ${prompt}`, prompt } })));

/** The thread of the first task, once it is named. */
export async function childOf(core: Core, threadId: string): Promise<{ callId: string; childId: string }> {
  const events = await until(core, threadId, isCase("toolCallStarted"));
  const created = valuesOf(events, "toolCallCreated").find(({ childThreadId }) => childThreadId !== "")!;
  expect(created.childThreadId).toBe(childThreadOf(created.toolCallId));
  return { callId: created.toolCallId, childId: created.childThreadId };
}

/** The same, when its run has come to an event. */
export async function childAt(
  core: Core,
  threadId: string,
  isDue: (event: ThreadEvent) => boolean,
): Promise<{ callId: string; childId: string; runId: string; events: readonly ThreadEvent[] }> {
  const child = await childOf(core, threadId);
  // Created a moment after its call has started.
  await core.log.waitBeyond({ tenant: "default", threadId: child.childId as never }, 0n, new AbortController().signal);
  const events = await until(core, child.childId, isDue);
  return { ...child, runId: events[0]!.runId, events };
}

export const ends = (core: Core, threadId: string): Promise<readonly ThreadEvent[]> =>
  until(core, threadId, isCase("runCompleted"));

/** Every thread below, and how its run ended. */
export async function below(core: Core, events: readonly ThreadEvent[]): Promise<(readonly ThreadEvent[])[]> {
  const all: (readonly ThreadEvent[])[] = [];
  for (const { childThreadId } of valuesOf(events, "toolCallCreated")) {
    if (childThreadId === "") continue;
    const child = await storedEvents(core, childThreadId);
    all.push(child, ...(await below(core, child)));
  }
  return all;
}

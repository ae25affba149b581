// A real server whose agents delegate, killed and stopped in the middle: whoever follows the threads sees both logs end whole.
import { expect, test } from "vitest";
import { ThreadState as WireThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { readOffline } from "../../src/compose.js";
import type { Script, ScriptEvent } from "../../src/model/script.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { Subscribers } from "../fixtures/engine/subscribers.js";
import { checkLog } from "../loop/log-rules.js";
import { valuesOf } from "../support/agent.js";
import { type Clients, grpcClients } from "../support/clients.js";
import { storedEvents } from "../support/core.js";

const delegate = (prompt: string): ScriptEvent => ({
  toolCall: { name: "delegate_task", input: { task: `do ${prompt}`, prompt } },
});
const work = (name: string, busyMs: number): ScriptEvent => ({
  toolCall: { name: "leave_trace", input: { work: name, busyMs } },
});
const says = (text: string) => ({ events: [{ text }] });

/** Two tasks at once, one of which delegates again; each is busy for a while. */
const family = (busyMs: number): Script => ({
  turns: [
    { user: { exact: "go" }, replies: [{ events: [delegate("left"), delegate("right")] }, says("All done.")] },
    { user: { exact: "left" }, replies: [{ events: [work("left", busyMs)] }, says("Left is done.")] },
    {
      user: { exact: "right" },
      replies: [{ events: [work("right", 75), delegate("deep")] }, says("Right is done.")],
    },
    { user: { exact: "deep" }, replies: [{ events: [work("deep", busyMs)] }, says("Deep is done.")] },
  ],
});

/** Longer than it takes to stop the server. */
const longMs = 10_000;

const useServer = useAgentServers();

interface Begun {
  readonly clients: Clients;
  readonly subscribers: Subscribers;
  readonly threadId: string;
  readonly runId: string;
}

async function begin(server: AgentServer): Promise<Begun> {
  const clients = grpcClients(server.url);
  const threadId = (await clients.threads.createThread({})).thread!.id;
  const subscribers = new Subscribers();
  subscribers.follow(clients.threads, threadId);
  const { runId } = await clients.threads.sendMessage({ threadId, requestId: newId(), text: "go" });
  return { clients, subscribers, threadId, runId };
}

/** Follows the threads of the tasks that a thread has delegated, once they are there. */
async function followBelow({ clients, subscribers }: Begun, threadId: string, count: number): Promise<string[]> {
  const isTold = (callId: string): boolean =>
    valuesOf(subscribers.of(threadId), "toolCallProgress").some(
      ({ toolCallId, completed }) => toolCallId === callId && completed,
    );
  const delegating = () =>
    valuesOf(subscribers.of(threadId), "toolCallCreated").filter(({ childThreadId }) => childThreadId);
  await subscribers.until(() => delegating().filter(({ toolCallId }) => isTold(toolCallId)).length === count);
  const below = delegating().map(({ childThreadId }) => childThreadId);
  for (const id of below) subscribers.follow(clients.threads, id);
  return below;
}

/** All threads of the family, the uppermost first, the deepest last. */
async function followAll(begun: Begun): Promise<string[]> {
  const [left, right] = (await followBelow(begun, begun.threadId, 2)) as [string, string];
  const [deep] = (await followBelow(begun, right, 1)) as [string];
  return [begun.threadId, left, right, deep];
}

const isOver = (events: readonly ThreadEvent[]): boolean => events.at(-1)?.payload.case === "runCompleted";
const outcomesOf = (events: readonly ThreadEvent[]) =>
  valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome);

/** Each log is whole, and both sides name each other. */
async function checkFamily({ clients, subscribers }: Begun, threads: readonly string[]): Promise<void> {
  await subscribers.until(() => threads.every((id) => isOver(subscribers.of(id))));
  const calls = threads.flatMap((id) => valuesOf(subscribers.of(id), "toolCallCreated"));
  for (const id of threads) {
    const events = subscribers.of(id);
    checkLog(events);
    const { thread } = await clients.threads.getThread({ threadId: id });
    expect(thread).toMatchObject({ state: WireThreadState.IDLE, openToolCalls: 0 });
    const above = calls.find(({ childThreadId }) => childThreadId === id);
    expect(thread!.parentToolCallId).toBe(above?.toolCallId ?? "");
    for (const call of valuesOf(events, "toolCallCreated")) expect(call.parentToolCallId).toBe(above?.toolCallId ?? "");
  }
}

test("tasks at once and two deep: their words come up, level by level", { timeout: 30_000 }, async () => {
  const server = await (await useServer({ script: family(300) })).start();
  const begun = await begin(server);
  const threads = await followAll(begun);
  await checkFamily(begun, threads);
  const { subscribers } = begun;
  for (const id of threads)
    expect(valuesOf(subscribers.of(id), "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  const [call] = valuesOf(subscribers.of(threads[2]!), "toolCallComplete").filter(
    ({ toolName }) => toolName === "delegate_task",
  );
  expect(call!.summary).toMatch(/^Sub-agent finished \(1 tool call, \d+ m?s\)$/);
  const { contents } = await begun.clients.toolCalls.getToolCall({ toolCallId: call!.toolCallId });
  const told = contents.find(({ info }) => info?.contentId === "model");
  expect(Buffer.from(told!.data).toString()).toBe("Deep is done.");
  await subscribers.leave();
});

test.each([1, 12, 30])(
  "T1: kill -9 %d entries later: both logs end whole, and the run goes on",
  { timeout: 60_000 },
  async (entries) => {
    const server = await (await useServer({ script: family(longMs), agent: { afterRestart: "continue" } })).start();
    const begun = await begin(server);
    const { subscribers } = begun;
    const threads = await followAll(begun);
    const killAt = subscribers.seen + entries;
    await subscribers.until(() => subscribers.seen >= killAt);
    await server.kill();
    await server.start();
    await checkFamily(begun, threads);
    const [above, ...below] = threads.map((id) => subscribers.of(id));
    expect(valuesOf(above!, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(outcomesOf(above!)).toContain(ToolCallOutcome.INTERRUPTED);
    for (const events of below)
      expect(valuesOf(events, "runCompleted")).toMatchObject([
        { outcome: expect.toSatisfy(isOneOf(RunOutcome.INTERRUPTED, RunOutcome.SUCCEEDED)) },
      ]);
    expect(below.some((events) => valuesOf(events, "runCompleted")[0]!.outcome === RunOutcome.INTERRUPTED)).toBe(true);
    expect(server.log()).not.toMatch(/"level":"?(?:error|50)/);
    await subscribers.leave();
  },
);

const isOneOf =
  (...outcomes: readonly RunOutcome[]) =>
  (outcome: RunOutcome): boolean =>
    outcomes.includes(outcome);

test("a server that stops ends the runs below, and leaves the uppermost one for its next start", {
  timeout: 60_000,
}, async () => {
  const server = await (await useServer({ script: family(longMs), agent: { afterRestart: "continue" } })).start();
  const begun = await begin(server);
  const threads = await followAll(begun);
  expect(await server.stop()).toBe(0);
  const offline = await readOffline(server.dataDir);
  const left = await Promise.all(threads.map((id) => storedEvents(offline, id)));
  await offline.close();
  expect(left.map(isOver)).toEqual([false, true, true, true]);
  expect(outcomesOf(left[0]!)).toEqual([ToolCallOutcome.INTERRUPTED, ToolCallOutcome.INTERRUPTED]);
  await server.start();
  await checkFamily(begun, threads);
  await begun.subscribers.leave();
});

test("a question of a sub-agent does not outlive the server that asked it", { timeout: 60_000 }, async () => {
  const server = await (
    await useServer({ script: family(longMs), agent: { policy: { leave_trace: "ask" }, afterRestart: "continue" } })
  ).start();
  const begun = await begin(server);
  const { clients, subscribers } = begun;
  const threads = await followAll(begun);
  await subscribers.until(() =>
    threads.slice(1).every((id) => valuesOf(subscribers.of(id), "toolCallApprovalRequested").length > 0),
  );
  const { toolCalls: waiting } = await clients.toolCalls.listApprovals({});
  expect(waiting.map(({ threadId }) => threadId).sort()).toEqual(threads.slice(1).sort());
  await server.kill();
  await server.start();
  await checkFamily(begun, threads);
  expect((await clients.toolCalls.listApprovals({})).toolCalls).toEqual([]);
  for (const id of threads.slice(1))
    expect(valuesOf(subscribers.of(id), "runCompleted")).toMatchObject([{ outcome: RunOutcome.INTERRUPTED }]);
  await subscribers.leave();
});

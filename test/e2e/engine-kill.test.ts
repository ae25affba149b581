// kill -9 of a server that runs agents on many threads, over and over: after each restart every call has one end, nothing was
// done twice, the runs go on, and whoever follows a thread has seen every entry of it once.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { equals } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { ThreadState as WireThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { isResumable } from "../../src/client/resumable.js";
import { readOffline } from "../../src/compose.js";
import type { Script, ScriptEvent, ScriptTurn } from "../../src/model/script.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { ThreadState } from "../../src/thread/state.js";
import type { CallState } from "../../src/thread/tool-call.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { seeded } from "../fixtures/engine/seeded.js";
import { Subscribers } from "../fixtures/engine/subscribers.js";
import { valuesOf } from "../support/agent.js";
import { type Clients, grpcClients } from "../support/clients.js";
import { storedEvents } from "../support/core.js";

const threadCount = 50;
const callsPerReply = 4;
/** About as many entries as a round would have, were nobody to kill the server: it dies before them. */
const entriesPerRound = 4_200;
const variantCount = 50;
const variant = (number: number): string => `variant ${number}`;
const answer = "All of it is done.";

/** What the model does with a message: calls that take a while, calls that are quick, an answer; all with pauses inside. */
const script: Script = { turns: Array.from({ length: variantCount }, (_, index) => turn(index + 1)) };

function turn(number: number): ScriptTurn {
  const chance = seeded(1_000 + number);
  const pause = (): ScriptEvent => ({ delayMs: chance.whole(0, 30) });
  const calls = (reply: number, mostMs: number): ScriptEvent[] => {
    const begun: ScriptEvent[] = [];
    const ended: ScriptEvent[] = [];
    for (let index = 0; index < callsPerReply; index++) {
      begun.push({ piece: { index, name: "leave_trace", input: `{"work":"reply-${reply}` } }, pause());
      const rest = `-call-${index}","busyMs":${chance.whole(0, mostMs)}}`;
      ended.push({ piece: { index, input: rest, isLast: true } }, pause());
    }
    return [...begun, ...ended];
  };
  // The model is told what came of its calls, also when nobody knows.
  const expectation = { lastTool: "*" };
  const [begin, end] = [answer.slice(0, 5), answer.slice(5)];
  return {
    user: { exact: variant(number) },
    replies: [
      { events: [{ text: "Let me begin." }, pause(), ...calls(1, 300)] },
      { expect: expectation, events: calls(2, 30) },
      { expect: expectation, events: [{ text: begin }, pause(), { text: end }, pause()] },
    ],
  };
}

const useServer = useAgentServers();

test("T1, T2, T4, L1, L4, S1: 20 kills amid 200 calls each: every call ends once, nothing is done twice, runs go on", {
  timeout: 420_000,
}, async () => {
  const server = await useServer({ script, agent: { afterRestart: "continue" } });
  const open = await playRounds(server, { rounds: 20, afterRestart: "continue" });
  // Otherwise the kills came where there was nothing to interrupt.
  expect(open.get("running")).toBeGreaterThan(500);
  expect(open.get("created")).toBeGreaterThan(0);
});

test("T1, T2, T4, L1, L4, S1: where runs do not go on after a restart, they end as interrupted", {
  timeout: 120_000,
}, async () => {
  const server = await useServer({ script, agent: { afterRestart: "end" } });
  const open = await playRounds(server, { rounds: 4, afterRestart: "end" });
  expect(open.get("running")).toBeGreaterThan(0);
});

interface Plan {
  readonly rounds: number;
  readonly afterRestart: "continue" | "end";
}

interface Round extends Plan {
  readonly server: AgentServer;
  readonly clients: Clients;
  readonly subscribers: Subscribers;
  readonly threads: readonly string[];
  /** Its number, from 0 on, and its seed. */
  readonly number: number;
}

/** Returns how many calls were open at the kills, by where they stood. */
async function playRounds(server: AgentServer, plan: Plan): Promise<ReadonlyMap<CallState, number>> {
  await server.start();
  const clients = grpcClients(server.url);
  const open = new Map<CallState, number>();
  for (let number = 0; number < plan.rounds; number++) {
    const creating = Array.from({ length: threadCount }, () => clients.threads.createThread({}));
    const threads = (await Promise.all(creating)).map(({ thread }) => thread!.id);
    const subscribers = new Subscribers();
    for (const threadId of threads) subscribers.follow(clients.threads, threadId);
    const atKill = await playRound({ ...plan, server, clients, subscribers, threads, number });
    await subscribers.leave();
    for (const { openCalls } of atKill)
      for (const state of openCalls.values()) open.set(state, (open.get(state) ?? 0) + 1);
  }
  return open;
}

async function playRound(round: Round): Promise<readonly AtKill[]> {
  const { server, clients, subscribers, threads, number } = round;
  const chance = seeded(number);
  let up = (): void => {};
  const restarted = new Promise<void>((resolve) => {
    up = resolve;
  });
  const sending = Promise.all(
    threads.map((threadId) => send(clients, { threadId, text: variant(chance.whole(1, variantCount)) }, restarted)),
  );
  // Not by the clock: each round dies in a part of the work of its own, the first while messages are still being sent.
  const part = Math.floor(entriesPerRound / round.rounds);
  const killAt = number * part + chance.whole(1, part);
  await subscribers.until(() => subscribers.seen >= killAt || subscribers.endedRuns === threadCount);
  await server.kill();
  const atKill = await readAtKill(round);
  await server.start();
  up();
  const runIds = await sending;
  await subscribers.until(() => runIds.every((runId) => subscribers.hasEnded(runId)));
  for (const left of atKill) checkThread(round, left);
  await checkTraces(round);
  await checkIdle(round);
  return atKill;
}

/** Until it is answered, each time with the same request id: somewhere in between the server dies. */
async function send(
  { threads }: Clients,
  message: { threadId: string; text: string },
  restarted: Promise<void>,
): Promise<string> {
  const request = { ...message, requestId: newId() };
  try {
    return (await threads.sendMessage(request)).runId;
  } catch (error) {
    if (!isResumable(ConnectError.from(error))) throw error;
    await restarted;
    return (await threads.sendMessage(request)).runId;
  }
}

/** One thread as the kill left it. */
interface AtKill {
  readonly threadId: string;
  readonly events: readonly ThreadEvent[];
  readonly isRunOpen: boolean;
  readonly openCalls: ReadonlyMap<string, CallState>;
}

/** The log and the traces between the kill and the restart: nobody has looked after them yet. */
async function readAtKill({ server, subscribers, threads }: Round): Promise<readonly AtKill[]> {
  const offline = await readOffline(server.dataDir);
  try {
    const reading = threads.map(async (threadId): Promise<AtKill> => {
      const events = await storedEvents(offline, threadId);
      const { run, calls } = folded(events);
      const openCalls = new Map(Array.from(calls.values(), ({ call, state }) => [call.id, state] as const));
      return { threadId, events, isRunOpen: run !== undefined, openCalls };
    });
    const atKill = await Promise.all(reading);
    // L4: what anybody was shown is on the disk.
    const isShort = atKill.filter(({ threadId, events }) => events.length < subscribers.of(threadId).length);
    expect(isShort).toEqual([]);
    // T4: Started is on the disk before the first effect is.
    const started = new Set(atKill.flatMap(({ events }) => startedIds(events)));
    const traces = await readTraces(server, threads);
    expect(traces.filter(({ id }) => !started.has(id))).toEqual([]);
    return atKill;
  } finally {
    await offline.close();
  }
}

/** T2: each entry is allowed where things stand. */
function folded(events: readonly ThreadEvent[]): ThreadState {
  const state = new ThreadState();
  for (const event of events) {
    const violation = state.violation(event);
    if (violation) expect(violation, `entry ${event.sequence}`).toBeUndefined();
    state.apply(event);
  }
  return state;
}

const startedIds = (events: readonly ThreadEvent[]): string[] =>
  valuesOf(events, "toolCallStarted").map(({ toolCallId }) => toolCallId);

/** A thread as its subscriber saw it. */
function checkThread({ subscribers, afterRestart }: Round, atKill: AtKill): void {
  const events = subscribers.of(atKill.threadId);
  expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index + 1));
  // L1: what the kill left has not changed.
  const isAsLeft = atKill.events.every((left, index) => equals(StreamThreadEventsResponseSchema, left, events[index]!));
  expect(isAsLeft).toBe(true);
  const { run, calls } = folded(events);
  expect([run, calls.size]).toEqual([undefined, 0]);

  const created = valuesOf(events, "toolCallCreated").map(({ toolCallId }) => toolCallId);
  const completes = new Map(valuesOf(events, "toolCallComplete").map((complete) => [complete.toolCallId, complete]));
  expect(valuesOf(events, "toolCallComplete")).toHaveLength(created.length);
  for (const id of created) {
    const state = atKill.openCalls.get(id);
    expect(completes.get(id)).toMatchObject(state === undefined ? succeeded : interrupted(state));
  }
  const isCutOff = afterRestart === "end" && atKill.isRunOpen;
  expect(valuesOf(events, "runCompleted")).toMatchObject([
    { outcome: isCutOff ? RunOutcome.INTERRUPTED : RunOutcome.SUCCEEDED },
  ]);
  if (!isCutOff) expect(lastMessage(events)).toBe(answer);
}

function lastMessage(events: readonly ThreadEvent[]): string {
  const last = valuesOf(events, "messageCreated").at(-1)?.messageId;
  const deltas = valuesOf(events, "messageDelta").filter(({ messageId }) => messageId === last);
  return deltas.map(({ text }) => text).join("");
}

const succeeded = { outcome: ToolCallOutcome.SUCCEEDED };

const interrupted = (state: CallState) => ({
  outcome: ToolCallOutcome.INTERRUPTED,
  summary: "Interrupted: the server stopped",
  error: {
    kind: "server_stopped",
    message: expect.stringContaining(state === "running" ? "effect is not known" : "It had not started"),
  },
});

interface Trace {
  readonly id: string;
  /** The thread, and what the model asked for. */
  readonly work: string;
}

async function readTraces({ dir }: AgentServer, threads: readonly string[]): Promise<readonly Trace[]> {
  const text = await readFile(join(dir, "traces"), "utf8").catch(() => "");
  const traces = text.split("\n").map((line) => line.split(" ")) as [string, string | undefined][];
  const isHere = new Set(threads);
  return traces.flatMap(([id, work = ""]) => (isHere.has(work.split("/")[0]!) ? [{ id, work }] : []));
}

/** Nothing was done twice: no call, and nothing that the model has asked for once. What succeeded was done. */
async function checkTraces({ server, subscribers, threads }: Round): Promise<void> {
  const traces = await readTraces(server, threads);
  const ids = new Set(traces.map(({ id }) => id));
  expect([ids.size, new Set(traces.map(({ work }) => work)).size]).toEqual([traces.length, traces.length]);
  const events = threads.flatMap((threadId) => subscribers.of(threadId));
  const started = new Set(startedIds(events));
  expect(traces.filter(({ id }) => !started.has(id))).toEqual([]);
  const done = valuesOf(events, "toolCallComplete").filter(({ success }) => success);
  expect(done.filter(({ toolCallId }) => !ids.has(toolCallId))).toEqual([]);
}

async function checkIdle({ clients, subscribers, threads }: Round): Promise<void> {
  const found = await Promise.all(threads.map((threadId) => clients.threads.getThread({ threadId })));
  for (const { thread } of found) {
    const headSequence = BigInt(subscribers.of(thread!.id).length);
    expect(thread).toMatchObject({ state: WireThreadState.IDLE, openToolCalls: 0, headSequence });
  }
}

// The engine over the end of its server: asked to stop, killed, and with a call that waits for a person.
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { Closing_Reason, type StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { ThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { startRun } from "../../src/loop/start-run.js";
import { Recorder } from "../../src/recorder/recorder.js";
import { RunRecorder } from "../../src/recorder/run-recorder.js";
import { keyOf } from "../../src/request-fields.js";
import { newId } from "../../src/thread/ids.js";
import { createRedactor } from "../../src/thread/redact.js";
import {
  ContentRole,
  RunOptionsSchema,
  RunOutcome,
  SuspendReason,
  ThreadDocumentSchema,
  ToolCallOutcome,
} from "../../src/thread/schema.js";
import { now } from "../../src/thread/time.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { useGate } from "../fixtures/engine/gate.js";
import { refusal, Session } from "../fixtures/engine/session.js";
import { cases, valuesOf } from "../support/agent.js";

const gate = useGate();
const useServer = useAgentServers();
const sessions: Session[] = [];
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
});

async function startServer(): Promise<{ server: AgentServer; session: Session }> {
  const server = await useServer({ script: "knocking.json", env: gate.env() });
  await server.start();
  return { server, session: openSession(server) };
}

function openSession(server: AgentServer): Session {
  const session = new Session(server.url);
  sessions.push(session);
  return session;
}

test("T1: a tool that forgets to wait for a promise of its own takes nothing with it", async () => {
  const call = { events: [{ toolCall: { name: "slip", input: {} } }] };
  const server = await useServer({ script: { replies: [call, { events: [{ text: "Done." }] }] } });
  await server.start();
  const session = openSession(server);
  const { threadId } = await session.start("Go");
  const events = await session.until(threadId, "runCompleted");
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ summary: "Did not fall", success: true }]);
  expect(server.log()).toContain("the floor is wet");
});

test("T1: asked to stop amid a call, the server ends the call, tells whoever watches, and goes on after its next start", async () => {
  const { server, session } = await startServer();
  const { threadId, runId } = await session.start("Let Tom in");
  await gate.knocked("Tom");
  const frames = session.clients.threads.streamThreadEvents({ threadId, follow: true })[Symbol.asyncIterator]();
  await skipTo(frames, "caughtUp");
  const stopping = server.stop();
  const live = await rest(frames);
  expect(await stopping).toBe(0);

  expect(live.at(-1)?.payload).toMatchObject({ case: "closing", value: { reason: Closing_Reason.SHUTDOWN } });
  expect(live.at(-2)?.payload).toMatchObject({
    case: "toolCallComplete",
    value: {
      outcome: ToolCallOutcome.INTERRUPTED,
      summary: "Interrupted: the server is stopping",
      error: { kind: "server_stopping" },
    },
  });
  await gate.left("Tom");
  expect(server.log().match(/"level":"(error|fatal)".*/g)).toBeNull();

  await server.start();
  const events = await session.until(threadId, "runCompleted");
  expectInterruptedOnce(events);
  expect(new Set(events.map((event) => event.runId))).toEqual(new Set([runId]));
});

test("T1, T4: killed amid a call: the call is not run again, the model is told that nobody knows, and the run goes on", async () => {
  const { server, session } = await startServer();
  const { threadId } = await session.start("Let Tom in");
  await gate.knocked("Tom");
  await session.until(threadId, "toolCallOutputDelta");
  await server.kill();
  await gate.left("Tom");
  await server.start();
  const events = await session.until(threadId, "runCompleted");
  expectInterruptedOnce(events);
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([
    { error: { kind: "server_stopped", message: expect.stringContaining("Whether it had an effect is not known") } },
  ]);
});

/** The script's second reply expects to be told of it: the run succeeds only if the model was. */
function expectInterruptedOnce(events: readonly StreamThreadEventsResponse[]): void {
  expect(valuesOf(events, "toolCallCreated")).toHaveLength(1);
  expect(valuesOf(events, "toolCallStarted")).toHaveLength(1);
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.INTERRUPTED }]);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED, finishReason: "stop" }]);
  expect(valuesOf(events, "messageDelta").at(-1)).toMatchObject({ text: "Nobody knows whether Tom is in." });
}

async function skipTo(stream: AsyncIterator<StreamThreadEventsResponse>, name: string): Promise<void> {
  for (;;) {
    const next = await stream.next();
    if (next.done) throw new Error(`the stream ended without ${name}`);
    if (next.value.payload.case === name) return;
  }
}

async function rest(stream: AsyncIterator<StreamThreadEventsResponse>): Promise<readonly StreamThreadEventsResponse[]> {
  const frames: StreamThreadEventsResponse[] = [];
  for (let next = await stream.next(); !next.done; next = await stream.next()) frames.push(next.value);
  return frames;
}

describe("a call that waits for a person", () => {
  const text = "Ask before you let Zoe in";

  /** What a server that died would have left: a run of Heddle's own whose only call waits for approval. */
  async function leaveParked({ dataDir, model }: AgentServer) {
    const log = await openLmdbLog({ dir: dataDir });
    const recorder = new Recorder(log, createRedactor({ secrets: [] }));
    const [threadId, toolCallId] = [newId(), newId()];
    const key = keyOf(threadId);
    const document = create(ThreadDocumentSchema, { createTime: now() });
    await log.create(key, toBinary(ThreadDocumentSchema, document));
    const options = create(RunOptionsSchema, { model, maxSteps: 10 });
    const { runId } = await recorder.write(key, (draft) =>
      startRun(draft, { requestId: newId(), text, options: undefined }, { options, modelName: model, isFull: false }),
    );
    const run = new RunRecorder(recorder, key, { runId });
    const data = Buffer.from('{"who":"Zoe"}');
    const body = { toolCallId, contentId: "input", role: ContentRole.INPUT, mediaType: "application/json", data };
    await run.record({ case: "toolCallCreated", value: { toolCallId, toolName: "knock" } });
    await run.record({ case: "toolCallInputCompleted", value: { toolCallId } }, { bodies: [body] });
    await run.record({ case: "toolCallApprovalRequested", value: { toolCallId, reason: "Zoe is a stranger" } });
    await run.note((draft) => draft.changeRun({ steps: 1 }));
    run.close();
    await log.close();
    return { threadId, runId, toolCallId };
  }

  async function startParked() {
    const server = await useServer({ script: "knocking.json", env: gate.env() });
    const parked = await leaveParked(server);
    await server.start();
    const session = openSession(server);
    session.watch(parked.threadId);
    await session.until(parked.threadId, "runSuspended");
    return { server, session, ...parked };
  }

  test("stays over restarts, its run suspended; called off, the run resumes and completes", async () => {
    const { server, session, threadId, runId, toolCallId } = await startParked();
    const suspended = { state: ThreadState.SUSPENDED, runId, openToolCalls: 1 };
    const { threads, toolCalls } = session.clients;
    expect((await threads.getThread({ threadId })).thread).toMatchObject(suspended);
    expect(await server.stop()).toBe(0);
    await server.start();
    expect((await threads.getThread({ threadId })).thread).toMatchObject(suspended);
    expect(await refusal(session.send(threadId, { text }))).toMatchObject({
      reason: "THREAD_BUSY",
      detail: { holderId: runId },
    });

    await toolCalls.cancelToolCall({ toolCallId, reason: "not today" });
    const events = await session.until(threadId, "runCompleted");
    expect(cases(events).slice(cases(events).indexOf("toolCallApprovalRequested"))).toEqual([
      "toolCallApprovalRequested",
      "runSuspended",
      "toolCallComplete",
      "runResumed",
      "messageCreated",
      "messageDelta",
      "messageCompleted",
      "runCompleted",
    ]);
    expect(valuesOf(events, "runSuspended")).toMatchObject([
      { reason: SuspendReason.APPROVAL, openToolCallIds: [toolCallId] },
    ]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { toolCallId, outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: not today" },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    expect(valuesOf(events, "messageDelta").at(-1)).toMatchObject({ text: "Then not." });
  });

  test("is called off with its run", async () => {
    const { session, threadId, runId } = await startParked();
    await session.clients.threads.cancelRun({ threadId, runId });
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    expect((await session.clients.threads.getThread({ threadId })).thread).toMatchObject({ state: ThreadState.IDLE });
  });
});

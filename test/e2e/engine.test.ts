// The engine as its clients meet it: a real server, a scripted model, an operator's tools, everything over gRPC.
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OutputStream, Role } from "../../gen/heddle/v1/event_pb.js";
import { newId } from "../../src/thread/ids.js";
import { RunOutcome, ToolCallOutcome, ToolCallPhase, ToolKind } from "../../src/thread/schema.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { useGate } from "../fixtures/engine/gate.js";
import { refusal, Session } from "../fixtures/engine/session.js";
import { cases, valuesOf } from "../support/agent.js";
import { RunScript } from "../support/scenario.js";
import { openProducer } from "./clients/producer.js";

const gate = useGate();
let server: AgentServer;
let session: Session;

beforeAll(async () => {
  server = await makeAgentServer({ script: "knocking.json", env: gate.env() });
  await server.start();
  session = new Session(server.url);
});
afterAll(async () => {
  await session.close();
  expect(await server.stop()).toBe(0);
  await server.remove();
});

test("T3: a message starts a run, and whoever watches sees all of it as it happens", async () => {
  const { threadId, runId } = await session.start("Let Ada in");
  await gate.knocked("Ada");
  // The tool waits at the gate: nothing of this can come later.
  await session.until(threadId, "toolCallOutputDelta");
  const live = await session.until(threadId, "toolCallProgress", 2);
  expect(valuesOf(live, "runStarted")).toMatchObject([{ model: server.model }]);
  expect(valuesOf(live, "messageCreated").map(({ role }) => role)).toEqual([Role.USER, Role.ASSISTANT]);
  expect(textOf(valuesOf(live, "reasoningDelta"))).toBe("There is a gate.");
  expect(textOf(valuesOf(live, "toolCallInputDelta"))).toBe('{"who":"Ada"}');
  const [created] = valuesOf(live, "toolCallCreated");
  const { toolCallId } = created!;
  expect(created).toMatchObject({ toolName: "knock", title: "Knock at the gate", kind: ToolKind.FETCH, attempt: 1 });
  expect(valuesOf(live, "toolCallStarted")).toMatchObject([{ toolCallId, summary: "Knocking for Ada" }]);
  expect(valuesOf(live, "toolCallProgress")).toMatchObject([
    { phase: ToolCallPhase.CONNECTING },
    { completed: 1, total: 2, message: "At the gate", startedSummary: "Knocking for Ada" },
  ]);
  expect(valuesOf(live, "toolCallOutputDelta")).toMatchObject([{ text: "Ada knocks\n", stream: OutputStream.STDOUT }]);
  expect(cases(live)).not.toContain("toolCallComplete");

  gate.open("Ada", "welcome");
  const events = await session.until(threadId, "runCompleted");
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => BigInt(index + 1)));
  expect(events.every((event) => event.threadId === threadId && event.runId === runId)).toBe(true);
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([
    {
      toolCallId,
      outcome: ToolCallOutcome.SUCCEEDED,
      success: true,
      summary: "Ada was let in: welcome",
      locations: [{ path: "/gate", line: 1 }],
      outputBytes: 11n,
    },
  ]);
  expect(textOf(valuesOf(events, "messageDelta"))).toBe("Let Ada inI will knock.She is in.");
  expect(events.at(-1)?.payload.value).toMatchObject({
    outcome: RunOutcome.SUCCEEDED,
    finishReason: "stop",
    usage: { inputTokens: 30n, outputTokens: 9n },
  });

  const { toolCall, contents } = await session.clients.toolCalls.getToolCall({ toolCallId });
  expect(toolCall).toMatchObject({ threadId, runId, providerCallId: "call_ada", outcome: ToolCallOutcome.SUCCEEDED });
  const bodies = contents.map(({ info, data }) => [info!.contentId, Buffer.from(data).toString()]);
  expect(Object.fromEntries(bodies)).toEqual({
    input: '{"who":"Ada"}',
    result: '{"answer":"welcome"}',
    model: '{"answer":"welcome"}',
  });
});

test("the same request again is the same run, also after a restart; another message with its id is refused", async () => {
  const threadId = await session.newThread();
  const message = { text: "Hello", requestId: "request 1" };
  const runIds = await Promise.all([session.send(threadId, message), session.send(threadId, message)]);
  const { length } = await session.until(threadId, "runCompleted");
  runIds.push(await session.send(threadId, message));
  expect(await server.stop()).toBe(0);
  await server.start();
  runIds.push(await session.send(threadId, message));
  expect(new Set(runIds)).toEqual(new Set([runIds[0]]));

  const reused = { code: "invalid_argument", reason: "REQUEST_ID_REUSED" };
  expect(await refusal(session.send(threadId, { ...message, text: "Hello?" }))).toMatchObject(reused);
  const options = { maxSteps: 2 };
  expect(await refusal(session.send(threadId, { ...message, options }))).toMatchObject(reused);
  const { thread } = await session.clients.threads.getThread({ threadId });
  expect(thread!.headSequence).toBe(BigInt(length));

  await session.send(threadId, { ...message, requestId: "request 2" });
  await session.until(threadId, "runCompleted", 2);
});

test("a message to a busy thread is refused with the run's id", async () => {
  const { threadId, runId } = await session.start("Let Tom in");
  expect(await refusal(session.send(threadId, { text: "Hello" }))).toMatchObject({
    code: "failed_precondition",
    reason: "THREAD_BUSY",
    detail: { kind: "KIND_RUN", holderId: runId },
  });
  const recording = session.clients.recorder.openRecording({ threadId, producer: "somebody else", takeOver: true });
  expect(await refusal(recording)).toMatchObject({ reason: "THREAD_BUSY", detail: { holderId: runId } });
  await session.clients.threads.cancelRun({ threadId, runId });
  await session.until(threadId, "runCompleted");
  await session.send(threadId, { text: "Hello" });
  await session.until(threadId, "runCompleted", 2);
});

describe("a message that asks for what cannot be", () => {
  const kib = 1024;
  const field = (name: string) => ({ reason: "INVALID_FIELD", detail: expect.objectContaining({ field: name }) });
  test.each([
    ["no text", { text: " \n" }, field("text")],
    ["too much text", { text: "x".repeat(300 * kib) }, field("text")],
    ["no request id", { requestId: "" }, field("request_id")],
    ["a request id on two lines", { requestId: "one\ntwo" }, field("request_id")],
    ["a request id that is too long", { requestId: "x".repeat(201) }, field("request_id")],
    ["a tool that is not there", { options: { allowedTools: ["knock", "fly"] } }, field("options.allowed_tools")],
    ["too many steps", { options: { maxSteps: 1001 } }, field("options.max_steps")],
    ["no time at all", { options: { timeLimit: durationFromMs(0) } }, field("options.time_limit")],
    ["too long instructions", { options: { instructions: "x".repeat(300 * kib) } }, field("options.instructions")],
    [
      "a tool to use that it may not use",
      { options: { allowedTools: ["knock"], toolChoice: { mode: 4, toolName: "repeat" } } },
      field("options.tool_choice.tool_name"),
    ],
    ["a model that is not offered", { options: { model: "openai:gpt-none" } }, { reason: "MODEL_NOT_OFFERED" }],
  ])("%s", async (_, wrong, expected) => {
    const threadId = await session.newThread();
    const refused = await refusal(session.send(threadId, { text: "Hello", ...wrong }));
    expect(refused).toMatchObject({ code: "invalid_argument", ...expected });
    const { thread } = await session.clients.threads.getThread({ threadId });
    expect(thread!.headSequence).toBe(0n);
  });

  test("of a thread that is not there", async () => {
    expect(await refusal(session.send(newId(), { text: "Hello" }))).toMatchObject({
      code: "not_found",
      reason: "THREAD_NOT_FOUND",
    });
  });
});

describe("called off", () => {
  test("T1: one call: its work stops, and the run goes on", async () => {
    const { threadId } = await session.start("Let Bob and Eve in");
    const [bob, eve] = await session.callIds(threadId, 2);
    await Promise.all([gate.knocked("Bob"), gate.knocked("Eve")]);
    await session.clients.toolCalls.cancelToolCall({ toolCallId: eve!, reason: "not Eve" });
    await gate.left("Eve");
    await session.until(threadId, "toolCallComplete");
    gate.open("Bob", "come in");
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { toolCallId: eve, outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: not Eve" },
      { toolCallId: bob, outcome: ToolCallOutcome.SUCCEEDED },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    for (const toolCallId of [bob!, eve!])
      expect(await refusal(session.clients.toolCalls.cancelToolCall({ toolCallId }))).toMatchObject({
        code: "failed_precondition",
        reason: "TOOL_CALL_OVER",
      });
  });

  test("T1: a run with its calls", async () => {
    const { threadId, runId } = await session.start("Let Bob and Eve in");
    await Promise.all([gate.knocked("Bob"), gate.knocked("Eve")]);
    await session.clients.threads.cancelRun({ threadId, runId });
    await Promise.all([gate.left("Bob"), gate.left("Eve")]);
    const events = await session.until(threadId, "runCompleted");
    expect(valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.CANCELLED,
      ToolCallOutcome.CANCELLED,
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    for (const gone of [runId, newId()])
      expect(await refusal(session.clients.threads.cancelRun({ threadId, runId: gone }))).toMatchObject({
        code: "not_found",
        reason: "RUN_NOT_FOUND",
      });
  });

  test("not what somebody else runs, and not what never was", async () => {
    const producer = await openProducer(session.clients);
    const run = new RunScript();
    const toolCallId = newId();
    await producer.record([
      run.started(),
      run.created(toolCallId),
      run.inputCompleted(toolCallId),
      run.callStarted(toolCallId),
    ]);
    const { toolCalls, threads } = session.clients;
    expect(await refusal(toolCalls.cancelToolCall({ toolCallId }))).toMatchObject({
      code: "failed_precondition",
      reason: "TOOL_CALL_NOT_OURS",
      message: expect.stringContaining("a test"),
    });
    expect(await refusal(threads.cancelRun({ threadId: producer.threadId, runId: run.runId }))).toMatchObject({
      reason: "RUN_NOT_FOUND",
    });
    expect(await refusal(toolCalls.cancelToolCall({ toolCallId: newId() }))).toMatchObject({
      code: "not_found",
      reason: "TOOL_CALL_NOT_FOUND",
    });
    await producer.close();
    expect(await refusal(toolCalls.cancelToolCall({ toolCallId }))).toMatchObject({ reason: "TOOL_CALL_OVER" });
  });
});

test("the tools can be listed, with the schemas of what they take and give", async () => {
  const { tools } = await session.tools.listTools({});
  const names = tools.map(({ name }) => name);
  expect(names).toEqual([...names].sort());
  expect(names).toEqual(expect.arrayContaining(["clarify", "knock", "leave_trace", "repeat"]));
  const knock = tools.find(({ name }) => name === "knock")!;
  expect(knock).toMatchObject({ title: "Knock at the gate", kind: ToolKind.FETCH });
  expect(JSON.parse(knock.inputSchemaJson)).toMatchObject({
    type: "object",
    properties: { who: { type: "string" } },
    required: ["who"],
  });
  expect(JSON.parse(knock.outputSchemaJson)).toMatchObject({ properties: { answer: { type: "string" } } });
  const threadId = await session.newThread();
  expect((await session.tools.listTools({ threadId })).tools).toHaveLength(tools.length);
  expect(await refusal(session.tools.listTools({ threadId: newId() }))).toMatchObject({ reason: "THREAD_NOT_FOUND" });
});

const textOf = (deltas: readonly { readonly text: string }[]): string => deltas.map(({ text }) => text).join("");

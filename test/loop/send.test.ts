// SendMessage and the thread it is sent to: one run at a time, one run for a request, and what it was asked for.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { newId } from "../../src/thread/ids.js";
import { limits } from "../../src/thread/limits.js";
import {
  Role,
  type RunOptions,
  RunOptionsSchema,
  RunOutcome,
  ToolChoiceMode,
  WireThreadState,
} from "../../src/thread/schema.js";
import { called, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { type Core, openProducer, storedEvents, useCores } from "../support/core.js";
import { pngBytes } from "../support/images.js";
import { RunScript } from "../support/scenario.js";

const core = useCores();
const options = (init: MessageInitShape<typeof RunOptionsSchema>): RunOptions => create(RunOptionsSchema, init);
const newThread = async ({ threads }: Core) => (await threads.create({ threadId: "", title: "", labels: {} })).id;

describe("a request id", () => {
  test("sent again, answers with the run that it started", async () => {
    const opened = core({ model: replies(said("Once.")) });
    const threadId = await newThread(opened);
    const request = { requestId: "r1", text: "Go", options: undefined };
    const both = await Promise.all([opened.threads.send(threadId, request), opened.threads.send(threadId, request)]);
    expect(both[0]).toBe(both[1]);
    await until(opened, threadId, isCase("runCompleted"));
    expect(await opened.threads.send(threadId, request)).toBe(both[0]);
    expect(valuesOf(await storedEvents(opened, threadId), "runStarted")).toHaveLength(1);
  });

  test("used for another message, is refused", async () => {
    const opened = core({ model: replies(said("Once.")) });
    const threadId = await newThread(opened);
    const runId = await opened.threads.send(threadId, { requestId: "r1", text: "Go", options: undefined });
    await expect(
      opened.threads.send(threadId, { requestId: "r1", text: "Stay", options: undefined }),
    ).rejects.toMatchObject({
      code: "request_id_reused",
      detail: { runId },
    });
  });
});

test("a piece of a message of which redaction leaves nothing is not stored", async () => {
  const secret = "hunter2-hunter2-hunter2";
  const opened = core({ model: replies(said("Done.")), secrets: [secret] });
  const text = "x".repeat(limits.ownDeltaBytes - 8) + secret;
  const { threadId } = await send(opened, { text });
  const events = await until(opened, threadId, isCase("runCompleted"));
  const [question] = valuesOf(events, "messageCreated");
  const pieces = valuesOf(events, "messageDelta").filter(({ messageId }) => messageId === question?.messageId);
  expect(pieces.map(({ text }) => text)).toEqual([text.replace(secret, "[redacted]")]);
});

describe("images", () => {
  const image = { mediaType: "image/png", base64: pngBytes().toString("base64"), detail: "" as const };

  test("go along with a message, which may have no words", async () => {
    const model = replies(said("A loom."));
    const opened = core({ model });
    const threadId = await newThread(opened);
    const request = { requestId: "r1", text: "", options: undefined, images: [image] };
    const runId = await opened.threads.send(threadId, request);
    await until(opened, threadId, isCase("runCompleted"));
    expect(model.requests[0]?.messages).toEqual([{ role: "user", text: "", images: [image] }]);
    expect(await opened.threads.send(threadId, request)).toBe(runId);
    const other = { ...request, images: [{ url: "https://loom.invalid/a.png", detail: "" as const }] };
    await expect(opened.threads.send(threadId, other)).rejects.toMatchObject({ code: "request_id_reused" });
  });

  test("that no model would take are refused by name", async () => {
    const opened = core({ model: replies() });
    const threadId = await newThread(opened);
    const images = [image, { ...image, mediaType: "image/gif" }];
    await expect(
      opened.threads.send(threadId, { requestId: "r1", text: "Go", options: undefined, images }),
    ).rejects.toMatchObject({ code: "invalid_field", detail: { field: "images[1]" } });
  });

  test("of a producer can only be URLs", async () => {
    const opened = core();
    const threadId = await newThread(opened);
    const run = new RunScript();
    const messageId = newId();
    const [created] = run.message("Look", messageId, Role.USER);
    const ended = (attachment: object) =>
      run.event({ case: "messageCompleted", value: { messageId, attachments: [attachment] } });
    const producer = await openProducer(opened, { threadId });
    await producer.record([run.started(), created!]);
    await expect(producer.record([ended({ contentId: "image-0" })])).rejects.toMatchObject({
      code: "transition_violation",
    });
    await producer.send({ producerSequence: 2n, events: [ended({ url: "https://loom.invalid/a.png" })] });
  });
});

describe("a busy thread", () => {
  test("refuses another message with the run's id", async () => {
    const opened = core({
      model: replies(called({ name: "wait" })),
      tools: [tool("wait", () => new Promise(() => {}))],
      limits: { stopGraceMs: 1 },
    });
    const { threadId, runId } = await send(opened);
    await expect(send(opened, { threadId })).rejects.toMatchObject({
      code: "thread_busy",
      detail: { kind: "run", holderId: runId },
    });
    expect(await opened.threads.get(threadId)).toMatchObject({ state: WireThreadState.RUNNING, runId });
    await opened.threads.cancelRun(threadId, runId);
    await until(opened, threadId, isCase("runCompleted"));
    expect(await opened.threads.get(threadId)).toMatchObject({ state: WireThreadState.IDLE, runId: "" });
  });

  test("held by a recording refuses a message, too, and its calls are not ours to call off", async () => {
    const opened = core({ model: replies() });
    const { threadId } = await openProducer(opened);
    await expect(send(opened, { threadId })).rejects.toMatchObject({
      code: "thread_busy",
      detail: { kind: "recording" },
    });
  });
});

test.each([
  ["request_id", { requestId: "" }],
  ["request_id", { requestId: "two\nlines" }],
  ["request_id", { requestId: "x".repeat(201) }],
  ["text", { text: " \n" }],
  ["text", { text: "x".repeat(256 * 1024 + 1) }],
  ["options.max_steps", { options: options({ maxSteps: 1001 }) }],
  ["options.allowed_tools", { options: options({ allowedTools: ["nothing"] }) }],
  [
    "options.time_limit",
    { options: options({ timeLimit: { $typeName: "google.protobuf.Duration", seconds: 90_000n, nanos: 0 } }) },
  ],
  ["options.instructions", { options: options({ instructions: "x".repeat(256 * 1024 + 1) }) }],
  [
    "options.tool_choice.tool_name",
    { options: create(RunOptionsSchema, { toolChoice: { mode: ToolChoiceMode.NAMED, toolName: "nothing" } }) },
  ],
])("a wrong %s is refused, and nothing is stored", async (field, wrong) => {
  const opened = core({ model: replies(), tools: [tool("look")] });
  const threadId = await newThread(opened);
  const request = { requestId: newId(), text: "Go", options: undefined, ...wrong };
  await expect((async () => opened.threads.send(threadId, request))()).rejects.toMatchObject({
    code: "invalid_field",
    detail: { field },
  });
  expect(await storedEvents(opened, threadId)).toEqual([]);
});

describe("what a run was asked for reaches the model", () => {
  test("instructions, tool choice for the first reply, one call at a time, the longest reply", async () => {
    const model = replies(called({ name: "look" }), said("ok"));
    const asked = create(RunOptionsSchema, {
      instructions: "Be brief.",
      parallelToolCalls: false,
      maxOutputTokens: 100,
      toolChoice: { mode: ToolChoiceMode.NAMED, toolName: "look" },
    });
    await play(core({ model, tools: [tool("look")] }), { options: asked });
    expect(model.requests[0]).toMatchObject({
      instructions: "Be brief.",
      parallelToolCalls: false,
      maxOutputTokens: 100,
      toolChoice: { type: "named", name: "look" },
    });
    expect(model.requests[1]).toMatchObject({ toolChoice: { type: "auto" } });
  });

  test("only the allowed tools", async () => {
    const model = replies(called({ name: "listen" }), said("ok"));
    const asked = options({ allowedTools: ["look"] });
    const { events } = await play(core({ model, tools: [tool("look"), tool("listen")] }), { options: asked });
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(["look"]);
    expect(valuesOf(events, "toolCallComplete")[0]).toMatchObject({ error: { kind: "unknown_tool" } });
  });

  test("a token budget: what was used is told, and the model is not asked again", async () => {
    const usage = { inputTokens: 60, cachedInputTokens: 10, outputTokens: 40, reasoningTokens: 5 };
    const model = replies([{ type: "usage", usage }, ...called({ name: "look" })]);
    const { events } = await play(core({ model, tools: [tool("look")] }), { options: options({ maxTokens: 100n }) });
    expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
      outcome: RunOutcome.INCOMPLETE,
      finishReason: "token_limit",
      usage: { inputTokens: 60n, cachedInputTokens: 10n, outputTokens: 40n, reasoningTokens: 5n },
    });
  });
});

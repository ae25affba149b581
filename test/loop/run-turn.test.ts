import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RunOptionsSchema, RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();

test("a reply without calls ends the run", async () => {
  const model = replies(said("Hello."));
  const { events } = await play(core({ model }), { text: "Hi" });
  expect(cases(events)).toEqual([
    "runStarted",
    "messageCreated",
    "messageDelta",
    "messageCompleted",
    "messageCreated",
    "messageDelta",
    "messageCompleted",
    "runCompleted",
  ]);
  expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED, finishReason: "stop" });
  expect(model.requests[0]).toMatchObject({ messages: [{ role: "user", text: "Hi" }] });
});

test("a call is created, complete, started and over, and the model is told what came of it", async () => {
  const model = replies(called({ name: "look", input: { at: "it" }, id: "provider-1" }), said("Seen."));
  const look = tool("look", async (input) => ({ result: { saw: input["at"] }, summary: "Looked at it" }));
  const opened = core({ model, tools: [look] });
  const { events } = await play(opened);
  expect(cases(events).slice(4)).toEqual([
    "toolCallCreated",
    "toolCallInputDelta",
    "toolCallInputCompleted",
    "toolCallStarted",
    "toolCallComplete",
    "messageCreated",
    "messageDelta",
    "messageCompleted",
    "runCompleted",
  ]);
  const [complete] = valuesOf(events, "toolCallComplete");
  expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED, success: true, summary: "Looked at it" });
  const { call, contents } = await opened.toolCalls.get(complete!.toolCallId);
  expect(call.providerCallId).toBe("provider-1");
  const bodies = Object.fromEntries(contents.map(({ info, data }) => [info.contentId, Buffer.from(data).toString()]));
  expect(bodies).toEqual({ input: '{"at":"it"}', result: '{"saw":"it"}', model: '{"saw":"it"}' });
  expect(model.requests[1]!.messages.slice(1)).toEqual([
    { role: "assistant", text: "", calls: [{ id: complete!.toolCallId, name: "look", input: '{"at":"it"}' }] },
    { role: "tool", callId: complete!.toolCallId, text: '{"saw":"it"}', isError: false },
  ]);
});

test("in parallel, a fast call's end does not wait for a slow one", async () => {
  const slowMayEnd = resolvers();
  const tools = [
    tool("slow", async () => {
      await slowMayEnd.promise;
      return {};
    }),
    tool("fast"),
  ];
  const opened = core({ model: replies(called({ name: "slow" }, { name: "fast" }), said("ok")), tools });
  const { threadId, runId } = await send(opened);
  const before = await until(opened, threadId, isCase("toolCallComplete"));
  expect(valuesOf(before, "toolCallComplete").map(({ toolName }) => toolName)).toEqual(["fast"]);
  slowMayEnd.resolve();
  const after = await until(
    opened,
    threadId,
    (event) => event.payload.case === "runCompleted" && event.runId === runId,
  );
  expect(valuesOf(after, "toolCallComplete").map(({ toolName }) => toolName)).toEqual(["fast", "slow"]);
});

test("in order, a call starts when the last one is over", async () => {
  const options = create(RunOptionsSchema, { parallelToolCalls: false });
  const tools = [tool("one", () => sleep(5, {})), tool("two")];
  const model = replies(called({ name: "one" }, { name: "two" }), said("ok"));
  const { events } = await play(core({ model, tools }), { options });
  const steps = events.filter(
    ({ payload }) => payload.case === "toolCallStarted" || payload.case === "toolCallComplete",
  );
  expect(cases(steps)).toEqual(["toolCallStarted", "toolCallComplete", "toolCallStarted", "toolCallComplete"]);
});

test("a tool can end the run", async () => {
  const model = replies(called({ name: "finish" }));
  const { events } = await play(core({ model, tools: [tool("finish", async () => ({ stopIteration: true }))] }));
  expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
    outcome: RunOutcome.SUCCEEDED,
    finishReason: "tool_stop",
  });
});

test("the step limit ends the run as incomplete", async () => {
  const options = create(RunOptionsSchema, { maxSteps: 2 });
  const model = replies(called({ name: "again" }), called({ name: "again" }));
  const { events } = await play(core({ model, tools: [tool("again")] }), { options });
  expect(valuesOf(events, "runCompleted")[0]).toMatchObject({
    outcome: RunOutcome.INCOMPLETE,
    finishReason: "step_limit",
  });
});

function resolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

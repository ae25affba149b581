// Tasks that an agent delegates: a run in a thread of its own, told of in both logs, within limits.
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ThreadKey } from "../../src/log/event-log.js";
import { ChildRuns } from "../../src/loop/sub-runs.js";
import { ModelError } from "../../src/model/model.js";
import { HeddleError } from "../../src/thread/errors.js";
import { childThreadOf } from "../../src/thread/ids.js";
import {
  RunOptionsSchema,
  RunOutcome,
  ToolCallOutcome,
  ToolChoiceMode,
  WireThreadState,
} from "../../src/thread/schema.js";
import { called, isCase, play, said, send, tool, until, valuesOf } from "../support/agent.js";
import { storedEvents, useCores } from "../support/core.js";
import { childAt, delegated, ends, family } from "./family.js";
import { checkLog } from "./log-rules.js";
import { Workbench } from "./workbench.js";

const core = useCores();
const delegation = {};

const usage = { inputTokens: 60, cachedInputTokens: 0, outputTokens: 40, reasoningTokens: 0 };

describe("a task", () => {
  test("runs in a child thread, and its last words are the result", async () => {
    const model = family({
      Go: [delegated("the sums"), said("All done.")],
      "the sums": [[...said("I will look.").slice(0, 1), ...called({ name: "look" })], said("They are 1 and 2.")],
    });
    const server = core({ model, tools: [tool("look")], delegation, defaults: { instructions: "Be brief." } });
    const { threadId, events } = await play(server);
    const [call] = valuesOf(events, "toolCallCreated");
    expect(call).toMatchObject({ toolName: "delegate_task", parentToolCallId: "" });
    expect(call!.childThreadId).toBe(childThreadOf(call!.toolCallId));
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ summary: "Delegating: do the sums" }]);
    const [end] = valuesOf(events, "toolCallComplete");
    expect(end).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED });
    expect(end!.summary).toMatch(/^Sub-agent finished \(1 tool call, \d+ ms\)$/);
    const { contents } = await server.toolCalls.get(call!.toolCallId);
    const result = JSON.parse(Buffer.from(contents.find(({ info }) => info.contentId === "result")!.data).toString());
    expect(result).toMatchObject({
      childThreadId: call!.childThreadId,
      outcome: "succeeded",
      stopped: "",
      toolCalls: 1,
    });
    expect(model.requests.at(-1)!.messages.at(-1)).toMatchObject({ role: "tool", text: "They are 1 and 2." });

    expect(await server.threads.get(call!.childThreadId)).toMatchObject({
      title: "do the sums",
      state: WireThreadState.IDLE,
      parentThreadId: threadId,
      parentToolCallId: call!.toolCallId,
    });
    const child = await storedEvents(server, call!.childThreadId);
    expect(valuesOf(child, "toolCallCreated")).toMatchObject([
      { toolName: "look", parentToolCallId: call!.toolCallId, childThreadId: "" },
    ]);
    expect(valuesOf(child, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    const asked = model.requests.find(({ messages }) => messages[0]!.text === "the sums")!;
    expect(asked.instructions).toMatch(/^Be brief\.\n\nYou are a sub-agent: /);
    for (const log of [events, child]) checkLog(log);
    expect(server.errors).toEqual([]);
  });

  test("inherits the options of the run, but not its demand for a tool", async () => {
    const model = family({ Go: [delegated("it"), said("Done")], it: [said("Yes")] });
    const server = core({ model, tools: [tool("look"), tool("other")], delegation });
    const options = create(RunOptionsSchema, {
      allowedTools: ["delegate_task", "look"],
      maxSteps: 7,
      toolChoice: { mode: ToolChoiceMode.NAMED, toolName: "delegate_task" },
    });
    const { threadId } = await play(server, { options });
    const asked = model.requests[1]!;
    expect(asked.toolChoice).toEqual({ type: "auto" });
    expect(asked.tools.map(({ name }) => name)).toEqual(["delegate_task", "look"]);
    const { events } = await childAt(server, threadId, isCase("runStarted"));
    expect(valuesOf(events, "runStarted")).toMatchObject([
      { request: { maxSteps: 7, allowedTools: ["delegate_task", "look"] } },
    ]);
  });

  test("what it says through a tool counts as its words", async () => {
    const speak = tool("speak", async () => ({ stopIteration: true }), {
      textFields: [{ field: "text", purpose: "speech" }],
      input: z.object({ text: z.string() }),
    });
    const model = family({
      Go: [delegated("it"), said("Done")],
      it: [called({ name: "speak", input: { text: "The answer is 7." } })],
    });
    await play(core({ model, tools: [speak], delegation }));
    expect(model.requests.at(-1)!.messages.at(-1)).toMatchObject({ role: "tool", text: "The answer is 7." });
  });

  test("is over: its thread is one like any other", async () => {
    const model = family({ Go: [delegated("it"), said("Done")], it: [said("Yes"), said("Yes again")] });
    const server = core({ model, delegation });
    const { threadId } = await play(server);
    const { childId } = await childAt(server, threadId, isCase("runCompleted"));
    const more = await play(server, { threadId: childId, text: "And now?" });
    expect(valuesOf(more.events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
    await server.threads.delete(threadId);
    expect(await server.threads.get(childId)).toMatchObject({ parentThreadId: threadId });
  });

  test("under way: nobody else writes its thread, and nobody deletes it", async () => {
    const work = new Workbench();
    const model = family({ Go: [delegated("it"), said("Done")], it: [called({ name: "work" }), said("Yes")] });
    const server = core({ model, tools: [work.tool], delegation });
    const { threadId } = await send(server);
    const [id] = await work.started(1);
    const { childId } = await childAt(server, threadId, isCase("toolCallStarted"));
    const message = { requestId: "r", text: "Hello", options: undefined };
    await expect(server.threads.send(childId, message)).rejects.toMatchObject({ code: "thread_busy" });
    await expect(server.threads.delete(childId)).rejects.toMatchObject({ code: "thread_busy" });
    work.finish(id!);
    await ends(server, threadId);
  });

  test("tells how far it is: calls made, and what it does", async () => {
    const work = new Workbench();
    const model = family({
      Go: [delegated("it"), said("Done")],
      it: [called({ name: "work" }), said("Yes")],
    });
    const server = core({ model, tools: [work.tool], delegation });
    const { threadId } = await send(server);
    const isTold = (words: string) => (event: Parameters<ReturnType<typeof isCase>>[0]) =>
      event.payload.case === "toolCallProgress" && event.payload.value.message === words;
    const events = await until(server, threadId, isTold("1 call, now: Doing work"));
    expect(valuesOf(events, "toolCallProgress").at(-1)).toMatchObject({ completed: 1, toolName: "delegate_task" });
    work.finish((await work.started(1))[0]!);
    await ends(server, threadId);
  });

  test("a thread that is there already is nobody's to take", async () => {
    const model = family({
      Go: [called({ name: "pause" }, { name: "delegate_task", input: { task: "a", prompt: "it" } }), said("Done")],
    });
    let taken = "";
    const pause = tool("pause", async (_, { threadId }) => {
      const events = await until(server, threadId, ({ payload }) => payload.case === "toolCallInputCompleted");
      taken = valuesOf(events, "toolCallCreated").find(({ childThreadId }) => childThreadId)!.childThreadId;
      await server.threads.create({ threadId: taken, title: "mine", labels: {} });
      return {};
    });
    const server = core({ model, tools: [pause], delegation });
    const { events } = await play(server, { options: create(RunOptionsSchema, { parallelToolCalls: false }) });
    expect(valuesOf(events, "toolCallComplete")[1]).toMatchObject({
      summary: "The thread of the task is in use already; delegate the task again",
    });
    expect((await server.threads.get(taken)).title).toBe("mine");
  });
});

describe("a task that does not finish", () => {
  const endOf = async (scripts: Parameters<typeof family>[0], extra: Parameters<typeof core>[0] = {}) => {
    const model = family({ Go: [delegated("it"), said("Done")], ...scripts });
    const server = core({ model, tools: [tool("look")], delegation, ...extra });
    const { events } = await play(server);
    return { model, end: valuesOf(events, "toolCallComplete")[0]! };
  };

  test("step limit", async () => {
    const look = called({ name: "look" });
    const { end, model } = await endOf({ it: [look, look, look] }, { defaults: { maxSteps: 2 } });
    expect(end).toMatchObject({ outcome: ToolCallOutcome.FAILED, summary: "Stopped: step limit" });
    expect(model.requests).toHaveLength(4);
    expect(model.requests.at(-1)!.messages.at(-1)).toMatchObject({
      text: "Stopped: step limit. The sub-agent said nothing.",
      isError: true,
    });
  });

  test("a reply that was cut off", async () => {
    const cut = [
      { type: "text", text: "Half of" } as const,
      { type: "end", reason: "truncated", providerReason: "length" } as const,
    ];
    const { end, model } = await endOf({ it: [cut] });
    expect(end.summary).toBe("Stopped: reply too long");
    expect(model.requests.at(-1)!.messages.at(-1)).toMatchObject({
      text: "Stopped: reply too long. Its last words were:\nHalf of",
    });
  });

  test("a model that fails", async () => {
    const { end } = await endOf({
      it: [
        () => {
          throw new ModelError("rejected", "The provider\nsays no");
        },
      ],
    });
    expect(end).toMatchObject({ outcome: ToolCallOutcome.FAILED, summary: "Sub-agent failed: The provider says no" });
  });

  test("something inside the server breaks: both logs are whole", async () => {
    const { end } = await endOf({ it: [] });
    expect(end.summary).toBe("Sub-agent failed: Interrupted: something inside the server failed; its log says more");
  });
});

describe("limits", () => {
  test("at the deepest level nothing is delegated any more", async () => {
    const model = family({
      Go: [delegated("one"), said("Done")],
      one: [delegated("two"), said("One is done")],
      two: [delegated("three"), said("Two is done")],
    });
    const server = core({ model, delegation: { depth: 2 } });
    const { events } = await play(server);
    const offered = (prompt: string) =>
      model.requests.find(({ messages }) => messages[0]!.text === prompt)!.tools.map(({ name }) => name);
    const told = model.requests.map(({ instructions }) => instructions.match(/You are a sub-agent/g)?.length ?? 0);
    expect(Math.max(...told)).toBe(1);
    expect([offered("Go"), offered("one"), offered("two")]).toEqual([["delegate_task"], ["delegate_task"], []]);
    const [first] = valuesOf(events, "toolCallCreated");
    const [second] = valuesOf(await storedEvents(server, first!.childThreadId), "toolCallCreated");
    const third = await storedEvents(server, second!.childThreadId);
    expect(valuesOf(third, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.REJECTED }]);
    // What is not offered delegates nothing.
    expect(valuesOf(third, "toolCallCreated")).toMatchObject([{ childThreadId: "" }]);
  });

  test("a person's run in a thread at the deepest level is not offered it either", async () => {
    const model = family({ Go: [delegated("one"), said("Done")], one: [said("Yes"), said("Yes")] });
    const server = core({ model, delegation: { depth: 1 } });
    const { threadId } = await play(server);
    const { childId } = await childAt(server, threadId, isCase("runCompleted"));
    await play(server, { threadId: childId, text: "More" });
    expect(model.requests.at(-1)!.tools).toEqual([]);
  });

  test("so many in one run: the rest is told to do it itself", async () => {
    const model = family({
      Go: [delegated("a", "b", "c"), said("Done")],
      a: [said("A")],
      b: [said("B")],
      c: [said("C")],
    });
    const { events } = await play(core({ model, delegation: { perRun: 2 } }));
    const ended = valuesOf(events, "toolCallComplete");
    expect(ended.filter(({ success }) => success)).toHaveLength(2);
    expect(ended.find(({ success }) => !success)).toMatchObject({
      summary: "A run may delegate 2 tasks, and this one has; do it yourself",
      error: { code: "EDQUOT" },
    });
  });

  test("so many at once: the next waits for its turn, and says so", async () => {
    const work = new Workbench();
    const busy = [called({ name: "work" }), said("Yes")];
    const model = family({ Go: [delegated("a", "b", "c"), said("Done")], a: busy, b: busy, c: busy });
    const server = core({ model, tools: [work.tool], delegation: { atOnce: 2 } });
    const { threadId } = await send(server);
    const first = await work.started(2);
    const isTold = ({ payload }: Parameters<ReturnType<typeof isCase>>[0]) =>
      payload.case === "toolCallProgress" && payload.value.message === "Waiting for another task to end";
    await until(server, threadId, isTold);
    expect(server.runs.active).toBe(3);
    work.finish(first[0]!);
    const all = await work.started(3);
    for (const id of all) work.finish(id);
    const events = await ends(server, threadId);
    expect(valuesOf(events, "toolCallComplete").map(({ success }) => success)).toEqual([true, true, true]);
  });

  test("one that waits for its turn can be called off", async () => {
    const work = new Workbench();
    const model = family({ Go: [delegated("a", "b"), said("Done")], a: [called({ name: "work" }), said("Yes")] });
    const server = core({ model, tools: [work.tool], delegation: { atOnce: 1 } });
    const { threadId } = await send(server);
    const [id] = await work.started(1);
    const events = await until(
      server,
      threadId,
      ({ payload }) => payload.case === "toolCallStarted" && payload.value.summary.endsWith("do b"),
    );
    const waiting = valuesOf(events, "toolCallStarted").find(({ summary }) => summary.endsWith("do b"))!;
    await server.toolCalls.cancel(waiting.toolCallId, "");
    await until(server, threadId, isCase("toolCallComplete"));
    await expect(server.threads.get(childThreadOf(waiting.toolCallId))).rejects.toMatchObject({
      code: "thread_not_found",
    });
    work.finish(id!);
    expect(valuesOf(await ends(server, threadId), "toolCallComplete").map(({ outcome }) => outcome)).toEqual([
      ToolCallOutcome.CANCELLED,
      ToolCallOutcome.SUCCEEDED,
    ]);
  });

  test("a server that is full says so", async () => {
    const model = family({ Go: [called({ name: "hold" }), said("Done")] });
    const full = new ChildRuns({ depth: 1, atOnce: 1, perRun: 1 });
    let failure: unknown;
    const hold = tool("hold", async (_, context) => {
      full.runWith({
        ...server,
        runs: {
          runOf: (id) => server.runs.runOf(id),
          stop: async () => true,
          startTask: async (_key: ThreadKey) => {
            throw new HeddleError("limit_exceeded", "No more runs", { detail: { limit: "runs" } });
          },
        },
        onError: () => {},
      });
      failure = await full.run({ ...context, title: "x", prompt: "x", onProgress: () => {} }).catch((error) => error);
      return {};
    });
    const server = core({ model, tools: [hold], delegation });
    await play(server);
    expect(failure).toMatchObject({
      name: "ToolFailure",
      code: "EAGAIN",
      message: "The server works on as many runs as it can; do it yourself, or try again later",
    });
  });

  test("tokens of a task count for the limit of the run that delegated it, and of those above", async () => {
    const spent = (text: string) => [{ type: "usage", usage } as const, ...said(text)];
    const model = family({
      Go: [delegated("one"), said("never asked")],
      one: [delegated("two"), spent("One")],
      two: [spent("Two")],
    });
    const server = core({ model, delegation, defaults: { maxTokens: 150 } });
    const { threadId, events } = await play(server);
    // 100 of two, so that one may go on; 100 of one, and the run above has used 200.
    expect(valuesOf(events, "runCompleted")).toMatchObject([
      { outcome: RunOutcome.INCOMPLETE, finishReason: "token_limit" },
    ]);
    expect(valuesOf(events, "runCompleted")[0]!.usage).toBeUndefined();
    const { events: child } = await childAt(server, threadId, isCase("runCompleted"));
    expect(valuesOf(child, "runCompleted")).toMatchObject([
      { outcome: RunOutcome.SUCCEEDED, usage: { inputTokens: 60n } },
    ]);
  });
});

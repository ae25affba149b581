// Tools are other people's code, and types are gone when it runs. Whatever one gives or throws is its own failure, told in one
// line: never the run's, and never the server's.
import { describe, expect, test } from "vitest";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { ToolFailure, type ToolOutcome } from "../../src/tool/tool.js";
import { called, play, replies, said, tool, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";

const newCore = useCores();

/** Plays a run with one call of the tool. The run must go on whatever the call does. */
async function callOnce(bad: ReturnType<typeof tool>) {
  const core = newCore({ model: replies(called({ name: bad.name }), said("Oh.")), tools: [bad] });
  const { events } = await play(core);
  const records = await readRecords(core, events);
  checkLog(events, { records });
  expect(core.errors).toEqual([]);
  expect(valuesOf(events, "runCompleted")[0]).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
  const [complete] = valuesOf(events, "toolCallComplete");
  return { complete: complete!, bodies: records.get(complete!.toolCallId)!.bodies, events };
}

/** A tool that returns this instead of an outcome. */
const returning = (outcome: unknown) => ({ ...tool("bad"), run: async () => outcome as ToolOutcome<unknown> });

describe("T4: a tool that returns no outcome has failed", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a text", "done"],
    ["a number", 7],
  ])("%s", async (_, outcome) => {
    const { complete } = await callOnce(returning(outcome));
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.FAILED, error: { kind: "invalid_output" } });
  });
});

describe("T1: what a tool gives beside its result cannot spoil the call", () => {
  test.each([
    ["no summary", { summary: undefined }],
    ["a summary that is no text", { summary: 7 }],
    ["content that is no list", { content: "a part" }],
    ["locations that are no list", { locations: 7 }],
    ["an exit code that is no number", { exitCode: "0" }],
    ["a stop that is no yes or no", { stopIteration: 0 }],
  ])("%s", async (_, odd) => {
    const { complete, bodies } = await callOnce(returning({ result: { done: true }, summary: "Did it", ...odd }));
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED });
    expect(bodies.get("result")!.toString()).toBe('{"done":true}');
  });

  test.each([
    ["throws", () => expect.unreachable()],
    ["never calls back", () => {}],
  ])("a promise whose own `then` %s is waited for all the same", async (_, value) => {
    const outcome = { result: { done: true }, summary: "Did it" };
    // biome-ignore lint/suspicious/noThenProperty: that is the point.
    const run = () => Object.defineProperty(Promise.resolve(outcome), "then", { value });
    const { complete } = await callOnce({ ...tool("bad"), run });
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED, summary: "Did it" });
  });

  test("a part with a media type that no header could hold is kept", async () => {
    const content = [{ id: "part", mediaType: "text/plain\n😀", data: "kept" }];
    const { bodies } = await callOnce(returning({ result: 1, summary: "Did it", content }));
    expect(bodies.get("part")!.toString()).toBe("kept");
  });

  test("parts and locations that are none are left out", async () => {
    const content = [
      null,
      { id: "a", mediaType: "text/plain", data: 7 },
      { id: "b", mediaType: "text/plain", data: "b" },
    ];
    const locations = [
      null,
      { path: 7 },
      { path: "/a", line: -1 },
      { path: "/b", line: 2 ** 40 },
      { path: "/c", line: 3 },
    ];
    const { complete, bodies } = await callOnce(returning({ result: 1, summary: "Did it", content, locations }));
    expect([...bodies.keys()].sort()).toEqual(["b", "input", "model", "result"]);
    expect(complete.locations).toMatchObject([
      { path: "/a", line: 0 },
      { path: "/b", line: 0 },
      { path: "/c", line: 3 },
    ]);
  });

  test("parts whose names meet each other are all kept", async () => {
    const part = (id: string) => ({ id, mediaType: "text/plain", data: id });
    const content = [part("part-1"), part("?"), part("part-1"), part("part-2")];
    const { bodies } = await callOnce(returning({ result: 1, summary: "Did it", content }));
    expect([...bodies.values()].map(String).filter((text) => text.startsWith("part") || text === "?")).toHaveLength(4);
  });

  test("a result that says it is an error, without a word", async () => {
    const { complete } = await callOnce(returning({ result: 1, isError: true }));
    expect(complete).toMatchObject({
      outcome: ToolCallOutcome.FAILED,
      summary: "Failed",
      error: { kind: "tool_error" },
    });
  });

  test("words for the model that are no text", async () => {
    const { bodies } = await callOnce({ ...tool("bad"), toModel: () => 7 as unknown as string });
    expect(bodies.get("model")!.toString()).toBe('{"done":"bad"}');
  });

  test("words that come later, or not at all", async () => {
    const later = () => Promise.reject(new Error("too late")) as unknown as string;
    const { complete } = await callOnce({ ...tool("bad"), describe: later, toModel: later });
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED });
  });

  test("a description that is no text", async () => {
    const { events } = await callOnce({ ...tool("bad"), describe: () => 7 as unknown as string });
    expect(valuesOf(events, "toolCallStarted")[0]).toMatchObject({ summary: "The bad" });
  });
});

describe("T4: a tool that throws has failed, whatever it throws", () => {
  const unspeakable = Object.defineProperty(new Error(), "message", {
    get: () => {
      throw new Error("again");
    },
  });
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a symbol", Symbol("odd")],
    ["an object without a prototype", Object.create(null)],
    ["an error whose message throws", unspeakable],
    ["an error whose message is no text", Object.assign(new Error(), { message: 7 })],
    ["a failure whose code is no text", Object.assign(new ToolFailure("no"), { code: 404 })],
    ["a text of nothing that can be seen", "\u202e\u0007"],
  ])("%s", async (_, thrown) => {
    const throws = tool("bad", async () => {
      throw thrown;
    });
    const { complete } = await callOnce(throws);
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.FAILED, error: { kind: "tool_error" } });
  });

  test("before its first await", async () => {
    const run = (): never => {
      throw new Error("at once");
    };
    const { complete } = await callOnce({ ...tool("bad"), run });
    expect(complete.summary).toContain("at once");
  });
});

test("T2: odd reports of a tool are left out or its own failure, and the run goes on", async () => {
  const odd = tool("bad", async (_, context) => {
    context.progress(Number.NaN, -1, 7 as unknown as string);
    context.phase("toString" as never);
    context.output("stdout", 7 as unknown as string);
    return {};
  });
  const { complete } = await callOnce(odd);
  expect([ToolCallOutcome.SUCCEEDED, ToolCallOutcome.FAILED]).toContain(complete.outcome);
});

// Providers send anything: what cannot be stored as it is must not cost the run.
import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/model/model.js";
import { limits } from "../../src/thread/limits.js";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { play, replies, said, tool, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";

const newCore = useCores();

async function playReply(...reply: readonly ModelEvent[]) {
  const model = replies(reply, said("Oh."));
  const core = newCore({ model, tools: [tool("look"), tool("look_up")] });
  const { events } = await play(core);
  checkLog(events, { records: await readRecords(core, events) });
  expect(core.errors).toEqual([]);
  return { events, model, completed: valuesOf(events, "runCompleted")[0]! };
}

const end: ModelEvent = { type: "end", reason: "tool_calls", providerReason: "tool_calls" };

test.each([
  ["longer than a name may be", "x".repeat(300)],
  ["without anything to see", "\u0007\u202e"],
  ["of several lines", "two\nlines"],
])("T1: a tool's name %s is rejected like any that is unknown", async (_, name) => {
  const { events, completed } = await playReply({ type: "tool_call", index: 0, name, input: "{}" }, end);
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.REJECTED }]);
  expect(completed).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
});

test("a reason of the provider's that is too long is cut", async () => {
  const { completed } = await playReply({ type: "end", reason: "stop", providerReason: "because\n".repeat(40) });
  expect(completed).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
  expect(completed.finishReason).toMatch(/^because because .*…$/);
  expect(completed.finishReason.length).toBeLessThanOrEqual(64);
});

test("a refusal that is too long is cut", async () => {
  const text = "no 😀".repeat(limits.refusalBytes);
  const { events } = await playReply(
    { type: "refusal", text },
    { type: "end", reason: "stop", providerReason: "stop" },
  );
  const { refusal } = valuesOf(events, "messageCompleted").at(-1)!;
  expect(text.startsWith(refusal)).toBe(true);
  expect(Buffer.byteLength(refusal)).toBeGreaterThan(limits.refusalBytes - 8);
});

test("counts of tokens that nobody can have used do no harm", async () => {
  const usage = { inputTokens: 1e300, cachedInputTokens: -1, outputTokens: Number.NaN, reasoningTokens: 0.4 };
  const { completed } = await playReply({ type: "usage", usage }, { type: "text", text: "Hi" }, end);
  expect(completed).toMatchObject({ outcome: RunOutcome.SUCCEEDED });
});

test("T3: a name that is repeated, and is the beginning of another's, is heard once", async () => {
  const { events } = await playReply(
    { type: "tool_call", index: 0, id: "a", name: "look" },
    { type: "tool_call", index: 0, name: "look", input: "{" },
    { type: "tool_call", index: 0, name: "look", input: "}" },
    end,
  );
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([
    { toolName: "look", outcome: ToolCallOutcome.SUCCEEDED },
  ]);
});

test("calls that begin out of order are told in one order: live, and read back from the log", async () => {
  const { events, model } = await playReply(
    { type: "tool_call", index: 1, name: "look_up", input: "{}" },
    { type: "tool_call", index: 0, name: "look", input: "{}" },
    end,
  );
  const created = valuesOf(events, "toolCallCreated");
  const [, asked] = model.requests[1]!.messages;
  expect(asked).toMatchObject({
    calls: created.toSorted((a, b) => a.index - b.index).map(({ toolCallId: id }) => ({ id })),
  });
});

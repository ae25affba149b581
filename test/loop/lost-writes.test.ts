// A disk that is full for one write, whichever it is: the run is ended (T1), nothing follows a hole in a text, and what the
// operator is told is the cause, not what came of it.
import { once } from "node:events";
import { expect, test } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { ModelEvent } from "../../src/model/model.js";
import { HeddleError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { decodeFrames } from "../../src/thread/frame.js";
import { RunOutcome } from "../../src/thread/schema.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { called, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { replaced, useCores } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";
import { take } from "./random-text.js";

const newCore = useCores();

/** Everything that a run can record, with a turn of the event loop between any two pieces. */
async function* reply(): AsyncGenerator<ModelEvent> {
  const pieces: ModelEvent[] = [
    { type: "reasoning", text: "I look" },
    { type: "reasoning", text: " first." },
    { type: "text", text: "Let me" },
    { type: "text", text: " see." },
    { type: "tool_call", index: 0, name: "look", input: '{"a":' },
    { type: "tool_call", index: 1, name: "look", input: '{"b":' },
    { type: "tool_call", index: 0, input: "1}" },
    { type: "tool_call", index: 1, input: "2}" },
    { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
  ];
  for (const piece of pieces) {
    await take("immediate");
    yield piece;
  }
}

/** Large enough that its bodies take more than one append. */
const large = { id: "large", mediaType: "application/octet-stream", data: new Uint8Array(3 * 1024 * 1024) };

const look = tool("look", async (input, context) => {
  for (const text of ["some ", "output", "\n"]) {
    context.output("stdout", text);
    await take("immediate");
    context.phase("searching");
    await take("immediate");
  }
  return { content: "a" in input ? [large] : [] };
});

/** A log that loses one write. */
function logWithout(lost: () => boolean): EventLog {
  const log = openMemoryLog();
  const append: EventLog["append"] = async (...args) => {
    if (!lost()) return log.append(...args);
    throw new HeddleError("storage_full", "No space is left", { detail: { path: "memory" } });
  };
  return replaced(log, { append });
}

/** Plays the run upon a log that loses one write. Returns how many it made. */
async function playWithout(lost: number, look: ToolDefinition): Promise<number> {
  let writes = 0;
  const log = logWithout(() => ++writes === lost);
  const core = newCore({ log, model: replies(reply, said("Done.")), tools: [look] });
  const { events } = await play(core);
  checkLog(events, { records: await readRecords(core, events) });
  for (const { toolCallId, success } of valuesOf(events, "toolCallComplete")) {
    const output = valuesOf(events, "toolCallOutputDelta").filter((delta) => delta.toolCallId === toolCallId);
    if (success) expect(output.map(({ text }) => text).join("")).toBe("some output\n");
  }
  // A progress that is lost costs nothing else, and is not told.
  const faults = core.errors.map((error) => (error as HeddleError).code);
  expect(faults.filter((code) => code !== "storage_full")).toEqual([]);
  const { outcome, errorMessage } = valuesOf(events, "runCompleted")[0]!;
  expect(outcome).toBe(faults.length > 0 ? RunOutcome.INTERRUPTED : RunOutcome.SUCCEEDED);
  if (faults.length > 0) expect(errorMessage).toBe("Interrupted: the disk of the data directory was full");
  return writes;
}

test.each([
  ["of a tool that waits for its start to be stored", look],
  ["of one that only looks", { ...look, onlyLooks: true }],
])("T1: whichever write is lost, %s", async (_, look) => {
  const writes = await playWithout(0, look);
  expect(writes).toBeGreaterThan(10);
  // The first one is the message itself: without it there is no run.
  for (let lost = 2; lost <= writes; lost++) await playWithout(lost, look);
});

test.each([true, false])("T4: a tool begins before its start is stored if it only looks: %s", async (onlyLooks) => {
  const memory = openMemoryLog();
  const seen: boolean[] = [];
  let isStored = false;
  const append: EventLog["append"] = async (...args) => {
    const isStart = args[2].frames.some((frame) =>
      [...decodeFrames(Buffer.from(frame))].some(isCase("toolCallStarted")),
    );
    // Far longer than a tool that need not wait for it.
    for (let turn = 0; isStart && seen.length === 0 && turn < 100; turn++) await take("immediate");
    const head = await memory.append(...args);
    isStored ||= isStart;
    return head;
  };
  const look = tool(
    "look",
    async () => {
      seen.push(isStored);
      return {};
    },
    { onlyLooks },
  );
  const core = newCore({
    log: replaced(memory, { append }),
    model: replies(called({ name: "look" }), said("Done.")),
    tools: [look],
  });
  const { events } = await play(core);
  checkLog(events);
  expect(seen).toEqual([!onlyLooks]);
});

test("T1: while the run is called off", async () => {
  let isLost = false;
  const log = logWithout(() => {
    const lost = isLost;
    isLost = false;
    return lost;
  });
  async function* hangs(_: unknown, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    yield { type: "text", text: "Let me" };
    await once(signal, "abort");
    throw signal.reason;
  }
  const core = newCore({ log, model: replies(hangs) });
  const { threadId, runId } = await send(core);
  const isAnswer = ({ payload }: ThreadEvent) => payload.case === "messageDelta" && payload.value.text === "Let me";
  await until(core, threadId, isAnswer);
  isLost = true;
  // It may share the lost append, and is told so then. The run has heard of it all the same.
  const told = await core.threads.cancelRun(threadId, runId).catch((error: HeddleError) => error.code);
  expect([undefined, "storage_full"]).toContain(told);
  const events = await until(core, threadId, isCase("runCompleted"));
  checkLog(events);
  expect(core.errors).toMatchObject([{ code: "storage_full" }]);
});

test.each([true, false])("T1: while the model is asked, which may never answer; onlyLooks: %s", async (onlyLooks) => {
  let isLost = false;
  const log = logWithout(() => {
    const lost = isLost;
    isLost = false;
    return lost;
  });
  let reason: unknown;
  async function* hangs(_: unknown, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    yield { type: "text", text: "" }; // Nothing that is heard.
    await once(signal, "abort");
    reason = signal.reason;
    throw signal.reason;
  }
  const look = tool(
    "look",
    async (_, { output }) => {
      output("stdout", "some output");
      await take("timer");
      isLost = true;
      return {};
    },
    { onlyLooks },
  );
  const core = newCore({ log, model: replies(called({ name: "look" }), hangs), tools: [look] });
  const { events } = await play(core);
  checkLog(events);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INTERRUPTED }]);
  expect(core.errors).toMatchObject([{ code: "storage_full" }]);
  expect(reason).toBe(core.errors[0]);
});

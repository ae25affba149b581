// The rules that the other suites rely on can be broken, and each says its name.
import { clone, create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { z } from "zod";
import { ToolCallErrorSchema } from "../../gen/heddle/v1/tool_call_pb.js";
import { type ThreadEvent, ThreadEventSchema } from "../../src/thread/event.js";
import { ToolCallOutcome } from "../../src/thread/schema.js";
import { called, play, replies, said, tool } from "../support/agent.js";
import { useCores } from "../support/core.js";
import { type CallRecord, readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";

const newCore = useCores();

async function soundThread() {
  const speaks = tool(
    "say",
    async (_, context) => {
      context.output("stdout", "some");
      context.progress(1, 2);
      context.output("stdout", " output");
      return {};
    },
    { input: z.object({ text: z.string() }), textFields: [{ field: "text", purpose: "speech" }] },
  );
  const model = replies(called({ name: "say", input: { text: "Hello" } }, { name: "nothing" }), said("Done."));
  const core = newCore({ model, tools: [speaks] });
  const { events } = await play(core);
  return { events: events.map((event) => clone(ThreadEventSchema, event)), records: await readRecords(core, events) };
}

type Value<Case> = Extract<ThreadEvent["payload"], { case: Case }>["value"];

/** The n-th event of a case, to be changed. */
function at<Case extends NonNullable<ThreadEvent["payload"]["case"]>>(events: ThreadEvent[], name: Case, nth = 0) {
  const event = events.filter(({ payload }) => payload.case === name)[nth]!;
  return { event, value: event.payload.value as Value<Case>, index: events.indexOf(event) };
}

const renumber = (events: readonly ThreadEvent[]): void => {
  for (const [index, event] of events.entries()) event.sequence = BigInt(index + 1);
};
const remove = (events: ThreadEvent[], name: NonNullable<ThreadEvent["payload"]["case"]>, nth = 0): void => {
  events.splice(at(events, name, nth).index, 1);
  renumber(events);
};
const repeat = (events: ThreadEvent[], name: NonNullable<ThreadEvent["payload"]["case"]>): void => {
  const { event, index } = at(events, name);
  events.splice(index + 1, 0, clone(ThreadEventSchema, event));
  renumber(events);
};

test("a sound thread keeps them all", async () => {
  const { events, records } = await soundThread();
  checkLog(events, { records, textFields: { say: ["text"] } });
});

test.each<[string, RegExp, (events: ThreadEvent[]) => void]>([
  ["a gap", /^L1/, (events) => void events.splice(3, 1)],
  ["a call without an end", /^T1/, (events) => remove(events, "toolCallComplete")],
  ["a call with two", /^T1/, (events) => repeat(events, "toolCallComplete")],
  ["a message without an end", /^T1/, (events) => remove(events, "messageCompleted")],
  ["a run without an end", /the last run is over/, (events) => remove(events, "runCompleted")],
  ["a call that starts twice", /^T1, T2/, (events) => repeat(events, "toolCallStarted")],
  ["output before the start", /^T1, T2/, (events) => remove(events, "toolCallStarted")],
  [
    "an id that is none",
    /^T3/,
    (events) => {
      at(events, "messageCreated").value.messageId = "message-1";
    },
  ],
  [
    "a rejected call that ran",
    /^T4/,
    (events) => {
      at(events, "toolCallComplete", 1).value.outcome = ToolCallOutcome.REJECTED;
      at(events, "toolCallComplete", 1).value.success = false;
    },
  ],
  [
    "a failure that says success",
    /^T4/,
    (events) => {
      at(events, "toolCallComplete", 1).value.outcome = ToolCallOutcome.FAILED;
    },
  ],
  [
    "a summary of two lines",
    /^T5/,
    (events) => {
      at(events, "toolCallStarted").value.summary = "two\nlines";
    },
  ],
  [
    "a summary that turns around",
    /^T5/,
    (events) => {
      at(events, "toolCallComplete").value.summary = "tur\u202ened";
    },
  ],
  [
    "a summary that is too long",
    /^T5/,
    (events) => {
      at(events, "toolCallInputCompleted").value.summary = "x".repeat(201);
    },
  ],
  [
    "an offset that leaves a hole",
    /offset/,
    (events) => {
      at(events, "toolCallOutputDelta", 1).value.offset = 5n;
    },
  ],
  [
    "a start before its call",
    /do not go back/,
    (events) => {
      at(events, "toolCallStarted").event.time!.seconds -= 1n;
    },
  ],
  [
    "input that is lost",
    /streams its input/,
    (events) => {
      at(events, "toolCallInputDelta").value.text = "{";
    },
  ],
  [
    "text that is lost",
    /speaks its text/,
    (events) => {
      at(events, "toolCallTextDelta").value.text = "Hel";
    },
  ],
  [
    "another outcome than GetToolCall's",
    /outcome of the events/,
    (events) => {
      at(events, "toolCallComplete", 1).value.outcome = ToolCallOutcome.FAILED;
      at(events, "toolCallComplete", 1).value.success = false;
      at(events, "toolCallComplete", 1).value.error = create(ToolCallErrorSchema, { kind: "k", message: "m" });
    },
  ],
])("%s breaks one", async (_, rule, damage) => {
  const { events, records } = await soundThread();
  damage(events);
  expect(() => checkLog(events, { records, textFields: { say: ["text"] } })).toThrow(rule);
});

test("a body that is lost breaks one", async () => {
  const { events, records } = await soundThread();
  const [[id, { call }]] = [...records] as [[string, CallRecord]];
  const without = new Map(records).set(id, { call, bodies: new Map() });
  expect(() => checkLog(events, { records: without })).toThrow(/input body/);
});

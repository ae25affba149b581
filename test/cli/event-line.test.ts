import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import {
  OutputStream,
  ProcessOutcome,
  RunOutcome,
  type StreamThreadEventsResponse,
  StreamThreadEventsResponseSchema,
  ToolCallPhase,
} from "../../gen/heddle/v1/event_pb.js";
import { ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { eventLines } from "../../src/cli/event-line.js";
import { styleFor } from "../../src/cli/terminal.js";
import { fakeIo } from "./support.js";

const plain = styleFor(fakeIo(), "stdout");
const coloured = styleFor(fakeIo({ isTTY: true }), "stdout");
const noon = new Date(2025, 5, 1, 12, 0, 0, 7);
const toolCallId = "0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c";

type Payload = StreamThreadEventsResponse["payload"];
type Init = { [Case in NonNullable<Payload["case"]>]: { case: Case; value: object } }[NonNullable<Payload["case"]>];

let sequence = 0n;
const event = (payload: Init) =>
  create(StreamThreadEventsResponseSchema, {
    sequence: ++sequence,
    time: timestampFromDate(noon),
    payload: payload as never,
  });

test("a call's life, a line each", () => {
  sequence = 0n;
  const line = eventLines(plain, () => noon);
  const lines = [
    event({ case: "runStarted", value: { model: "m-1", producer: "loop" } }),
    event({ case: "messageDelta", value: { text: "I will run\nthe tests" } }),
    event({
      case: "toolCallCreated",
      value: { toolCallId, toolName: "bash", title: "Run a command", kind: ToolKind.EXECUTE },
    }),
    event({ case: "toolCallInputCompleted", value: { toolCallId, summary: "Run npm test", inputBytes: 2048n } }),
    event({ case: "toolCallStarted", value: { toolCallId, toolName: "bash", summary: "Running npm test" } }),
    event({
      case: "toolCallProgress",
      value: {
        toolCallId,
        phase: ToolCallPhase.WAITING,
        completed: 3,
        total: 10,
        message: "tests",
        elapsed: durationFromMs(65_000),
      },
    }),
    event({ case: "toolCallOutputDelta", value: { toolCallId, stream: OutputStream.STDERR, text: "x".repeat(200) } }),
    event({
      case: "toolCallComplete",
      value: {
        toolCallId,
        toolName: "bash",
        outcome: ToolCallOutcome.SUCCEEDED,
        success: true,
        summary: "All tests passed",
        duration: durationFromMs(1234),
      },
    }),
    event({
      case: "runCompleted",
      value: { outcome: RunOutcome.SUCCEEDED, usage: { inputTokens: 5n, outputTokens: 7n } },
    }),
  ].map(line);
  expect(lines).toEqual([
    "12:00:00.007      1  ▶ run         started, m-1, by loop",
    "12:00:00.007      2  … text        I will run\\nthe tests",
    `12:00:00.007      3  ○ named       Run a command ${toolCallId}`,
    "12:00:00.007      4  ◌ input       Run a command: Run npm test (2.0 KiB)",
    "12:00:00.007      5  ● started     Run a command: Running npm test",
    "12:00:00.007      6  ◐ progress    Run a command: tests (waiting, 3 of 10, 1 min 5 s)",
    `12:00:00.007      7  … stderr      ${"x".repeat(99)}…`,
    "12:00:00.007      8  ✓ succeeded   Run a command: All tests passed (1.2 s, exit code unknown)",
    "12:00:00.007      9  ✓ run         succeeded, 5 tokens in, 7 out",
  ]);
});

test.each([
  ["✓", { outcome: ProcessOutcome.EXITED, exitCode: 0 }],
  ["✗", { outcome: ProcessOutcome.EXITED, exitCode: 127 }],
  ["✗", { outcome: ProcessOutcome.EXITED }],
  ["✓", { outcome: ProcessOutcome.STOPPED }],
  ["✗", { outcome: ProcessOutcome.INTERRUPTED }],
])("a background process that ended: %s for %o", (icon, end) => {
  const line = eventLines(plain, () => noon);
  const told = line(event({ case: "processExited", value: { processId: "p1", summary: "npm run dev ended", ...end } }));
  expect(told).toMatch(new RegExp(` ${icon} process {5}p1: npm run dev ended$`));
});

test("a follower who came later sees the tool's name, or the call's id", () => {
  const line = eventLines(plain, () => noon);
  const value = {
    toolCallId,
    toolName: "bash",
    outcome: ToolCallOutcome.FAILED,
    summary: "It failed",
    exitCode: 1,
    error: { kind: "tool_error", message: "no" },
  };
  expect(line(event({ case: "toolCallComplete", value }))).toMatch(
    /✗ failed {6}bash: It failed \(exit code 1, tool_error, no\)$/,
  );
  expect(line(event({ case: "toolCallInputCompleted", value: { toolCallId } }))).toContain("call 0d4f5c1e");
});

test("an error does not repeat the summary", () => {
  const line = eventLines(plain, () => noon);
  const complete = (summary: string, message: string) =>
    line(
      event({
        case: "toolCallComplete",
        value: {
          toolCallId,
          toolName: "bash",
          outcome: ToolCallOutcome.INTERRUPTED,
          summary,
          error: { kind: "lost", message },
        },
      }),
    ).slice("12:00:00.007      1  ✗ interrupted ".length);
  const summary = "Interrupted: x went silent";
  expect(complete(summary, `${summary}. Whether it had an effect is not known`)).toBe(
    `bash: ${summary} (lost, Whether it had an effect is not known)`,
  );
  expect(complete(summary, summary)).toBe(`bash: ${summary} (lost)`);
  expect(complete(summary, "no heartbeat")).toBe(`bash: ${summary} (lost, no heartbeat)`);
  expect(complete("", "no heartbeat")).toBe("bash (lost, no heartbeat)");
});

test("another day shows its date", () => {
  const line = eventLines(plain, () => new Date(2025, 5, 2));
  expect(line(event({ case: "runResumed", value: {} }))).toMatch(/^2025-06-01 12:00:00\.007 /);
});

test("an event of a newer writer is said to be one", () => {
  const line = eventLines(plain, () => noon);
  expect(line(create(StreamThreadEventsResponseSchema, { sequence: 3n }))).toContain(
    "an event that this version does not know",
  );
});

const cases = StreamThreadEventsResponseSchema.oneofs[0]!.fields;

test.each(cases.map((field) => [field.localName, field]))(
  "nothing in %s reaches the terminal as a control character",
  (_, field) => {
    const evil = "a\u001b[2J\u202e\nb";
    const filled = reflect(
      StreamThreadEventsResponseSchema,
      create(StreamThreadEventsResponseSchema, { sequence: 1n }),
    );
    const value = filled.get(field as DescField & { fieldKind: "message" });
    fill(value.desc, value.message, evil);
    filled.set(field as DescField & { fieldKind: "message" }, value);
    const line = eventLines(plain, () => noon)(filled.message as StreamThreadEventsResponse);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line.length).toBeGreaterThan(25);
  },
);

test("colours are ours alone", () => {
  const line = eventLines(coloured, () => noon);
  expect(line(event({ case: "toolCallStarted", value: { toolCallId, toolName: "bash", summary: "x" } }))).toContain(
    "\u001b[36m● started",
  );
});

/** Puts the text into every string of the message, and one such entry into every list of messages. */
function fill(desc: DescMessage, message: Message, text: string): void {
  const target = message as unknown as Record<string, unknown>;
  for (const field of desc.fields) {
    if (field.fieldKind === "scalar" && typeof target[field.localName] === "string") target[field.localName] = text;
    if (field.fieldKind === "enum") target[field.localName] = 2; // A value that is set: some texts are only shown with one.
    if (field.fieldKind === "message" && field.message.typeName.startsWith("heddle.") && field.oneof === undefined) {
      const inner = create(field.message);
      fill(field.message, inner, text);
      target[field.localName] = inner;
    }
    if (field.fieldKind === "list" && field.listKind === "message") {
      const inner = create(field.message);
      fill(field.message, inner, text);
      target[field.localName] = [inner];
    }
  }
}

// Heddle's own runs: lifecycle events at once, streaming text coalesced, order kept.
import { expect, test } from "vitest";
import { OutputStream, Role, RunOutcome, TextPurpose } from "../../gen/heddle/v1/event_pb.js";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { RunRecorder } from "../../src/recorder/run-recorder.js";
import { newId } from "../../src/thread/ids.js";
import { type CoreOptions, ManualClock, storedEvents, useCores } from "../support/core.js";

const newCore = useCores();

async function openRun(options: CoreOptions = {}) {
  const core = newCore(options);
  const { id: threadId } = await core.threads.create({ threadId: "", title: "", labels: {} });
  const clock = new ManualClock();
  const run = new RunRecorder(
    core.recorder,
    { tenant: "default", threadId: threadId as never },
    {
      runId: newId(),
      windowMs: 30,
      schedule: (ms, callback) => clock.after(ms, callback),
    },
  );
  await run.record({ case: "runStarted", value: { model: "demo" } });
  const texts = async () =>
    (await storedEvents(core, threadId)).flatMap(({ payload }) =>
      payload.value && "text" in payload.value ? [payload.value.text] : [`<${payload.case}>`],
    );
  return { core, threadId, clock, run, texts };
}

async function startCall(run: RunRecorder, toolCallId: string = newId()): Promise<string> {
  await run.record({ case: "toolCallCreated", value: { toolCallId, toolName: "run_command" } });
  await run.record({ case: "toolCallInputCompleted", value: { toolCallId, summary: "Running npm test" } });
  await run.record({ case: "toolCallStarted", value: { toolCallId } });
  return toolCallId;
}

test("the first piece goes at once, the rest of a window in one event", async () => {
  const { run, clock, texts } = await openRun();
  const messageId = newId();
  await run.record({ case: "messageCreated", value: { messageId, role: Role.ASSISTANT } });
  for (const text of ["Hel", "lo, ", "wor", "ld"]) run.delta({ case: "messageDelta", value: { messageId, text } });
  clock.advance(30);
  run.delta({ case: "messageDelta", value: { messageId, text: "!" } });
  await run.record({ case: "messageCompleted", value: { messageId } });
  expect(await texts()).toEqual(["<runStarted>", "<messageCreated>", "Hel", "lo, world", "!", "<messageCompleted>"]);
});

test("a lifecycle event flushes its own call's text first, and leaves the others alone", async () => {
  const { run, texts } = await openRun();
  const [one, two] = [await startCall(run), await startCall(run)];
  for (const [toolCallId, text] of [
    [one, "1a"],
    [one, "1b"],
    [two, "2a"],
    [two, "2b"],
  ] as const) {
    run.delta({ case: "toolCallOutputDelta", value: { toolCallId, text, stream: OutputStream.STDOUT } });
  }
  await run.record({ case: "toolCallComplete", value: { toolCallId: one, outcome: ToolCallOutcome.SUCCEEDED } });
  expect((await texts()).slice(7)).toEqual(["1a", "2a", "1b", "<toolCallComplete>"]);
  await run.record({ case: "toolCallComplete", value: { toolCallId: two, outcome: ToolCallOutcome.CANCELLED } });
  await run.record({ case: "runCompleted", value: { outcome: RunOutcome.SUCCEEDED } });
  expect((await texts()).slice(11)).toEqual(["2b", "<toolCallComplete>", "<runCompleted>"]);
});

test("stdout and stderr keep their order and their own offsets", async () => {
  const { run, core, threadId } = await openRun();
  const toolCallId = await startCall(run);
  const print = (text: string, stream: OutputStream) =>
    run.delta({ case: "toolCallOutputDelta", value: { toolCallId, text, stream } });
  print("a", OutputStream.STDOUT);
  print("b", OutputStream.STDERR);
  print("c", OutputStream.STDOUT);
  print("d", OutputStream.STDOUT);
  print("e", OutputStream.STDERR);
  await run.record({ case: "toolCallComplete", value: { toolCallId, outcome: ToolCallOutcome.FAILED } });
  const outputs = (await storedEvents(core, threadId, 4n)).flatMap(({ payload }) =>
    payload.case === "toolCallOutputDelta" ? [payload.value] : [],
  );
  expect(outputs.map(({ text, stream, offset }) => [text, stream, offset])).toEqual([
    ["a", OutputStream.STDOUT, 0n],
    ["b", OutputStream.STDERR, 0n],
    ["cd", OutputStream.STDOUT, 1n],
    ["e", OutputStream.STDERR, 1n],
  ]);
});

test("input and the text that is read out of it are joined each by itself, and both stand before the input's end", async () => {
  const { run, clock, texts } = await openRun();
  const toolCallId = newId();
  await run.record({ case: "toolCallCreated", value: { toolCallId, toolName: "speak" } });
  const speak = (input: string, field: string, text: string): void => {
    run.delta({ case: "toolCallInputDelta", value: { toolCallId, text: input } });
    run.delta({ case: "toolCallTextDelta", value: { toolCallId, field, purpose: TextPurpose.SPEECH, text } });
  };
  for (const unit of "abc") speak(unit, "title", unit.toUpperCase());
  clock.advance(30);
  for (const unit of "de") speak(unit, "title", unit.toUpperCase());
  for (const unit of "fg") speak(unit, "body", unit.toUpperCase());
  speak("h", "title", "H");
  await run.record({ case: "toolCallInputCompleted", value: { toolCallId } });
  expect((await texts()).slice(2).join(" ")).toBe("a A bc BC def DE F gh G H <toolCallInputCompleted>");
});

test("input beyond 512 KiB never touches the stream, and InputCompleted says so", async () => {
  const { run, core, threadId } = await openRun();
  const toolCallId = newId();
  await run.record({ case: "toolCallCreated", value: { toolCallId, toolName: "write_file" } });
  for (let n = 0; n < 20; n++)
    run.delta({ case: "toolCallInputDelta", value: { toolCallId, text: "x".repeat(32 * 1024) } });
  const completed = await run.record({ case: "toolCallInputCompleted", value: { toolCallId } });
  expect(completed.payload.value).toMatchObject({ deltasTruncated: true });
  const bytes = (await storedEvents(core, threadId)).reduce(
    (sum, { payload }) => sum + (payload.case === "toolCallInputDelta" ? payload.value.text.length : 0),
    0,
  );
  expect(bytes).toBe(512 * 1024);
});

test("a delta of which redaction leaves nothing is not stored, and what comes after it is hidden all the same", async () => {
  const secret = "correct-horse-battery-staple";
  const { run, core, threadId, texts } = await openRun({ secrets: [secret] });
  const messageId = newId();
  await run.record({ case: "messageCreated", value: { messageId, role: Role.ASSISTANT } });
  for (const text of ["It is ", ...secret.match(/.{1,9}/g)!, ", said she"]) {
    run.delta({ case: "messageDelta", value: { messageId, text } });
    run.flush(messageId);
  }
  await run.record({ case: "messageCompleted", value: { messageId } });
  const pieces = ["It is ", "[redacted]", ", said she"];
  expect(await texts()).toEqual(["<runStarted>", "<messageCreated>", ...pieces, "<messageCompleted>"]);
  const sequences = (await storedEvents(core, threadId)).map(({ sequence }) => sequence);
  expect(sequences).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
});

test("a reasoning begins with the mark where it begins with a secret", async () => {
  const secret = "correct-horse-battery-staple";
  const { run, texts } = await openRun({ secrets: [secret] });
  const reasoningId = newId();
  for (const text of [secret.slice(0, 12), secret.slice(12)]) {
    run.delta({ case: "reasoningDelta", value: { reasoningId, text } });
    run.flush(reasoningId);
  }
  await run.record({ case: "reasoningCompleted", value: { reasoningId } });
  expect(await texts()).toEqual(["<runStarted>", "[redacted]", "<reasoningCompleted>"]);
});

test("text that could not be stored fails the next lifecycle event", async () => {
  const { run } = await openRun();
  run.delta({ case: "messageDelta", value: { messageId: newId(), text: "of no message" } });
  await expect(run.record({ case: "planUpdated", value: { entries: [] } })).rejects.toMatchObject({
    code: "transition_violation",
  });
});

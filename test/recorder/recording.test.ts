// What producers outside can count on: T1, T2, T4, T5, fencing and idempotence.
import { describe, expect, test, vi } from "vitest";
import { RunOutcome, SuspendReason } from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome, ToolCallState, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { recover } from "../../src/recorder/recover.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { ManualClock, openProducer, storedEvents, useCores } from "../support/core.js";
import { inputChunk, RunScript, resultChunk } from "../support/scenario.js";

const core = useCores();

const cases = (events: readonly ThreadEvent[]) => events.map(({ payload }) => payload.case);

describe("a recorded run", () => {
  test("L1: gets dense sequences, thread id, time and run id", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const events = run.whole();
    expect(await producer.record(events.slice(0, 5))).toEqual({ firstSequence: 1n, lastSequence: 5n });
    await producer.record(events.slice(5));
    const stored = await storedEvents(heddle, producer.threadId);
    expect(stored.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => BigInt(index + 1)));
    for (const event of stored) {
      expect(event).toMatchObject({ threadId: producer.threadId, runId: run.runId });
      expect(event.time).toBeDefined();
    }
    expect(cases(stored)).toEqual(cases(events));
  });

  test("each event stands alone: names, summaries, offsets, sizes and durations are filled in", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record(
      [
        run.started(),
        run.created(id, "run_command", ToolKind.UNSPECIFIED),
        run.inputCompleted(id, "Running npm test"),
        run.callStarted(id, "", Executor.UNSPECIFIED),
        run.progress(id, "half way"),
        run.output(id, "αβ"),
        run.output(id, "c"),
        run.complete(id),
      ],
      [inputChunk(id, '{"command":"npm test"}'), resultChunk(id, '{"exit":0}')],
    );
    const values = Object.fromEntries(
      (await storedEvents(heddle, producer.threadId)).map(({ payload }) => [payload.case, payload.value]),
    );
    expect(values["runStarted"]).toMatchObject({ producer: "a test" });
    expect(values["toolCallCreated"]).toMatchObject({ kind: ToolKind.OTHER, title: "Run a command" });
    expect(values["toolCallInputCompleted"]).toMatchObject({ inputBytes: 22n });
    expect(values["toolCallStarted"]).toMatchObject({
      toolName: "run_command",
      summary: "Running npm test",
      executor: Executor.SERVER,
    });
    expect(values["toolCallProgress"]).toMatchObject({ toolName: "run_command", startedSummary: "Running npm test" });
    expect(values["toolCallOutputDelta"]).toMatchObject({ offset: 4n, text: "c" });
    expect(values["toolCallComplete"]).toMatchObject({
      toolName: "run_command",
      success: true,
      outputBytes: 5n,
      resultBytes: 10n,
      exitCode: 0,
    });
    expect(values["toolCallComplete"]).toHaveProperty("duration");
  });

  test("L1: a delta that is hidden whole keeps its place in its batch", async () => {
    const heddle = core({ secrets: ["correct-horse-battery"] });
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    const outputs = ["correct-horse", "-battery", "!"].map((text) => run.output(id, text));
    const events = [run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id), ...outputs];
    expect(await producer.record(events)).toEqual({ firstSequence: 1n, lastSequence: 7n });
    const stored = await storedEvents(heddle, producer.threadId, 4n);
    expect(stored.map(({ payload }) => payload.value)).toMatchObject([
      { text: "[redacted]", offset: 0n },
      { text: "", offset: 10n },
      { text: "!", offset: 10n },
    ]);
  });

  test("T5: summaries are cleaned, cut and free of secrets, also a producer's", async () => {
    const heddle = core({ secrets: ["correct-horse-battery"] });
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([
      run.started(),
      run.created(id),
      run.inputCompleted(id, `two\nlines \u202e and correct-horse-battery ${"x".repeat(500)}`),
      run.callStarted(id),
      run.output(id, "token is correct-horse-"),
      run.output(id, "battery, so there"),
      run.complete(id, ToolCallOutcome.FAILED, ""),
    ]);
    const [, , input, , first, second, complete] = (await storedEvents(heddle, producer.threadId)).map(
      ({ payload }) => payload,
    );
    const summary = input?.case === "toolCallInputCompleted" ? input.value.summary : "";
    expect(summary.length).toBeLessThanOrEqual(200);
    expect(summary).toMatch(/^two lines and \[redacted\] x+…$/);
    const text = (payload: typeof first) => (payload?.case === "toolCallOutputDelta" ? payload.value : undefined);
    expect(`${text(first)?.text}${text(second)?.text}`).not.toContain("horse-battery");
    expect(text(second)?.offset).toBe(BigInt(text(first)?.text.length ?? -1));
    expect(complete?.value).toMatchObject({ summary: "Failed", success: false });
  });

  test("T2: an event that is not allowed is refused by name and rule, and nothing of its batch is stored", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id)]);
    const refused = producer.send({
      producerSequence: 2n,
      events: [run.inputDelta(id, "{}"), run.output(id, "early")],
    });
    await expect(refused).rejects.toMatchObject({
      code: "transition_violation",
      detail: { eventIndex: 1, event: "tool_call_output_delta", subjectId: id, state: "created" },
    });
    expect((await heddle.threads.get(producer.threadId)).headSequence).toBe(2n);
    // The refused batch used no producer sequence: the right one goes on.
    await expect(producer.record([run.inputDelta(id, "{}")])).resolves.toMatchObject({ firstSequence: 3n });
  });

  const id = newId();
  const run = new RunScript();
  test.each<[string, ThreadEvent[], string]>([
    ["a second run", [run.started(), new RunScript().started()], "is open"],
    ["an event without a run", [run.created(id)], "no run is open"],
    ["another run's event", [run.started(), new RunScript().created(id)], "run_id must be"],
    ["a call created twice", [run.started(), run.created(id), run.created(id)], "in use"],
    ["a call after its end", [run.started(), ...run.wholeCall(id), run.output(id, "late")], "nothing follows"],
    ["a second Complete", [run.started(), ...run.wholeCall(id), run.complete(id)], "nothing follows"],
    ["a call created again after its end", [run.started(), ...run.wholeCall(id), run.created(id)], "used"],
    [
      "success without a start",
      [run.started(), run.created(id), run.complete(id)],
      "tool_call_complete (denied, rejected, discarded)",
    ],
    [
      "denial after the start",
      [
        run.started(),
        run.created(id),
        run.inputCompleted(id),
        run.callStarted(id),
        run.complete(id, ToolCallOutcome.DENIED),
      ],
      "tool_call_complete (succeeded, failed)",
    ],
    ["a run that ends before its calls", [run.started(), run.created(id), run.completed()], `tool call ${id}`],
    [
      "a delta of an unknown message",
      [run.started(), run.event({ case: "messageDelta", value: { messageId: id, text: "x" } })],
      "no such message",
    ],
    ["a resume of a running run", [run.started(), run.event({ case: "runResumed", value: {} })], "suspended"],
    [
      "a wait for a call that is not open",
      [
        run.started(),
        run.event({ case: "runSuspended", value: { reason: SuspendReason.APPROVAL, openToolCallIds: [id] } }),
      ],
      "not open",
    ],
  ])("T2: %s is refused", async (_name, events, rule) => {
    const heddle = core();
    const producer = await openProducer(heddle);
    await expect(producer.record(events)).rejects.toMatchObject({
      code: "transition_violation",
      detail: { eventIndex: events.length - 1, rule: expect.stringContaining(rule) },
    });
    expect(await storedEvents(heddle, producer.threadId)).toEqual([]);
  });

  test.each<[string, (run: RunScript) => ThreadEvent, string]>([
    ["a sequence", (run) => ({ ...run.started(), sequence: 7n }), "sequence"],
    ["another thread", (run) => ({ ...run.started(), threadId: newId() }), "thread_id"],
    ["no run id", (run) => ({ ...run.started(), runId: "" }), "run_id"],
    ["no payload", (run) => run.event({ case: undefined }), "payload"],
    ["a control frame", (run) => run.event({ case: "heartbeat", value: {} }), "control"],
    ["an id that is no UUID", (run) => run.created("call_123"), "UUID"],
    ["an unknown outcome", (run) => run.complete(newId(), 99 as ToolCallOutcome), "outcome"],
    ["an oversized delta", (run) => run.output(newId(), "x".repeat(40_000)), "text"],
    [
      "an endless progress",
      (run) => run.event({ case: "toolCallProgress", value: { toolCallId: newId(), total: Number.POSITIVE_INFINITY } }),
      "total",
    ],
    [
      "an offset of its own",
      (run) => run.event({ case: "toolCallOutputDelta", value: { toolCallId: newId(), offset: 3n } }),
      "offset",
    ],
  ])("an event with %s is invalid", async (_name, make, rule) => {
    const producer = await openProducer(core());
    await expect(producer.record([make(new RunScript())])).rejects.toMatchObject({
      code: "invalid_event",
      detail: { eventIndex: 0, rule: expect.stringContaining(rule) },
    });
  });

  test("an event over 64 KiB is refused: what is larger is a body", async () => {
    const producer = await openProducer(core());
    const run = new RunScript();
    const entries = Array.from({ length: 100 }, () => ({ uri: `https://example.com/${"x".repeat(2000)}`, title: "t" }));
    const messageId = newId();
    const events = [
      run.started(),
      run.event({ case: "messageCreated", value: { messageId, role: 2 } }),
      run.event({ case: "messageCompleted", value: { messageId, annotations: entries } }),
    ];
    await expect(producer.record(events)).rejects.toMatchObject({ code: "invalid_event", detail: { eventIndex: 2 } });
  });

  test("input deltas stop at 512 KiB", async () => {
    const producer = await openProducer(core());
    const run = new RunScript();
    const id = newId();
    const deltas = Array.from({ length: 16 }, () => run.inputDelta(id, "x".repeat(32 * 1024)));
    await producer.record([run.started(), run.created(id), ...deltas]);
    await expect(producer.record([run.inputDelta(id, "y")])).rejects.toMatchObject({
      detail: { rule: expect.stringContaining("524288") },
    });
  });
});

describe("a lease", () => {
  test("holds the thread: others are refused with the holder's id", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    await expect(openProducer(heddle, { threadId: producer.threadId })).rejects.toMatchObject({
      code: "thread_busy",
      detail: { kind: "recording", holderId: producer.recordingId, producer: "a test" },
    });
    await expect(heddle.threads.delete(producer.threadId)).rejects.toMatchObject({ code: "thread_busy" });
  });

  test("T1: a producer that goes silent loses it, and what it left open is completed", async () => {
    const clock = new ManualClock();
    const heddle = core({ clock });
    const producer = await openProducer(heddle, { leaseMs: 10_000 });
    const run = new RunScript();
    const [created, running, messageId, discoveryId] = [newId(), newId(), newId(), newId()];
    await producer.record([
      run.started(),
      run.created(created),
      run.created(running),
      run.inputCompleted(running),
      run.callStarted(running),
      run.event({ case: "messageCreated", value: { messageId, role: 2 } }),
      run.event({ case: "reasoningDelta", value: { reasoningId: newId(), text: "hm" } }),
      run.event({ case: "toolDiscoveryStarted", value: { discoveryId, serverLabel: "files" } }),
    ]);
    clock.advance(9_000);
    await producer.send({}); // An empty batch renews.
    clock.advance(9_000);
    expect((await heddle.threads.get(producer.threadId)).openToolCalls).toBe(2);
    clock.advance(2_000);
    await vi.waitFor(async () => expect((await heddle.threads.get(producer.threadId)).openToolCalls).toBe(0));
    const ending = (await storedEvents(heddle, producer.threadId, 8n)).map(({ payload }) => payload);
    expect(ending.map((payload) => payload.case)).toEqual([
      "toolCallComplete",
      "toolCallComplete",
      "messageCompleted",
      "reasoningCompleted",
      "toolDiscoveryComplete",
      "runCompleted",
    ]);
    expect(ending[0]?.value).toMatchObject({
      outcome: ToolCallOutcome.INTERRUPTED,
      summary: "Interrupted: a test went silent",
      success: false,
    });
    expect(ending[4]?.value).toMatchObject({ serverLabel: "files", success: false });
    expect(ending[5]?.value).toMatchObject({ outcome: RunOutcome.INTERRUPTED });
    await expect(producer.record([])).rejects.toMatchObject({ code: "recording_fenced", detail: { epoch: 1n } });
    expect(heddle.recordings.active).toBe(0);
    await expect(openProducer(heddle, { threadId: producer.threadId })).resolves.toMatchObject({ epoch: 2n });
  });

  test("T1: it is lost in silence also when its producer was back before a restart had looked after the thread", async () => {
    const before = core();
    const producer = await openProducer(before, { leaseMs: 10_000 });
    const run = new RunScript();
    await producer.record([run.started(), run.created(newId())]);
    before.recordings.dispose();

    const clock = new ManualClock();
    const after = core({ log: before.log, clock });
    const { threadId, recordingId, epoch } = producer;
    await after.threads.record(threadId, { recordingId, epoch, producerSequence: 0n, events: [], contents: [] });
    await recover(after.log, after.recordings);
    clock.advance(10_000);
    await vi.waitFor(async () => expect((await after.threads.get(threadId)).openToolCalls).toBe(0));
    expect(after.recordings.active).toBe(0);
  });

  test("L3: taking over fences the old epoch off", async () => {
    const heddle = core();
    const old = await openProducer(heddle);
    const run = new RunScript();
    await old.record([run.started(), run.created(newId())]);
    const next = await openProducer(heddle, { threadId: old.threadId, takeOver: true });
    expect(next.epoch).toBe(2n);
    await expect(old.record([run.completed()])).rejects.toMatchObject({
      code: "recording_fenced",
      detail: { epoch: 2n },
    });
    expect(cases(await storedEvents(heddle, old.threadId))).toEqual([
      "runStarted",
      "toolCallCreated",
      "toolCallComplete",
      "runCompleted",
    ]);
    await next.record(new RunScript().whole());
  });

  test("closing completes what is open, frees the thread, and can be repeated", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    await producer.record([run.started(), run.created(newId())]);
    expect(await producer.close()).toBe(4n);
    expect(await producer.close()).toBe(4n);
    const thread = await heddle.threads.get(producer.threadId);
    expect(thread).toMatchObject({ runId: "", openToolCalls: 0 });
    await heddle.threads.delete(producer.threadId);
  });
});

describe("a batch", () => {
  test("sent again answers as the first time and stores nothing", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const batch = { producerSequence: 1n, events: [run.started(), ...run.wholeCall()], contents: [] };
    const first = await producer.send(batch);
    expect(await producer.send(batch)).toMatchObject(first);
    expect((await heddle.threads.get(producer.threadId)).headSequence).toBe(first.lastSequence);
  });

  test.each([2n, 5n, 0n])("with producer sequence %i where 1 is due is a gap", async (producerSequence) => {
    const producer = await openProducer(core());
    await expect(producer.send({ producerSequence, events: [new RunScript().started()] })).rejects.toMatchObject({
      code: "producer_sequence_gap",
      detail: { producerSequence: 0n },
    });
  });

  test("many at once on one thread keep their order", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)]);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => producer.record([run.output(id, `${n} `)])),
    );
    expect(results.map(({ firstSequence }) => firstSequence)).toEqual(results.map((_, n) => BigInt(n + 5)));
    const outputs = (await storedEvents(heddle, producer.threadId, 4n)).map(
      ({ payload }) => payload.case === "toolCallOutputDelta" && payload.value.text,
    );
    expect(outputs.join("")).toBe(Array.from({ length: 100 }, (_, n) => `${n} `).join(""));
  });

  test("a call's id is never used twice, in no thread", async () => {
    const heddle = core();
    const [one, two] = [await openProducer(heddle), await openProducer(heddle)];
    const [first, second] = [new RunScript(), new RunScript()];
    const id = newId();
    await one.record([first.started(), ...first.wholeCall(id)]);
    await expect(two.record([second.started(), second.created(id)])).rejects.toMatchObject({
      detail: { eventIndex: 1, state: "known" },
    });
    await one.record([first.completed()]);
    await expect(one.record([second.started(), second.created(id)])).rejects.toMatchObject({
      detail: { eventIndex: 1, state: "known" },
    });
  });
});

describe("bodies", () => {
  test("show with the event that completes them, whole, in any number of pieces", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id)], [inputChunk(id, '{"a":')]);
    expect((await heddle.toolCalls.get(id)).contents).toEqual([]);
    await producer.record([run.inputCompleted(id)], [inputChunk(id, "1}", 5n)]);
    const ready = await heddle.toolCalls.get(id);
    expect(Buffer.from(ready.contents[0]?.data ?? []).toString()).toBe('{"a":1}');
    expect(ready.call).toMatchObject({ state: ToolCallState.READY, contents: [{ contentId: "input", sizeBytes: 7n }] });

    const big = "r".repeat(1024 * 1024);
    await producer.record([run.callStarted(id)], [resultChunk(id, big)]);
    await producer.record([], [resultChunk(id, big, BigInt(big.length))]);
    expect((await heddle.toolCalls.get(id)).call.contents).toHaveLength(1);
    await producer.record([run.complete(id)]);
    const over = await heddle.toolCalls.get(id);
    expect(over.call.contents.map(({ contentId, sizeBytes }) => [contentId, sizeBytes])).toEqual([
      ["input", 7n],
      ["result", BigInt(2 * big.length)],
    ]);
    expect(over.contents.map(({ info }) => info.contentId)).toEqual(["input"]);
    const pieces: Uint8Array[] = [];
    for await (const { data, offset } of heddle.toolCalls.readContent({
      toolCallId: id,
      contentId: "result",
      offset: 3n,
    })) {
      expect(offset).toBe(3 + pieces.reduce((sum, { length }) => sum + length, 0));
      pieces.push(data);
    }
    expect(Buffer.concat(pieces).toString()).toBe((big + big).slice(3));
    expect(pieces.length).toBeGreaterThan(1);
  });

  test("the hash of an input that came in pieces is right, also after the server was restarted in between", async () => {
    const before = core();
    const producer = await openProducer(before);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id)], [inputChunk(id, "ab")]);
    const after = core({ log: before.log });
    await after.threads.record(producer.threadId, {
      recordingId: producer.recordingId,
      epoch: producer.epoch,
      producerSequence: 2n,
      events: [run.inputCompleted(id)],
      contents: [inputChunk(id, "c", 2n)],
    });
    const completed = (await storedEvents(after, producer.threadId)).at(-1)?.payload;
    expect(completed?.value).toMatchObject({ inputBytes: 3n });
    expect(
      completed?.case === "toolCallInputCompleted" && Buffer.from(completed.value.inputSha256).toString("hex"),
    ).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });

  test("results lose their secrets, inputs stay exact", async () => {
    const heddle = core({ secrets: ["correct-horse-battery"] });
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record(
      [run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)],
      [inputChunk(id, "correct-horse-battery")],
    );
    await producer.record([], [resultChunk(id, "it is correct-horse-")]);
    await producer.record([run.complete(id)], [resultChunk(id, "battery!", 20n)]);
    const texts = Object.fromEntries(
      (await heddle.toolCalls.get(id)).contents.map(({ info, data }) => [info.contentId, Buffer.from(data).toString()]),
    );
    expect(texts["input"]).toBe("correct-horse-battery");
    expect(texts["result"]).not.toContain("horse-battery");
  });

  test("a result that was cut off inside a secret does not show it, in one piece or in several", async () => {
    const heddle = core({ secrets: ["correct-horse-battery"] });
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const [whole, parts] = [newId(), newId()];
    const begin = (id: string) => [run.created(id), run.inputCompleted(id), run.callStarted(id)];
    await producer.record([run.started(), ...begin(whole), ...begin(parts)]);
    await producer.record([run.complete(whole)], [resultChunk(whole, "it is correct-horse-batter")]);
    await producer.record([], [resultChunk(parts, "it is correct")]);
    await producer.record([run.complete(parts)], [resultChunk(parts, "-horse-batter", 13n)]);
    for (const id of [whole, parts]) {
      const { contents } = await heddle.toolCalls.get(id);
      expect(Buffer.from(contents[0]!.data).toString()).toMatch(/^it is (correct)?\[redacted\]$/);
    }
  });

  test.each([
    ["offset", inputChunk(newId(), "x", 5n)],
    ["content_id", { ...inputChunk(newId(), "x"), contentId: "Input!" }],
    ["content_id", { ...inputChunk(newId(), "x"), contentId: "result" }],
    ["role", { ...inputChunk(newId(), "x"), role: 0 }],
    ["data", inputChunk(newId(), "x".repeat(1024 * 1024 + 1))],
  ])("a piece with a wrong %s is refused by name", async (field, chunk) => {
    const producer = await openProducer(core());
    const run = new RunScript();
    await expect(producer.record([run.started(), run.created(chunk.toolCallId)], [chunk])).rejects.toMatchObject({
      code: "invalid_field",
      detail: { field: `contents[0].${field}` },
    });
  });

  test("a piece for a call that is not open is refused", async () => {
    const producer = await openProducer(core());
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), ...run.wholeCall(id)]);
    await expect(producer.record([], [resultChunk(id, "late")])).rejects.toMatchObject({
      detail: { field: "contents[0].tool_call_id" },
    });
  });
});

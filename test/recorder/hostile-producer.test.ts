// Producers that send what nobody should: nothing they store may keep a call from its Complete, a thread from being read, or
// the server from its work.
import { create, toJson } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { openMemoryLog } from "../../src/log/memory.js";
import { recover } from "../../src/recorder/recover.js";
import { HeddleError } from "../../src/thread/errors.js";
import { type ThreadEvent, ThreadEventSchema } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { limits } from "../../src/thread/limits.js";
import { ManualClock, openProducer, replaced, storedEvents, useCores } from "../support/core.js";
import { inputChunk, RunScript, resultChunk } from "../support/scenario.js";

const core = useCores();

const at = (event: ThreadEvent, seconds: bigint, nanos = 0): ThreadEvent => ({
  ...event,
  time: create(TimestampSchema, { seconds, nanos }),
});

describe("whatever is stored can be shown", () => {
  test("any time, span and number that is accepted survives JSON, and the call can be completed", async () => {
    const moment = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -62_135_596_801n, max: 253_402_300_800n }),
    );
    await fc.assert(
      fc.asyncProperty(
        moment,
        fc.integer(),
        moment,
        fc.double(),
        fc.jsonValue(),
        async (seconds, nanos, span, number, json) => {
          const heddle = core();
          const producer = await openProducer(heddle);
          const run = new RunScript();
          const id = newId();
          await producer.record([run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)]);
          const tries = [
            at(run.output(id, "x"), seconds, nanos),
            run.event({
              case: "toolCallProgress",
              value: { toolCallId: id, completed: number, elapsed: { seconds: span, nanos } },
            }),
            at(run.complete(id), seconds),
          ];
          let sequence = 1n;
          for (const event of tries) {
            const answer = await producer
              .send({ producerSequence: sequence + 1n, events: [event] })
              .catch((error: unknown) => error);
            if (answer instanceof HeddleError) expect(answer.code).toMatch(/invalid_event/);
            else sequence++;
          }
          await producer.close();
          const second = await openProducer(heddle, { threadId: producer.threadId });
          const next = new RunScript();
          await second
            .record([next.event({ case: "runStarted", value: { request: { json: json as never } } })])
            .catch((error: unknown) => expect(error).toMatchObject({ code: "invalid_event" }));
          const events = await storedEvents(heddle, producer.threadId);
          for (const event of events) toJson(ThreadEventSchema, event);
          expect(events.filter(({ payload }) => payload.case === "toolCallComplete")).toHaveLength(1);
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([
    ["deeply nested", { a: Array.from({ length: 60 }).reduce<object>((inner) => ({ inner }), {}) }],
    ["too large", { a: "x".repeat(20_000) }],
    ["not finite", { a: Number.NaN }],
  ])("a request that is %s is refused", async (_name, request) => {
    const producer = await openProducer(core());
    const started = new RunScript().event({ case: "runStarted", value: { request: request as never } });
    await expect(producer.record([started])).rejects.toMatchObject({
      code: "invalid_event",
      detail: { rule: expect.stringContaining("request") },
    });
  });

  test("T5: names of tools, servers and clients are cleaned and redacted like summaries", async () => {
    const heddle = core({ secrets: ["correct-horse-battery"] });
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const source = {
      source: { case: "client" as const, value: { name: `a\u202eb correct-horse-battery ${"x".repeat(500)}` } },
    };
    await producer.record([
      run.event({ case: "runStarted", value: { request: { note: "correct-horse-battery" } } }),
      run.event({ case: "toolCallCreated", value: { toolCallId: newId(), toolName: "t", source } }),
    ]);
    const [started, created] = await storedEvents(heddle, producer.threadId);
    expect(JSON.stringify([started, created].map((event) => toJson(ThreadEventSchema, event!)))).not.toMatch(
      /horse|\u202e/,
    );
  });
});

describe("ids", () => {
  test("a malformed call id is named as such, whatever the store makes of it", async () => {
    const log = openMemoryLog();
    const strict = replaced(log, {
      readCall: (tenant, id) =>
        /^[0-9a-f-]{36}$/.test(id) ? log.readCall(tenant, id) : Promise.reject(new Error("never checked")),
    });
    const producer = await openProducer(core({ log: strict }));
    const run = new RunScript();
    await expect(producer.record([run.started(), run.created("call_abc123")])).rejects.toMatchObject({
      code: "invalid_event",
      detail: { eventIndex: 1 },
    });
  });

  test("T3: one id cannot make two calls, not in two runs of one batch, and not in two threads at once", async () => {
    const heddle = core();
    const [one, two] = [await openProducer(heddle), await openProducer(heddle)];
    const [first, second] = [new RunScript(), new RunScript()];
    const id = newId();
    const twice = [
      first.started(),
      ...first.wholeCall(id),
      first.completed(),
      second.started(),
      ...second.wholeCall(id),
    ];
    await expect(one.send({ producerSequence: 1n, events: twice })).rejects.toMatchObject({
      code: "transition_violation",
    });
    const races = await Promise.allSettled([
      one.send({ producerSequence: 1n, events: [first.started(), first.created(id)] }),
      two.send({ producerSequence: 1n, events: [second.started(), second.created(id)] }),
    ]);
    expect(races.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("T3: a batch for a thread that is not there does not free the ids of one that is being stored", async () => {
    const log = openMemoryLog();
    let write = (): void => {};
    const written = new Promise<void>((resolve) => {
      write = resolve;
    });
    let isSlow = false;
    const slow = replaced(log, {
      append: async (key, head, batch) => {
        if (isSlow) await written;
        return log.append(key, head, batch);
      },
    });
    const heddle = core({ log: slow });
    const [one, two] = [await openProducer(heddle), await openProducer(heddle)];
    const [first, second] = [new RunScript(), new RunScript()];
    const id = newId();
    isSlow = true;
    const stored = one.record([first.started(), first.created(id)]);
    await vi.waitFor(() => expect(heddle.recorder.writing).toBe(2));
    const batch = { ...one, producerSequence: 1n, events: [first.started(), first.created(id)], contents: [] };
    await expect(heddle.threads.record(newId(), batch)).rejects.toMatchObject({ code: "thread_not_found" });
    const reused = two.record([second.started(), second.created(id)]);
    write();
    await stored;
    await expect(reused).rejects.toMatchObject({ code: "transition_violation" });
  });

  test("a huge id in an error is cut", async () => {
    const producer = await openProducer(core());
    const run = new RunScript();
    const error = await producer
      .record([run.started(), run.created("x".repeat(100_000))])
      .catch((reason: unknown) => reason);
    expect((error as HeddleError<"invalid_event">).detail.subjectId.length).toBeLessThanOrEqual(64);
  });
});

describe("bounds", () => {
  test("open calls, fields of text and pieces of bodies have a most", async () => {
    const producer = await openProducer(core());
    const run = new RunScript();
    await producer.record([
      run.started(),
      ...Array.from({ length: limits.batchEvents - 1 }, () => run.created(newId())),
    ]);
    const last = newId();
    await producer.record([run.created(last)]);
    await expect(producer.send({ producerSequence: 3n, events: [run.created(newId())] })).rejects.toMatchObject({
      detail: { state: "full" },
    });
    const field = (n: number) =>
      run.event({ case: "toolCallTextDelta", value: { toolCallId: last, field: `f${n}`, purpose: 1, text: "x" } });
    await expect(
      producer.send({
        producerSequence: 3n,
        events: Array.from({ length: limits.textFields + 1 }, (_, n) => field(n)),
      }),
    ).rejects.toMatchObject({
      detail: { eventIndex: limits.textFields },
    });
    const pieces = Array.from({ length: limits.batchContents + 1 }, () => inputChunk(last, ""));
    expect(() => producer.send({ producerSequence: 3n, contents: pieces })).toThrow("contents");
    await producer.close();
  });
});

describe("T1 in bad days", () => {
  test("a thread whose events cannot be read is still listed, ended, taken over and deleted", async () => {
    const log = openMemoryLog();
    const before = core({ log });
    const producer = await openProducer(before);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id)]);
    const damaged = () =>
      Promise.reject(new HeddleError("data_loss", "damaged", { detail: { firstSequence: 1n, lastSequence: 2n } }));
    const after = core({ log: replaced(log, { read: damaged }) });
    expect((await after.threads.list({ pageSize: 10, after: "" })).threads).toMatchObject([
      { runId: run.runId, openToolCalls: 1 },
    ]);
    const next = await openProducer(after, { threadId: producer.threadId, takeOver: true });
    expect((await after.toolCalls.get(id)).call).toMatchObject({ outcome: ToolCallOutcome.INTERRUPTED });
    await next.close();
    await after.threads.delete(producer.threadId);
  });

  test("a recovery that fails once is tried again", async () => {
    const log = openMemoryLog();
    const before = core({ log });
    const producer = await openProducer(before, { leaseMs: 5_000 });
    const run = new RunScript();
    await producer.record([run.started(), run.created(newId())]);
    let failures = 1;
    const flaky = replaced(log, {
      readThread: (key) =>
        failures-- > 0
          ? Promise.reject(new HeddleError("storage_failed", "not now", { detail: { path: "/" } }))
          : log.readThread(key),
    });
    const clock = new ManualClock();
    const after = core({ log: flaky, clock });
    await recover(flaky, after.recordings);
    expect(after.errors).toHaveLength(1);
    clock.advance(2);
    await vi.waitFor(() => expect(failures).toBeLessThan(0));
    await vi.waitFor(async () => {
      clock.advance(5_001);
      expect((await after.threads.get(producer.threadId)).openToolCalls).toBe(0);
    });
  });

  test("an expiry waits for a batch that was heard in time, however slow the disk is", async () => {
    const log = openMemoryLog();
    let release: (() => void) | undefined;
    const slow = replaced(log, {
      append: async (key, head, batch) => {
        if (batch.frames.length > 0)
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        return log.append(key, head, batch);
      },
    });
    const clock = new ManualClock();
    const heddle = core({ log: slow, clock });
    const producer = await openProducer(heddle, { leaseMs: 1_000 });
    const recording = producer.record([new RunScript().started()]);
    await vi.waitFor(() => expect(release).toBeDefined());
    clock.advance(60_000);
    release?.();
    await recording;
    expect((await heddle.threads.get(producer.threadId)).runId).not.toBe("");
  });

  test("a lease is renewed by its own thread and epoch alone", async () => {
    const clock = new ManualClock();
    const heddle = core({ clock });
    const silent = await openProducer(heddle, { leaseMs: 1_000 });
    const other = await openProducer(heddle, { leaseMs: 600_000 });
    for (let n = 0; n < 5; n++) {
      clock.advance(400);
      const forged = { recordingId: silent.recordingId, epoch: 7n, producerSequence: 0n, events: [], contents: [] };
      await expect(heddle.threads.record(other.threadId, forged)).rejects.toMatchObject({ code: "recording_fenced" });
    }
    await vi.waitFor(() => expect(heddle.recordings.active).toBe(1));
  });
});

describe("after the end", () => {
  test("a fenced producer learns what became of its last batch", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    await producer.record([run.started()]);
    const batch = { producerSequence: 2n, events: [run.created(newId())] };
    const first = await producer.send(batch);
    await openProducer(heddle, { threadId: producer.threadId, takeOver: true });
    expect(await producer.send(batch)).toMatchObject(first);
    await expect(producer.send({ producerSequence: 3n, events: [run.completed()] })).rejects.toMatchObject({
      code: "recording_fenced",
      detail: { epoch: 2n, producerSequence: 2n },
    });
  });

  test("a removal that fails leaves the thread as it was; two at once both succeed", async () => {
    const log = openMemoryLog();
    let failures = 1;
    const flaky = replaced(log, {
      remove: (key, head, tombstone) =>
        failures-- > 0 ? Promise.reject(new Error("no space")) : log.remove(key, head, tombstone),
    });
    const heddle = core({ log: flaky });
    const made = await heddle.threads.create({ threadId: "", title: "keep me", labels: { a: "b" } });
    await expect(heddle.threads.delete(made.id)).rejects.toThrow("no space");
    expect(await heddle.threads.get(made.id)).toEqual(made);
    await Promise.all([heddle.threads.delete(made.id), heddle.threads.delete(made.id)]);
    await expect(heddle.threads.get(made.id)).rejects.toMatchObject({ code: "thread_deleted" });
  });

  test("closing needs the recording's own id", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    expect(() => heddle.threads.closeRecording(producer.threadId, { recordingId: "", epoch: 0n })).toThrow(
      "recording_id",
    );
  });

  test("a preview can be read from the question on, the result only at the end", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    const preview = { ...resultChunk(id, "- old\n+ new\n"), contentId: "diff", role: 4 };
    const shown = async () => (await heddle.toolCalls.get(id)).call.contents.map(({ contentId }) => contentId);
    await producer.record([run.started(), run.created(id), run.inputCompleted(id)], [preview, resultChunk(id, "{}")]);
    expect(await shown()).toEqual([]);
    await producer.record([run.event({ case: "toolCallApprovalRequested", value: { toolCallId: id } })]);
    expect(await shown()).toEqual(["diff"]);
    await producer.record([
      run.event({ case: "toolCallApprovalResolved", value: { toolCallId: id, decision: 1 } }),
      run.callStarted(id),
    ]);
    expect(await shown()).toEqual(["diff"]);
    await producer.record([run.complete(id)]);
    expect(await shown()).toEqual(["diff", "result"]);
  });
});

// Background processes in the log: each gets one ProcessStarted and one ProcessExited, whatever becomes of its run, its thread and
// the server.
import { describe, expect, test, vi } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { RecordedProcesses } from "../../src/loop/process-journal.js";
import { recover } from "../../src/recorder/recover.js";
import { newEvent, type ThreadEvent } from "../../src/thread/event.js";
import { defaultTenant, newId, type ThreadId } from "../../src/thread/ids.js";
import { limits } from "../../src/thread/limits.js";
import { ProcessOutcome } from "../../src/thread/schema.js";
import type { ProcessEnding } from "../../src/tool/process/journal.js";
import { called, play, replies, said, send, tool, valuesOf } from "../support/agent.js";
import { type Core, type CoreOptions, openProducer, replaced, storedEvents, useCores } from "../support/core.js";
import { RunScript } from "../support/scenario.js";

const useCore = useCores();

const exited: ProcessEnding = {
  outcome: "exited",
  exitCode: 1,
  summary: "npm run dev exited with code 1",
  outputBytes: 5,
};

/** A core whose tool begins a process in the journal, and does nothing else. */
function open(options: CoreOptions = {}) {
  const journal = new RecordedProcesses();
  const begun: string[] = [];
  const begin = tool("begin", async ({ command = "npm run dev" }, { threadId, toolCallId }) => {
    begun.push(await journal.begin({ threadId, toolCallId, command: String(command) }));
    return {};
  });
  const core = useCore({ tools: [begin], ...options });
  const errors: unknown[] = [];
  journal.recordWith(core.recorder, (error) => errors.push(error));
  return { core, journal, begun, errors };
}

/** A log whose next appends fail, as many as one says. */
function fillingDisk() {
  const memory = openMemoryLog();
  const disk = { failures: 0 };
  const log = replaced(memory, {
    append: async (...args) => {
      if (disk.failures-- > 0) throw new Error("the disk is full");
      return memory.append(...args);
    },
  });
  return { log, disk };
}

const beginning = (count: number) => [
  called(...Array.from({ length: count }, () => ({ name: "begin" }))),
  said("They run."),
];

const processEvents = (events: readonly ThreadEvent[]) =>
  events.flatMap(({ payload, runId }) =>
    payload.case === "processStarted" || payload.case === "processExited"
      ? [{ case: payload.case, id: payload.value.processId, runId }]
      : [],
  );

const keyOf = (threadId: string) => ({ tenant: defaultTenant, threadId: threadId as ThreadId });

const openProcesses = async ({ threads }: Core, threadId: string): Promise<number> =>
  (await threads.get(threadId)).openProcesses;

describe("a process that is begun", () => {
  test("gets the next name of its thread, which is never used again", async () => {
    const { core, journal, begun } = open({ model: replies(...beginning(3), ...beginning(2)) });
    const { threadId, events, runId } = await play(core);
    expect([...begun].sort()).toEqual(["p1", "p2", "p3"]);
    const created = valuesOf(events, "toolCallCreated").map(({ toolCallId }) => toolCallId);
    const started = valuesOf(events, "processStarted");
    expect(started.map(({ toolCallId }) => toolCallId).sort()).toEqual([...created].sort());
    expect(events.find(({ payload }) => payload.case === "processStarted")).toMatchObject({ runId });
    await journal.end(threadId, "p3", exited);
    await play(core, { threadId });
    expect([...begun].sort()).toEqual(["p1", "p2", "p3", "p4", "p5"]);
    expect([await openProcesses(core, threadId), await journal.begun(threadId)]).toEqual([4, 5]);
  });

  test("T5: is told in one line without secrets, and so is its end", async () => {
    const { core, journal } = open({
      secrets: ["correct-horse-battery"],
      model: replies(
        called({ name: "begin", input: { command: `serve\n--key correct-horse-battery ${"x".repeat(300)}` } }),
        said("It runs."),
      ),
    });
    const { threadId } = await play(core);
    await journal.end(threadId, "p1", { ...exited, summary: "gone\u001b[31m with correct-horse-battery" });
    const events = await storedEvents(core, threadId);
    expect(valuesOf(events, "processStarted")[0]!.command).toMatch(/^serve --key \[redacted\] x+…$/);
    expect(valuesOf(events, "processStarted")[0]!.command.length).toBeLessThanOrEqual(limits.summaryUnits);
    expect(valuesOf(events, "processExited")[0]!.summary).toBe("gone with [redacted]");
  });

  test("is refused where too many run", async () => {
    const { core, journal, begun } = open({ model: replies(...beginning(limits.processes), ...beginning(1)) });
    const { threadId } = await play(core);
    expect(begun).toHaveLength(limits.processes);
    const { events } = await play(core, { threadId });
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { success: false, summary: `${limits.processes} processes run in this thread already; stop some first` },
    ]);
    expect(valuesOf(events, "processStarted")).toEqual([]);
    await journal.end(threadId, "p7", exited);
    expect(await openProcesses(core, threadId)).toBe(limits.processes - 1);
  });

  test("is begun by a call that is open alone", async () => {
    const { core, journal } = open({ model: replies(...beginning(1)) });
    const { threadId, events } = await play(core);
    const ended = valuesOf(events, "toolCallCreated").map(({ toolCallId }) => toolCallId);
    for (const call of [...ended, newId()])
      await expect(journal.begin({ threadId, toolCallId: call, command: "true" })).rejects.toMatchObject({
        name: "ToolFailure",
        message: "The call is over: it starts nothing any more",
      });
    expect(await journal.begun(threadId)).toBe(1);
  });

  test("T2: is begun within the open run alone", async () => {
    const { core } = open({ model: replies(said("Nothing.")) });
    const { threadId, runId } = await play(core);
    const value = { toolCallId: newId(), command: "true" };
    const event = newEvent({ runId, payload: { case: "processStarted", value } });
    await expect(core.recorder.write(keyOf(threadId), (draft) => draft.record(event))).rejects.toMatchObject({
      code: "transition_violation",
      detail: { event: "process_started", rule: "a process is started by a call of the open run" },
    });
  });
});

describe("a process that has ended", () => {
  test("is told of when its run is over, with its call, its time and its exit code", async () => {
    const { core, journal } = open({ model: replies(...beginning(1)) });
    const { threadId, runId, events } = await play(core);
    const [call] = valuesOf(events, "toolCallCreated");
    await journal.end(threadId, "p1", exited);
    const last = (await storedEvents(core, threadId)).at(-1)!;
    expect(last).toMatchObject({
      runId,
      payload: {
        case: "processExited",
        value: {
          processId: "p1",
          toolCallId: call!.toolCallId,
          outcome: ProcessOutcome.EXITED,
          exitCode: 1,
          summary: "npm run dev exited with code 1",
          outputBytes: 5n,
          duration: expect.anything(),
        },
      },
    });
    expect(await openProcesses(core, threadId)).toBe(0);
  });

  test("has no exit code where a signal ended it", async () => {
    const { core, journal } = open({ model: replies(...beginning(1)) });
    const { threadId } = await play(core);
    await journal.end(threadId, "p1", { ...exited, outcome: "limit", exitCode: undefined });
    const [exit] = valuesOf(await storedEvents(core, threadId), "processExited");
    expect(exit).toMatchObject({ outcome: ProcessOutcome.LIMIT });
    expect(exit!.exitCode).toBeUndefined();
  });

  test("is told of while a later run is open, which goes on", async () => {
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { core, journal } = open({
      model: replies(...beginning(1), async function* () {
        await gate;
        yield* said("Later.");
      }),
    });
    const { threadId, runId } = await play(core);
    const later = await send(core, { threadId });
    await journal.end(threadId, "p1", exited);
    go();
    await vi.waitFor(async () => {
      const events = await storedEvents(core, threadId);
      expect(events.at(-1)).toMatchObject({ runId: later.runId, payload: { case: "runCompleted" } });
      expect(processEvents(events).at(-1)).toEqual({ case: "processExited", id: "p1", runId });
    });
  });

  test("is told of while a recording holds the thread, which goes on", async () => {
    const { core, journal } = open({ model: replies(...beginning(1)) });
    const { threadId, runId } = await play(core);
    const producer = await openProducer(core, { threadId });
    const run = new RunScript();
    await producer.record([run.started()]);
    await journal.end(threadId, "p1", exited);
    await producer.record([run.completed()]);
    await producer.close();
    const events = await storedEvents(core, threadId);
    expect(events.slice(-3).map((event) => [event.payload.case, event.runId])).toEqual([
      ["runStarted", run.runId],
      ["processExited", runId],
      ["runCompleted", run.runId],
    ]);
  });

  test("is told of once, however often its end is", async () => {
    const { core, journal } = open({ model: replies(...beginning(1)) });
    const { threadId } = await play(core);
    await Promise.all([journal.end(threadId, "p1", exited), journal.end(threadId, "p1", { ...exited, exitCode: 2 })]);
    await journal.end(threadId, "p1", exited);
    expect(valuesOf(await storedEvents(core, threadId), "processExited")).toHaveLength(1);
  });

  test("is told of as soon as the log can be written", async () => {
    const { log, disk } = fillingDisk();
    const { core, journal, errors } = open({ log, model: replies(...beginning(2)) });
    const { threadId } = await play(core);
    disk.failures = 1;
    await journal.end(threadId, "p1", exited);
    expect(errors).toMatchObject([{ message: "the disk is full" }]);
    expect(valuesOf(await storedEvents(core, threadId), "processExited")).toMatchObject([{ processId: "p1" }]);

    // What cannot be told before the server stops is left to the next start.
    disk.failures = Number.POSITIVE_INFINITY;
    const ended = journal.end(threadId, "p2", exited);
    await vi.waitFor(() => expect(errors).toHaveLength(2));
    journal.close();
    await ended;
    expect(await openProcesses(core, threadId)).toBe(1);
  });

  test("is tried once when the server stops: a disk that is full does not hold it up", async () => {
    const { log, disk } = fillingDisk();
    const { core, journal, errors } = open({ log, model: replies(...beginning(2)) });
    const { threadId } = await play(core);
    journal.close();
    await journal.end(threadId, "p1", exited);
    disk.failures = 1;
    await journal.end(threadId, "p2", exited);
    expect(errors).toMatchObject([{ message: "the disk is full" }]);
    expect(valuesOf(await storedEvents(core, threadId), "processExited")).toMatchObject([{ processId: "p1" }]);
  });

  test("is complained about once, however often it is tried", async () => {
    const { log, disk } = fillingDisk();
    const { core, journal, errors } = open({ log, model: replies(...beginning(1)) });
    const { threadId } = await play(core);
    disk.failures = 2;
    await journal.end(threadId, "p1", exited);
    expect(errors).toHaveLength(1);
    expect(await openProcesses(core, threadId)).toBe(0);
  });

  test("needs no more telling when its thread is gone", async () => {
    const { core, journal, errors } = open({ model: replies(...beginning(1)) });
    const { threadId } = await play(core);
    await core.threads.delete(threadId);
    await journal.end(threadId, "p1", exited);
    expect(errors).toEqual([]);
    await expect(journal.begun(threadId)).rejects.toMatchObject({ code: "thread_deleted" });
  });

  test.each([
    ["was not started", "p9", { state: "unknown", rule: "no such process runs in this thread" }],
    ["belongs to another run", "p1", { state: "running", rule: expect.stringMatching(/^run_id must be /) }],
  ])("T2: cannot be one that %s", async (_, processId, detail) => {
    const { core } = open({ model: replies(...beginning(1)) });
    const { threadId } = await play(core);
    const value = { processId, outcome: ProcessOutcome.EXITED };
    const event = newEvent({ runId: newId(), payload: { case: "processExited", value } });
    await expect(core.recorder.write(keyOf(threadId), (draft) => draft.record(event))).rejects.toMatchObject({
      code: "transition_violation",
      detail,
    });
  });
});

describe("a restart", () => {
  test("ends what was open, once, also under a recording", async () => {
    const log = openMemoryLog();
    const { core, journal } = open({ log, model: replies(...beginning(2), ...beginning(1), ...beginning(3)) });
    const idle = await play(core);
    await journal.end(idle.threadId, "p2", exited);
    const recorded = await play(core);
    await openProducer(core, { threadId: recorded.threadId });
    const third = await play(core);

    for (let restart = 0; restart < 2; restart++) {
      const next = useCore({ log });
      await recover(log, next.recordings);
      for (const [{ threadId, runId }, count] of [
        [idle, 2],
        [recorded, 1],
        [third, 3],
      ] as const) {
        const events = await storedEvents(next, threadId);
        const started = processEvents(events).filter((event) => event.case === "processStarted");
        const ended = processEvents(events).filter((event) => event.case === "processExited");
        expect(started).toHaveLength(count);
        expect(ended.map(({ id }) => id).sort()).toEqual(started.map(({ id }) => id).sort());
        for (const event of ended) expect(event.runId).toBe(runId);
        expect(await openProcesses(next, threadId)).toBe(0);
      }
      const [first, second] = valuesOf(await storedEvents(next, idle.threadId), "processExited");
      expect([first, second]).toMatchObject([
        { processId: "p2", outcome: ProcessOutcome.EXITED },
        { processId: "p1", outcome: ProcessOutcome.INTERRUPTED, summary: "Ended: the server stopped" },
      ]);
      expect(second!.exitCode).toBeUndefined();
    }
  });

  test("leaves no name to be used again", async () => {
    const log = openMemoryLog();
    const { core } = open({ log, model: replies(...beginning(2)) });
    const { threadId } = await play(core);
    const next = open({ log, model: replies(...beginning(1)) });
    await recover(log, next.core.recordings);
    await play(next.core, { threadId });
    expect(next.begun).toEqual(["p3"]);
  });
});

test.each([
  ["processStarted", { toolCallId: newId(), command: "true" }],
  ["processExited", { processId: "p1", outcome: ProcessOutcome.EXITED }],
] as const)("a producer may not record %s", async (name, value) => {
  const { core } = open();
  const producer = await openProducer(core);
  const run = new RunScript();
  const event = newEvent({ runId: run.runId, payload: { case: name, value } as ThreadEvent["payload"] });
  await expect(producer.record([run.started(), event])).rejects.toMatchObject({
    code: "invalid_event",
    message: expect.stringContaining("processes are recorded by Heddle alone"),
    detail: { eventIndex: 1 },
  });
  expect((await core.threads.get(producer.threadId)).headSequence).toBe(0n);
});

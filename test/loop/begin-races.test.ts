// Cancels and stops that meet a run where it begins, or where it cannot be ended.
import { describe, expect, test } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { Model } from "../../src/model/model.js";
import { HeddleError } from "../../src/thread/errors.js";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { isCase, replies, said, send, until, valuesOf } from "../support/agent.js";
import { type Core, replaced, useCores } from "../support/core.js";
import { checkLog } from "./log-rules.js";
import { busyModel, immediate, microtasks, Workbench } from "./workbench.js";

const newCore = useCores();

/** A log whose next append lands, and is answered when the test says so. */
function heldLog() {
  const log = openMemoryLog();
  let held: Promise<void> | undefined;
  const append: EventLog["append"] = async (...args) => {
    const result = await log.append(...args);
    await held;
    return result;
  };
  return {
    log: replaced(log, { append }),
    hold: () => {
      let release = () => {};
      held = new Promise<void>((resolve) => {
        release = () => {
          held = undefined;
          resolve();
        };
      });
      return release;
    },
  };
}

describe("around the beginning of a run", () => {
  const runIdOf = async (core: Core, threadId: string): Promise<string> =>
    (await until(core, threadId, isCase("runStarted")))[0]!.runId;

  test("T1: a run that is called off as soon as its first event is seen is called off", async () => {
    const { log, hold } = heldLog();
    const core = newCore({ log, model: busyModel(0) });
    for (let step = 0; step < 24; step++) {
      const { id: threadId } = await core.threads.create({ threadId: "", title: "", labels: {} });
      const release = hold();
      const sent = send(core, { threadId });
      const runId = await runIdOf(core, threadId);
      const cancelled = core.threads.cancelRun(threadId, runId);
      await microtasks(step);
      release();
      await Promise.all([sent, cancelled]);
      const events = await until(core, threadId, isCase("runCompleted"));
      checkLog(events);
      expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    }
    expect(core.errors).toEqual([]);
  });

  test("T1: a run that begins while the server stops is over, or left open, when the server has stopped", async () => {
    for (const afterRestart of ["continue", "end"] as const) {
      const { log, hold } = heldLog();
      const core = newCore({ log, model: replies(said("Hello.")), afterRestart });
      const { id: threadId } = await core.threads.create({ threadId: "", title: "", labels: {} });
      const release = hold();
      const sent = send(core, { threadId });
      await runIdOf(core, threadId);
      const closed = core.runs.close();
      release();
      await Promise.all([sent, closed]);
      expect(core.runs.active).toBe(0);
      const head = (await core.threads.get(threadId)).headSequence;
      await immediate();
      expect((await core.threads.get(threadId)).headSequence).toBe(head);
      expect(core.errors).toEqual([]);
    }
  });
});

test("T1: a call whose end could not be stored is called off once, and its run is not gone on with twice", async () => {
  const inner = openMemoryLog();
  let failures = 0;
  const append: EventLog["append"] = async (...args) => {
    if (failures > 0) {
      failures--;
      throw new HeddleError("storage_full", "No space is left", { detail: { path: "/data" } });
    }
    return inner.append(...args);
  };
  const bench = new Workbench();
  const model = busyModel(1);
  let asked = 0;
  const stream: Model["stream"] = (request, signal) => {
    asked++;
    return model.stream(request, signal);
  };
  const core = newCore({ log: replaced(inner, { append }), model: { ...model, stream }, tools: [bench.tool] });
  const { threadId } = await send(core);
  const [id] = await bench.started(1);
  failures = 2; // The call's end, and the first try to end the run.
  bench.finish(id!);
  while (failures > 0) await immediate();
  await core.toolCalls.cancel(id!, "");
  const events = await until(core, threadId, isCase("runCompleted"));
  checkLog(events);
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.INTERRUPTED }]);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INTERRUPTED }]);
  // The second time while the end was being stored: what it answered is nowhere.
  expect(asked).toBe(2);
  expect(valuesOf(events, "toolCallCreated")).toHaveLength(1);
});

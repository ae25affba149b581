// Cancels that meet the end of what they call off: before it, in the same tick, some microtasks later, after it. T1: one
// Complete each; the work behind each call has stopped; whoever comes too late is told so.
import { afterAll, describe, expect, test } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { keyOf } from "../../src/request-fields.js";
import { HeddleError } from "../../src/thread/errors.js";
import { RunOutcome, ToolCallOutcome, WireThreadState } from "../../src/thread/schema.js";
import { temporaryDirectory } from "../log/support.js";
import { isCase, send, until, valuesOf } from "../support/agent.js";
import { type Core, useCores } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";
import { busyModel, immediate, microtasks, Workbench } from "./workbench.js";

const newCore = useCores();
const callsPerRun = 10;

/** The ways in which a cancel and an end can meet. Each resolves when the cancel is answered. */
type Meeting = (finish: () => void, cancel: () => Promise<void>, step: number) => Promise<void>;
const cancelFirst: Meeting = async (finish, cancel) => {
  await cancel();
  finish();
};
const meetings: Record<string, Meeting> = {
  "the cancel is answered first": cancelFirst,
  "the cancel in the same tick, first": async (finish, cancel) => {
    const answered = cancel();
    finish();
    await answered;
  },
  "the end in the same tick, first": async (finish, cancel) => {
    finish();
    await cancel();
  },
  "the end some microtasks after the cancel": async (finish, cancel, step) => {
    const answered = cancel();
    await microtasks(step % 24);
    finish();
    await answered;
  },
  "the cancel some microtasks after the end": async (finish, cancel, step) => {
    finish();
    await microtasks(step % 24);
    await cancel();
  },
  "the cancel a turn after the end": async (finish, cancel) => {
    finish();
    await immediate();
    await cancel();
  },
};
/** Two steps a meeting: one for each way to cancel. */
const meetingAt = (step: number): Meeting =>
  Object.values(meetings)[Math.floor(step / 2) % Object.keys(meetings).length]!;

/** False when it came too late. Any other refusal is a failure. */
async function inTime(cancel: () => Promise<void>, late: "tool_call_over" | "run_not_found"): Promise<boolean> {
  try {
    await cancel();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(HeddleError);
    expect(error).toMatchObject({ code: late });
    return false;
  }
}

/** What is true after every race. Returns how the calls ended. */
async function checkRace(core: Core, bench: Workbench, threadId: string): Promise<Map<string, ToolCallOutcome>> {
  const events = await until(core, threadId, isCase("runCompleted"));
  checkLog(events, { records: await readRecords(core, events) });
  expect(bench.children.size).toBe(0);
  expect(core.errors).toEqual([]);
  expect(await core.threads.get(threadId)).toMatchObject({ state: WireThreadState.IDLE, openToolCalls: 0 });
  bench.clear();
  return new Map(valuesOf(events, "toolCallComplete").map(({ toolCallId, outcome }) => [toolCallId, outcome]));
}

async function raceCalls(core: Core, bench: Workbench, { cancels }: { cancels: number }): Promise<void> {
  const seen = new Map<ToolCallOutcome, number>();
  for (let step = 0; step < cancels; ) {
    const { threadId } = await send(core);
    const calls = await bench.started(callsPerRun);
    const first = step;
    await Promise.all(
      calls.map((id) => {
        const at = step++;
        // Half of them through the verb, half of them without its look into the log: closer to the end.
        const cancel = () => (at % 2 ? core.toolCalls.cancel(id, "") : core.runs.cancelCall(keyOf(threadId), id));
        const finish = () => bench.finish(id);
        return meetingAt(at)(finish, async () => void (await inTime(cancel, "tool_call_over")), at);
      }),
    );
    const outcomes = await checkRace(core, bench, threadId);
    for (const [index, id] of calls.entries()) {
      const outcome = outcomes.get(id)!;
      if (meetingAt(first + index) === cancelFirst) expect(outcome).toBe(ToolCallOutcome.CANCELLED);
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
  }
  // Each side wins some of the races, and nothing else comes of them.
  expect([...seen.keys()].sort()).toEqual([ToolCallOutcome.SUCCEEDED, ToolCallOutcome.CANCELLED]);
  expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(cancels);
}

async function raceRuns(core: Core, bench: Workbench, { cancels }: { cancels: number }): Promise<void> {
  for (let step = 0; step < cancels; step++) {
    const { threadId, runId } = await send(core);
    const calls = await bench.started(2);
    const finish = () => {
      for (const id of calls) bench.finish(id);
    };
    let wasInTime = false;
    const cancel = async () => {
      wasInTime = await inTime(() => core.threads.cancelRun(threadId, runId), "run_not_found");
    };
    await meetingAt(step)(finish, cancel, step);
    const outcomes = await checkRace(core, bench, threadId);
    for (const one of outcomes.values()) expect([ToolCallOutcome.SUCCEEDED, ToolCallOutcome.CANCELLED]).toContain(one);
    const events = await until(core, threadId, isCase("runCompleted"));
    const { outcome } = valuesOf(events, "runCompleted")[0]!;
    if (outcome === RunOutcome.CANCELLED) expect(wasInTime).toBe(true);
    else expect(outcome).toBe(RunOutcome.SUCCEEDED);
  }
}

describe("in memory", () => {
  test("T1: 1,000 cancels of calls that are ending", async () => {
    const bench = new Workbench();
    await raceCalls(newCore({ model: busyModel(callsPerRun), tools: [bench.tool] }), bench, { cancels: 1_000 });
  });

  test("T1: 200 cancels of runs whose calls are ending", async () => {
    const bench = new Workbench();
    await raceRuns(newCore({ model: busyModel(2), tools: [bench.tool] }), bench, { cancels: 200 });
  });
});

describe("on disk", () => {
  const directory = temporaryDirectory();
  let log: EventLog | undefined;
  afterAll(async () => {
    await log?.close();
    directory.remove();
  });

  test("T1: 100 cancels of calls that are ending", async () => {
    log = await openLmdbLog({ dir: directory.path });
    const bench = new Workbench();
    await raceCalls(newCore({ log, model: busyModel(callsPerRun), tools: [bench.tool] }), bench, { cancels: 100 });
  });
});

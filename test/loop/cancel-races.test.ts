// Cancels that meet the end of what they call off: before it, in the same tick, some microtasks later, after it. T1: one
// Complete each; the work behind each call has stopped; whoever comes too late is told so.
import { afterAll, describe, expect, test } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { Model } from "../../src/model/model.js";
import { HeddleError } from "../../src/thread/errors.js";
import { RunOutcome, ToolCallOutcome, WireThreadState } from "../../src/thread/schema.js";
import { keyOf } from "../../src/threads.js";
import type { ToolContext } from "../../src/tool/tool.js";
import { temporaryDirectory } from "../log/support.js";
import { called, isCase, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { type Core, replaced, useCores } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";

const newCore = useCores();
const callsPerRun = 10;

/** Work that goes on until it is finished or called off, each with a timer of its own as its child. */
class Workbench {
  /** Of all work that has not stopped. */
  readonly children = new Set<NodeJS.Timeout>();
  readonly #finish = new Map<string, () => void>();
  #isReady: () => void = () => {};

  readonly tool = tool("work", (_, { toolCallId, signal }) => this.#work(toolCallId, signal));

  finish(toolCallId: string): void {
    this.#finish.get(toolCallId)?.();
  }

  /** Resolves with the calls that are at work when there are so many. */
  async started(count: number): Promise<string[]> {
    if (this.#finish.size < count)
      await new Promise<void>((resolve) => {
        this.#isReady = () => this.#finish.size >= count && resolve();
      });
    return [...this.#finish.keys()];
  }

  clear(): void {
    this.#finish.clear();
  }

  #work(toolCallId: string, signal: ToolContext["signal"]): Promise<Record<string, never>> {
    return new Promise((resolve, reject) => {
      const child = setInterval(() => {}, 1_000);
      this.children.add(child);
      const stop = (): void => {
        clearInterval(child);
        this.children.delete(child);
        signal.removeEventListener("abort", abort);
      };
      const abort = (): void => {
        stop();
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#finish.set(toolCallId, () => {
        stop();
        resolve({});
      });
      this.#isReady();
    });
  }
}

/** Calls the tool so often whenever somebody says something, and then has nothing more to say. */
const busyModel = (calls = callsPerRun): Model => ({
  name: "test:busy",
  async *stream({ messages }) {
    const isAsked = messages.at(-1)?.role === "user";
    yield* isAsked ? called(...Array.from({ length: calls }, () => ({ name: "work" }))) : said("Done.");
  },
});

async function microtasks(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await Promise.resolve();
}
const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The ways in which a cancel and an end can meet. Each resolves when the cancel is answered. */
type Meeting = (finish: () => void, cancel: () => Promise<void>, step: number) => Promise<void>;
const meetings: Record<string, Meeting> = {
  "the cancel is answered first": async (finish, cancel) => {
    await cancel();
    finish();
  },
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
const meetingAt = (step: number): Meeting => Object.values(meetings)[step % Object.keys(meetings).length]!;

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
async function checkRace(core: Core, bench: Workbench, threadId: string): Promise<ToolCallOutcome[]> {
  const events = await until(core, threadId, isCase("runCompleted"));
  checkLog(events, { records: await readRecords(core, events) });
  expect(bench.children.size).toBe(0);
  expect(core.errors).toEqual([]);
  expect(await core.threads.get(threadId)).toMatchObject({ state: WireThreadState.IDLE, openToolCalls: 0 });
  bench.clear();
  return valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome);
}

async function raceCalls(core: Core, bench: Workbench, { cancels }: { cancels: number }): Promise<void> {
  const seen = new Map<ToolCallOutcome, number>();
  for (let step = 0; step < cancels; ) {
    const { threadId } = await send(core);
    const calls = await bench.started(callsPerRun);
    await Promise.all(
      calls.map((id) => {
        const at = step++;
        // Half of them through the verb, half of them without its look into the log: closer to the end.
        const cancel = () => (at % 2 ? core.toolCalls.cancel(id, "") : core.runs.cancelCall(keyOf(threadId), id));
        const meet = meetingAt(Math.floor(at / 2));
        return meet(
          () => bench.finish(id),
          async () => void (await inTime(cancel, "tool_call_over")),
          at,
        );
      }),
    );
    for (const outcome of await checkRace(core, bench, threadId)) seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
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
    expect(outcomes.every((one) => one === ToolCallOutcome.SUCCEEDED || one === ToolCallOutcome.CANCELLED)).toBe(true);
    const events = await until(core, threadId, isCase("runCompleted"));
    const { outcome } = valuesOf(events, "runCompleted")[0]!;
    if (outcome === RunOutcome.CANCELLED) expect(wasInTime).toBe(true);
    else expect(outcome).toBe(RunOutcome.SUCCEEDED);
  }
}

describe("in memory", () => {
  test("T1: 1,000 cancels of calls that are ending", async () => {
    const bench = new Workbench();
    await raceCalls(newCore({ model: busyModel(), tools: [bench.tool] }), bench, { cancels: 1_000 });
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
    await raceCalls(newCore({ log, model: busyModel(), tools: [bench.tool] }), bench, { cancels: 100 });
  });
});

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
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.INTERRUPTED }]);
  expect(asked).toBe(1);
});

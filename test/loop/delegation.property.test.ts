// Random agents that delegate, two levels deep × random tools × random cancels, answers, stops and deaths: each log keeps T1–T5, and
// no run goes on below a call that is over.
import { create, fromBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import { isError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { childThreadOf, defaultTenant } from "../../src/thread/ids.js";
import {
  type ParentDocument,
  RunOptionsSchema,
  RunOutcome,
  ThreadDocumentSchema,
  ToolCallOutcome,
} from "../../src/thread/schema.js";
import type { Policy } from "../../src/tool/tool.js";
import { valuesOf } from "../support/agent.js";
import { type Core, storedEvents } from "../support/core.js";
import { must, readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";
import { MortalCore } from "./mortal-core.js";
import { familyReplies, RandomFamily } from "./random-family.js";
import { answerer, blow } from "./random-life.js";
import { randomModel } from "./random-model.js";
import { randomTools, textFields, toolNames, toolPlan } from "./random-tools.js";

const policies = fc.constantFrom("allow", "allow", "allow", "ask", "deny");

const scenario = fc.record({
  replies: familyReplies,
  tools: fc.array(toolPlan, { minLength: 4, maxLength: 4 }),
  blows: fc.array(blow, { maxLength: 4 }),
  parallel: fc.boolean(),
  maxSteps: fc.integer({ min: 1, max: 4 }),
  timeLimitMs: fc.constantFrom(60, 100, 200),
  delegation: fc.record({
    depth: fc.constantFrom(1, 2, 2),
    atOnce: fc.integer({ min: 1, max: 3 }),
    perRun: fc.integer({ min: 1, max: 3 }),
  }),
  afterRestart: fc.constantFrom("continue", "continue", "end"),
  policies: fc.array(policies, { minLength: 5, maxLength: 5 }),
  answerers: fc.array(answerer, { minLength: 1, maxLength: 6 }),
});

test("T1–T5: random agents that delegate × random tools × random cancels, answers, stops and deaths", {
  timeout: 120_000,
}, async () => {
  // Always the same ones; LOOP_SEED and LOOP_RUNS try others.
  const seed = Number(process.env["LOOP_SEED"] ?? 5);
  const numRuns = Number(process.env["LOOP_RUNS"] ?? 250);
  const told = { threads: 0, deepest: 0, outcomes: new Map<string, number>() };
  await fc.assert(
    fc.asyncProperty(scenario, async (scenario) => {
      const running = { count: 0 };
      const log = openMemoryLog();
      const server = new MortalCore(log, {
        log,
        model: randomModel(scenario.replies),
        tools: randomTools(scenario.tools, running),
        limits: { toolTimeoutMs: 20, quietMs: 2, stopGraceMs: 5, firstBackoffMs: 1 },
        delegation: scenario.delegation,
        afterRestart: scenario.afterRestart as "continue" | "end",
        policy: { policy: policiesOf(scenario.policies), approvalTimeoutMs: 25 },
      });
      try {
        const options = create(RunOptionsSchema, {
          parallelToolCalls: scenario.parallel,
          maxSteps: scenario.maxSteps,
          timeLimit: durationFromMs(scenario.timeLimitMs),
        });
        await new RandomFamily(server, log, scenario).live(options);
        await vi.waitFor(async () => expect(await log.listBusy()).toEqual([]), { interval: 1, timeout: 5_000 });
        const family = await readFamily(server.core, log);
        for (const { events } of family.values())
          if (events.length > 0) checkLog(events, { records: await readRecords(server.core, events), textFields });
        for (const child of family.values()) if (child.parent) checkChild(child as Child, family);
        for (const { events, parent } of family.values()) {
          told.threads++;
          told.deepest = Math.max(told.deepest, parent?.depth ?? 0);
          if (!parent) continue;
          const words = RunOutcome[valuesOf(events, "runCompleted")[0]?.outcome ?? 0]!;
          told.outcomes.set(words, (told.outcomes.get(words) ?? 0) + 1);
        }
        await vi.waitFor(() => expect([server.core.runs.active, running.count]).toEqual([0, 0]), { interval: 1 });
      } finally {
        server.close();
      }
      expect(server.errors.filter((error) => !isError(error, "storage_full"))).toEqual([]);
    }),
    { seed, numRuns, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
  );
  if (numRuns < enoughRuns) return;
  // What it was all about has happened.
  expect(told.deepest).toBe(2);
  expect(told.threads).toBeGreaterThan(numRuns);
  for (const outcome of ["SUCCEEDED", "CANCELLED", "INCOMPLETE", "INTERRUPTED"])
    expect([...told.outcomes.keys()]).toContain(outcome);
});

/** With fewer, not everything need happen. */
const enoughRuns = 100;

interface Member {
  readonly events: readonly ThreadEvent[];
  readonly parent: ParentDocument | undefined;
}

interface Child extends Member {
  readonly parent: ParentDocument;
}

type Family = ReadonlyMap<string, Member>;

async function readFamily(core: Core, log: EventLog): Promise<Family> {
  const family = new Map<string, Member>();
  for (const { threadId, document } of await log.listThreads(defaultTenant, { limit: 10_000 })) {
    const { parent } = fromBinary(ThreadDocumentSchema, document);
    family.set(threadId, { events: await storedEvents(core, threadId), parent });
  }
  return family;
}

/** Parent and child name each other, and the child's run is over with the call. */
function checkChild({ events, parent }: Child, family: Family): void {
  const above = family.get(parent.threadId);
  must(above !== undefined, "the thread above is there");
  must(parent.depth === (above.parent?.depth ?? 0) + 1, "it is one deeper than the thread above");
  const ofCall = above.events.filter(({ payload }) => {
    const { value } = payload;
    return value !== undefined && "toolCallId" in value && value.toolCallId === parent.toolCallId;
  });
  const [created] = valuesOf(ofCall, "toolCallCreated");
  must(created?.childThreadId === childThreadOf(parent.toolCallId), "the call above names the thread");
  must(valuesOf(ofCall, "toolCallStarted").length === 1, "the thread was made when the call had started");
  const [end] = valuesOf(ofCall, "toolCallComplete");
  must(end !== undefined, "T1: the call above is over");
  for (const call of valuesOf(events, "toolCallCreated"))
    must(call.parentToolCallId === parent.toolCallId, "a call names the call above");
  const [ran] = valuesOf(events, "runCompleted");
  must(events.length === 0 || ran !== undefined, "the run below is over");
  if (end.outcome !== ToolCallOutcome.SUCCEEDED) return;
  must(ran?.outcome === RunOutcome.SUCCEEDED, "what succeeded below succeeded above");
  const endTime = ofCall.at(-1)!.time!;
  const ranTime = events.at(-1)!.time!;
  must(
    ranTime.seconds < endTime.seconds || (ranTime.seconds === endTime.seconds && ranTime.nanos <= endTime.nanos),
    "the run below ended before the call did",
  );
}

const policiesOf = (policies: readonly string[]) =>
  Object.fromEntries([...toolNames, "delegate_task"].map((name, index) => [name, policies[index] as Policy]));

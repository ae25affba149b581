// Random models × random tools × random cancels, stops and deaths: whatever happens, the log keeps T1–T5, folds to one state,
// and is a conversation that a model can be asked with.

import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { readConversation } from "../../src/loop/conversation.js";
import type { ModelMessage } from "../../src/model/model.js";
import { keyOf } from "../../src/request-fields.js";
import { isError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { RunOptionsSchema, WireThreadState } from "../../src/thread/schema.js";
import { ThreadState } from "../../src/thread/state.js";
import type { Policy } from "../../src/tool/tool.js";
import { declared } from "../support/client-tools.js";
import { storedEvents } from "../support/core.js";
import { readRecords } from "./call-records.js";
import { checkLog } from "./log-rules.js";
import { MortalCore } from "./mortal-core.js";
import { clientPlan } from "./random-clients.js";
import { answerer, blow, RandomLife } from "./random-life.js";
import { type RandomModel, randomModel, reply } from "./random-model.js";
import { randomTools, textFields, toolNames, toolPlan } from "./random-tools.js";
import { slowLog } from "./slow-log.js";

const scenario = fc.record({
  replies: fc.array(reply, { maxLength: 5 }),
  tools: fc.array(toolPlan, { minLength: 4, maxLength: 4 }),
  blows: fc.array(blow, { maxLength: 4 }),
  messages: fc.integer({ min: 1, max: 2 }),
  parallel: fc.boolean(),
  maxSteps: fc.integer({ min: 1, max: 5 }),
  timeLimitMs: fc.constantFrom(60, 60, 200),
  afterRestart: fc.constantFrom("continue", "continue", "end"),
  policies: fc.array(fc.constantFrom("allow", "allow", "ask", "ask", "deny"), { minLength: 4, maxLength: 4 }),
  answerers: fc.array(answerer, { minLength: 1, maxLength: 6 }),
  /** Which tools are run by clients. */
  atClients: fc.subarray([...toolNames]),
  clients: fc.array(clientPlan, { minLength: 1, maxLength: 6 }),
  cut: fc.nat(),
  diskMs: fc.array(fc.constantFrom(0, 0, 0, 1, 2, 8), { maxLength: 7 }),
  endWhenCutOff: fc.boolean(),
});

test("T1–T5: random models × random tools, here and at clients × random cancels, answers, stops and deaths", {
  timeout: 120_000,
}, async () => {
  // Always the same ones; LOOP_SEED and LOOP_RUNS try others.
  const seed = Number(process.env["LOOP_SEED"] ?? 3);
  const numRuns = Number(process.env["LOOP_RUNS"] ?? 300);
  await fc.assert(
    fc.asyncProperty(scenario, async (scenario) => {
      const model = randomModel(scenario.replies);
      const running = { count: 0 };
      // What a process that died had under way would land in the middle of the next one's life.
      const isDeadly = scenario.blows.some(({ kind }) => kind.endsWith("the write"));
      const log = isDeadly ? openMemoryLog() : slowLog(openMemoryLog(), scenario.diskMs);
      const server = new MortalCore(log, {
        log,
        model,
        tools: randomTools(scenario.tools, running),
        limits: { toolTimeoutMs: 20, quietMs: 2, stopGraceMs: 5, claimTimeoutMs: 25, firstBackoffMs: 1 },
        afterRestart: scenario.afterRestart as "continue" | "end",
        policy: { policy: policiesOf(scenario.policies), approvalTimeoutMs: 25 },
      });
      try {
        const life = new RandomLife(server, scenario.blows, scenario);
        const threadId = await life.begin(scenario.atClients.map((name) => declared(name)));
        const options = create(RunOptionsSchema, {
          parallelToolCalls: scenario.parallel,
          maxSteps: scenario.maxSteps,
          timeLimit: durationFromMs(scenario.timeLimitMs),
          endWhenCutOff: scenario.endWhenCutOff,
        });
        for (let message = 0; message < scenario.messages; message++) await life.live(options);
        const events = await storedEvents(server.core, threadId);
        const streamed = scenario.atClients.includes("say") ? {} : textFields;
        checkLog(events, { records: await readRecords(server.core, events), textFields: streamed });
        checkFold(events, scenario.cut);
        const { messages } = await readConversation(log, keyOf(threadId));
        checkConversation(messages);
        checkAsked(model, messages);
        expect(await server.core.threads.get(threadId)).toMatchObject({
          state: WireThreadState.IDLE,
          openToolCalls: 0,
        });
        await vi.waitFor(() => expect([server.core.runs.active, running.count]).toEqual([0, 0]), { interval: 1 });
      } finally {
        server.close();
      }
      const isOwnFault = (error: unknown): boolean => !isError(error, "storage_full");
      expect(server.errors.filter(isOwnFault)).toEqual([]);
    }),
    { seed, numRuns, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
  );
});

/** T2 again, by the table; and the state is the same however the log is cut in two. */
function checkFold(events: readonly ThreadEvent[], cut: number): void {
  const whole = new ThreadState();
  let resumed = new ThreadState();
  for (const [index, event] of events.entries()) {
    if (index === cut % events.length) {
      resumed = resumed.fork();
      resumed.settle();
    }
    expect(whole.violation({ ...event, sequence: 0n })).toBeUndefined();
    whole.apply(event);
    resumed.apply(event);
    expect(shown(resumed)).toEqual(shown(whole));
  }
  expect(shown(whole)).toEqual(shown(new ThreadState()));
}

const shown = ({ run, calls, messages, reasonings, discoveries }: ThreadState) => ({
  run,
  calls: [...calls.values()],
  open: [...messages.keys(), ...reasonings.keys(), ...discoveries.keys()],
});

/** Every call has one answer, behind its message and in its order. */
function checkConversation(messages: readonly ModelMessage[]): void {
  let expected: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") expect(message.callId).toBe(expected.shift());
    else expect(expected).toEqual([]);
    if (message.role === "assistant") expected = message.calls.map(({ id }) => id);
  }
  expect(expected).toEqual([]);
}

/**
 * What the model was asked with was a conversation that it has to answer, and is what the log says. It is asked while the last ends are
 * being stored: one that was lost on the way is interrupted in the log.
 */
function checkAsked({ requests }: RandomModel, messages: readonly ModelMessage[]): void {
  for (const request of requests) {
    checkConversation(request.messages);
    expect(request.messages.at(-1)!.role).not.toBe("assistant");
    const answered = request.messages.findLastIndex(({ role }) => role === "assistant");
    const stored = messages.slice(0, request.messages.length);
    const asked = request.messages.map((message, index) =>
      index > answered && isInterrupted(stored[index]) ? stored[index]! : message,
    );
    expect(asked.map(inShort)).toEqual(stored.map(inShort));
  }
}

const isInterrupted = (message: ModelMessage | undefined): boolean =>
  message?.role === "tool" && message.isError && message.text.startsWith("Interrupted");

/** What does not change when a message is stored: lone surrogates and names that nobody could take back do. */
function inShort(message: ModelMessage): unknown {
  if (message.role === "assistant") return { role: message.role, calls: message.calls.map(({ id }) => id) };
  return { ...message, text: Buffer.from(message.text).toString() };
}

const policiesOf = (policies: readonly string[]) =>
  Object.fromEntries(toolNames.map((name, index) => [name, policies[index] as Policy]));

// The verbs of executors upon a server that has changed since the call was handed over.
import { afterEach, expect, test } from "vitest";
import { openMemoryLog } from "../src/log/memory.js";
import { defaultTenant, type ThreadId } from "../src/thread/ids.js";
import { RunOutcome, ToolCallOutcome, WireThreadState } from "../src/thread/schema.js";
import { called, clientToolOf, isCase, replies, said, send, until, valuesOf } from "./support/agent.js";
import { type Core, type CoreOptions, openCore } from "./support/core.js";

const opened: Core[] = [];
afterEach(async () => {
  for (const { runs, feeds, recordings } of opened.splice(0)) {
    await runs.close();
    feeds.close();
    recordings.dispose();
  }
});

const open = (options: CoreOptions): Core => {
  const core = openCore(options);
  opened.push(core);
  return core;
};

/** A call that waits for a client, and a server that does not have its run's model. */
async function handedOver() {
  const log = openMemoryLog();
  const first = open({ log, model: replies(called({ name: "look" })) });
  const offer = { threadId: "", executorName: "here", tools: [clientToolOf("look")] };
  await first.toolOffers.offer(offer, new AbortController().signal).next();
  const { threadId } = await send(first);
  await until(first, threadId, isCase("runSuspended"));
  await first.runs.close();

  const key = { tenant: defaultTenant, threadId: threadId as ThreadId };
  const without = open({ log });
  await without.runs.recover(key);
  const [call] = await without.toolCalls.offered({ threadId, pageSize: 1, after: "" });
  return { log, key, threadId, without, call };
}

test("T1: an end that a server without the run's model is told is kept, and the run waits for one that has it", async () => {
  const { log, key, threadId, without, call } = await handedOver();
  const claim = { toolCallId: call!.id, executorName: "here", claimToken: "", leaseMs: undefined };
  const { claimToken } = await without.executorCalls.claim(claim);
  const complete = { outcome: ToolCallOutcome.SUCCEEDED, summary: "Looked" };
  await without.executorCalls.complete(call!.id, claimToken, { complete, result: Buffer.from('"seen"') });
  expect(await without.threads.get(threadId)).toMatchObject({ state: WireThreadState.SUSPENDED, openToolCalls: 0 });
  await without.runs.close();

  const model = replies(said("Done."));
  const last = open({ log, model });
  await last.runs.recover(key);
  const events = await until(last, threadId, isCase("runCompleted"));
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: "tool", text: '"seen"' });
});

test("T1: a call that is called off on a server without the run's model is over, and the run waits for one that has it", async () => {
  const { log, key, threadId, without, call } = await handedOver();
  await without.toolCalls.cancel(call!.id, "not needed");
  expect(await without.threads.get(threadId)).toMatchObject({ state: WireThreadState.SUSPENDED, openToolCalls: 0 });
  await without.runs.close();

  const last = open({ log, model: replies(said("Done.")) });
  await last.runs.recover(key);
  const events = await until(last, threadId, isCase("runCompleted"));
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
});

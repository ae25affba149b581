// The append that the recorder makes when a producer records one line of output, and the puts that it comes to.
import type { Operation } from "../../src/log/commit-queue.js";
import type { AppendBatch, EventLog, ThreadKey } from "../../src/log/event-log.js";
import { threadKey } from "../../src/log/lmdb-keys.js";
import { appendWrite } from "../../src/log/lmdb-writes.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId, type ThreadId, type ToolCallId } from "../../src/thread/ids.js";
import { type BuiltCore, openBuiltCore, wire } from "./built.js";
import { eventTextBytes, OutputScript } from "./events.js";

const leaseMs = 600_000;

/** A recording with one running call. Each `record` is a batch of one line of output. */
export async function openOutputProducer({ threads }: Pick<BuiltCore, "threads">) {
  const { id: threadId } = await threads.create({ threadId: "", title: "bench", labels: {} });
  const hold = await threads.openRecording(threadId, { producer: "bench", leaseMs, takeOver: false });
  let producerSequence = 0n;
  const send = (events: readonly ThreadEvent[]) =>
    threads.record(threadId, { ...hold, producerSequence: ++producerSequence, events, contents: [] });
  const script = new OutputScript();
  const { lastSequence: head } = await send(script.opening());
  const line = [script.line(eventTextBytes)];
  return { threadId, head, record: () => send(line) };
}

/** The log, with somebody told of every append before it is made, who can give back what to call when it is stored. */
export function watchAppends(log: EventLog, onAppend: (batch: AppendBatch) => (() => void) | undefined): EventLog {
  const append: EventLog["append"] = (key, head, batch) => {
    const onStored = onAppend(batch);
    const appended = log.append(key, head, batch);
    if (onStored) appended.then(onStored);
    return appended;
  };
  // Plain and bound once: the bench must not show up in what it measures.
  return {
    create: log.create.bind(log),
    append,
    remove: log.remove.bind(log),
    readThread: log.readThread.bind(log),
    listThreads: log.listThreads.bind(log),
    listBusy: log.listBusy.bind(log),
    read: log.read.bind(log),
    waitBeyond: log.waitBeyond.bind(log),
    watch: log.watch.bind(log),
    readCall: log.readCall.bind(log),
    listCalls: log.listCalls.bind(log),
    readBody: log.readBody.bind(log),
    close: log.close.bind(log),
  };
}

/** Records one line in a new data directory, and keeps what the recorder gave to the log. */
export async function capturedAppend(dir: string): Promise<AppendBatch> {
  const { log, close } = await openBuiltCore(dir);
  let captured: AppendBatch | undefined;
  const core = await wire(
    watchAppends(log, (batch) => {
      captured = batch;
      return undefined;
    }),
  );
  const { record } = await openOutputProducer(core);
  await record();
  await core.close();
  await close();
  return captured!;
}

/** What the store puts for an append. */
export const putsOf = (key: ThreadKey, head: bigint, batch: AppendBatch): readonly Operation[] =>
  appendWrite(threadKey(key), head, batch);

/**
 * The puts of a thread's appends, one group each, for a new thread with calls of its own: the ids of calls are the keys of an index that
 * all threads share, and would else be put over those of the time before.
 */
export function putsOfAppends(appends: readonly AppendBatch[]): Operation[][] {
  const key = threadKey({ tenant: "default", threadId: newId<ThreadId>() });
  const ids = new Map<ToolCallId, ToolCallId>();
  const anew = <Of extends { readonly callId: ToolCallId }>(of: Of): Of => {
    const callId = ids.get(of.callId) ?? newId<ToolCallId>();
    ids.set(of.callId, callId);
    return { ...of, callId };
  };
  let head = 0n;
  return appends.map(({ calls = [], bodies = [], ...batch }) => {
    const group = appendWrite(key, head, { ...batch, calls: calls.map(anew), bodies: bodies.map(anew) });
    head += BigInt(batch.frames.length);
    return group.filter(({ value }) => value !== undefined);
  });
}

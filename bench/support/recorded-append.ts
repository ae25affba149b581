// The append that the recorder makes when a producer records one line of output, and the puts that it comes to.
import type { Operation } from "../../src/log/commit-queue.js";
import type { AppendBatch, EventLog, ThreadKey } from "../../src/log/event-log.js";
import { threadKey } from "../../src/log/lmdb-keys.js";
import type { Tables } from "../../src/log/lmdb-tables.js";
import { appendWrite } from "../../src/log/lmdb-writes.js";
import { openCore, openProducer } from "../../test/support/core.js";
import { eventTextBytes, OutputScript } from "./events.js";

export type Core = ReturnType<typeof openCore>;

/** A recording with one running call. Each `record` is a batch of one line of output. */
export async function openOutputProducer(core: Core) {
  const script = new OutputScript();
  const producer = await openProducer(core, { leaseMs: 600_000 });
  const { lastSequence: head } = await producer.record(script.opening());
  return { threadId: producer.threadId, head, record: () => producer.record([script.line(eventTextBytes)]) };
}

/** Records one line, and keeps what the recorder gave to the log. */
export async function capturedAppend(log: EventLog): Promise<AppendBatch> {
  let captured: AppendBatch | undefined;
  const watched = new Proxy(log, {
    get(target, name: keyof EventLog) {
      if (name !== "append") return target[name].bind(target);
      return (key: ThreadKey, head: bigint, batch: AppendBatch) => {
        captured = batch;
        return target.append(key, head, batch);
      };
    },
  });
  const core = openCore({ log: watched });
  const producer = await openOutputProducer(core);
  await producer.record();
  core.recordings.dispose();
  core.feeds.close();
  return captured!;
}

/** What the store puts for an append. Only calls, which a line of output does not touch, need the tables. */
export const putsOf = (key: ThreadKey, head: bigint, batch: AppendBatch): readonly Operation[] =>
  appendWrite({} as Tables, threadKey(key), head, batch);

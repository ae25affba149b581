// L4: flush → acknowledge → deliver, asserted by a store that tells when it has flushed.
import { expect, test, vi } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import { decodeFrames } from "../../src/thread/frame.js";
import { openProducer, useCores } from "../support/core.js";
import { RunScript } from "../support/scenario.js";

const newCore = useCores();

/** A store whose flushes the test lets happen one by one, and which writes down when they did. */
function instrumented(journal: string[]) {
  const log = openMemoryLog();
  const held: (() => void)[] = [];
  let hold = false;
  const append: EventLog["append"] = async (key, expectedHead, batch) => {
    if (hold) await new Promise<void>((resolve) => held.push(resolve));
    const head = await log.append(key, expectedHead, batch);
    for (let n = 1n; n <= BigInt(batch.frames.length); n++) journal.push(`flushed ${expectedHead + n}`);
    return head;
  };
  const store = new Proxy(log, {
    get: (target, name) => (name === "append" ? append : target[name as keyof EventLog].bind(target)),
  });
  return {
    store,
    holdFlushes: () => {
      hold = true;
    },
    held,
  };
}

test("L4: nothing is acknowledged or delivered before it is flushed", async () => {
  const journal: string[] = [];
  const { store, holdFlushes, held } = instrumented(journal);
  const heddle = newCore({ log: store });
  const producer = await openProducer(heddle);
  const watch = async () => {
    const sink = {
      write: (frames: Buffer) => {
        for (const { sequence } of decodeFrames(frames)) if (sequence > 0n) journal.push(`delivered ${sequence}`);
        return true;
      },
      end: () => {},
    };
    (await heddle.threads.openFeed({ threadId: producer.threadId, afterSequence: 0n, follow: true }, sink)).start();
  };
  await watch();
  await watch();
  holdFlushes();

  const events = new RunScript().whole().slice(0, 10);
  const acknowledged = events.map((event) =>
    producer.record([event]).then(({ lastSequence }) => journal.push(`acknowledged ${lastSequence}`)),
  );
  await vi.waitFor(() => expect(held).toHaveLength(1));
  expect(journal, "nothing may be seen while the flush is held").toEqual([]);
  while (journal.filter((line) => line.startsWith("acknowledged")).length < events.length) {
    await vi.waitFor(() => expect(held.length).toBeGreaterThan(0));
    held.shift()?.();
    await vi.waitFor(() =>
      expect(
        held.length > 0 || journal.filter((line) => line.startsWith("acknowledged")).length === events.length,
      ).toBe(true),
    );
  }
  await Promise.all(acknowledged);
  await vi.waitFor(() =>
    expect(journal.filter((line) => line.startsWith("delivered"))).toHaveLength(2 * events.length),
  );

  for (let n = 1; n <= events.length; n++) {
    const flushed = journal.indexOf(`flushed ${n}`);
    expect(flushed).toBeGreaterThanOrEqual(0);
    expect(journal.indexOf(`acknowledged ${n}`)).toBeGreaterThan(flushed);
    expect(journal.indexOf(`delivered ${n}`)).toBeGreaterThan(flushed);
    expect(journal.filter((line) => line === `delivered ${n}`)).toHaveLength(2);
  }
});

test("L6: a failed flush is no acknowledgement, delivers nothing, and the next batch goes on", async () => {
  const log = openMemoryLog();
  let failures = 1;
  const failing = new Proxy(log, {
    get: (target, name) =>
      name === "append" && failures > 0
        ? (key: Parameters<EventLog["append"]>[0], head: bigint, batch: Parameters<EventLog["append"]>[2]) => {
            if (batch.frames.length === 0) return target.append(key, head, batch);
            failures--;
            return Promise.reject(new Error("no space left on device"));
          }
        : target[name as keyof EventLog].bind(target),
  });
  const heddle = newCore({ log: failing });
  const producer = await openProducer(heddle);
  const run = new RunScript();
  const batch = { producerSequence: 1n, events: [run.started(), ...run.wholeCall()] };
  await expect(producer.send(batch)).rejects.toThrow("no space left");
  expect((await heddle.threads.get(producer.threadId)).headSequence).toBe(0n);
  await expect(producer.send(batch)).resolves.toMatchObject({ firstSequence: 1n });
});

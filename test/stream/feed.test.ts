// What a subscriber can count on: S1, S2, and the order of control frames.
import { afterEach, describe, expect, test, vi } from "vitest";
import { Closing_Reason } from "../../gen/heddle/v1/event_pb.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { Sink } from "../../src/stream/feed.js";
import { tailLimits } from "../../src/stream/tail.js";
import { HeddleError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { decodeFrames } from "../../src/thread/frame.js";
import { newId } from "../../src/thread/ids.js";
import { type Core, openProducer, replaced, useCores } from "../support/core.js";
import { RunScript } from "../support/scenario.js";

const core = useCores();
afterEach(() => {
  vi.useRealTimers();
});

/** A subscriber that takes what it is given, or, when it is told to, nothing. */
class Watcher implements Sink {
  readonly events: ThreadEvent[] = [];
  writes = 0;
  accepts = true;
  over: { error: HeddleError | undefined } | undefined;

  write(frames: Buffer): boolean {
    this.writes++;
    this.events.push(...decodeFrames(frames));
    return this.accepts;
  }

  end(error?: HeddleError): void {
    this.over = { error };
  }

  get cases() {
    return this.events.map(({ payload }) => payload.case);
  }

  get sequences() {
    return this.events.filter(({ sequence }) => sequence > 0n).map(({ sequence }) => Number(sequence));
  }
}

async function watch(
  heddle: Core,
  threadId: string,
  { after = 0n, follow = true }: { after?: bigint; follow?: boolean } = {},
) {
  const watcher = new Watcher();
  const feed = await heddle.threads.openFeed({ threadId, afterSequence: after, follow }, watcher);
  feed.start();
  return { watcher, feed };
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Whatever was to be done at the end of this turn, and at the end of the next ones, is done. */
async function turnsOver(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

async function runningCall(heddle: Core) {
  const producer = await openProducer(heddle);
  const run = new RunScript();
  const id = newId();
  await producer.record([run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)]);
  return { ...producer, print: (text: string) => producer.record([run.output(id, text)]) };
}

describe("a feed", () => {
  test("sends Ready, what is stored, CaughtUp, then what happens", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId);
    await vi.waitFor(() => expect(watcher.cases.at(-1)).toBe("caughtUp"));
    await print("live");
    await vi.waitFor(() => expect(watcher.sequences).toEqual(upTo(5)));
    expect(watcher.cases).toEqual([
      "ready",
      "runStarted",
      "toolCallCreated",
      "toolCallInputCompleted",
      "toolCallStarted",
      "caughtUp",
      "toolCallOutputDelta",
    ]);
    expect(watcher.events[0]?.payload.value).toMatchObject({ headSequence: 4n, firstSequence: 1n });
  });

  test("of an empty thread is Ready and CaughtUp", async () => {
    const heddle = core();
    const { id } = await heddle.threads.create({ threadId: "", title: "", labels: {} });
    const { watcher } = await watch(heddle, id, { follow: false });
    expect(watcher.cases).toEqual(["ready", "caughtUp"]);
    expect(watcher.events[0]?.payload.value).toMatchObject({ headSequence: 0n, firstSequence: 0n });
    expect(watcher.over).toEqual({ error: undefined });
  });

  test("S1: resumed after any position it sends exactly what is after it", async () => {
    const heddle = core();
    const { threadId, record } = await openProducer(heddle);
    const events = new RunScript().whole();
    await record(events);
    for (let after = 0; after <= events.length; after++) {
      const { watcher } = await watch(heddle, threadId, { after: BigInt(after), follow: false });
      await vi.waitFor(() => expect(watcher.over).toEqual({ error: undefined }));
      expect(watcher.sequences).toEqual(upTo(events.length, after + 1));
      expect(watcher.cases.at(-1)).toBe("caughtUp");
    }
  });

  test("without follow it ends exactly at the head that Ready named, whatever is recorded meanwhile", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const watcher = new Watcher();
    const feed = await heddle.threads.openFeed({ threadId, afterSequence: 0n, follow: false }, watcher);
    await print("one more");
    feed.start();
    await vi.waitFor(() => expect(watcher.over).toBeDefined());
    expect(watcher.sequences).toEqual(upTo(4));
  });

  test("S2: a subscriber that does not read is given one write, slows nobody, and catches up from the log", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const { watcher: slow, feed } = await watch(heddle, threadId, { after: 4n });
    const { watcher: fast } = await watch(heddle, threadId, { after: 4n });
    slow.accepts = false;
    // Far more than the tail keeps, so that the slow one has to read the log.
    for (let n = 0; n < 40; n++) await print("x".repeat(30_000));
    await vi.waitFor(() => expect(fast.sequences).toEqual(upTo(44, 5)));
    expect(slow.writes).toBeLessThanOrEqual(3);
    slow.accepts = true;
    feed.resume();
    await vi.waitFor(() => expect(slow.sequences).toEqual(upTo(44, 5)));
  });

  test("frames that are ready go in one write", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const { watcher, feed } = await watch(heddle, threadId, { after: 4n });
    await vi.waitFor(() => expect(watcher.cases.at(-1)).toBe("caughtUp"));
    watcher.accepts = false;
    await print("a");
    await vi.waitFor(() => expect(watcher.sequences).toEqual([5]));
    await Promise.all(upTo(20).map((n) => print(`${n}`)));
    watcher.accepts = true;
    const before = watcher.writes;
    await vi.waitFor(() => expect(heddle.feeds.size).toBe(1));
    feed.resume();
    await vi.waitFor(() => expect(watcher.sequences).toEqual(upTo(25, 5)));
    expect(watcher.writes - before).toBeLessThanOrEqual(2);
  });

  test("S2: what comes within a moment of a write goes out together, however many appends it was", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const heddle = core({ momentMs: 5 });
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId, { after: 4n });
    const before = watcher.writes;
    await print("at once");
    await turnsOver();
    expect(watcher.sequences, "nothing was told for a while").toEqual([5]);
    for (const text of ["a", "b", "c"]) await print(text);
    await turnsOver();
    expect(watcher.sequences, "something was told a moment ago").toEqual([5]);
    vi.advanceTimersByTime(5);
    expect(watcher.sequences).toEqual(upTo(8, 5));
    expect(watcher.writes - before).toBe(2);
    vi.advanceTimersByTime(5);
    await print("at once again");
    await turnsOver();
    expect(watcher.sequences).toEqual(upTo(9, 5));
  });

  test("what fills a write does not wait for more", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const heddle = core({ momentMs: 5 });
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId, { after: 4n });
    await print("at once");
    await turnsOver();
    for (let bytes = 0; bytes < tailLimits.readBytes; bytes += 30_000) await print("x".repeat(30_000));
    await turnsOver();
    expect(watcher.sequences).toEqual(upTo(8, 5));
  });

  test("everyone who is at the same position gets the same bytes, encoded once", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const given: Buffer[] = [];
    for (let n = 0; n < 10; n++) {
      const sink: Sink = { write: (frames) => given.push(frames) > 0, end: () => {} };
      (await heddle.threads.openFeed({ threadId, afterSequence: 4n, follow: true }, sink)).start();
    }
    given.length = 0;
    await print("shared");
    await vi.waitFor(() => expect(given).toHaveLength(10));
    for (const frames of given) expect(frames).toBe(given[0]);
  });

  test("says that it is there when nothing happens, and closes at its maximum age", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
    const heddle = core({ heartbeatMs: 1_000, maxAgeMs: 10_000 });
    const { id } = await heddle.threads.create({ threadId: "", title: "", labels: {} });
    const { watcher } = await watch(heddle, id);
    await vi.advanceTimersByTimeAsync(2_600);
    expect(watcher.cases).toEqual(["ready", "caughtUp", "heartbeat", "heartbeat"]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(watcher.events.at(-1)?.payload).toMatchObject({
      case: "closing",
      value: { reason: Closing_Reason.MAX_AGE },
    });
    expect(watcher.over).toEqual({ error: undefined });
  });

  test("closes when the thread is deleted, and when the server shuts down", async () => {
    const heddle = core();
    const [gone, stays] = await Promise.all(
      [1, 2].map(() => heddle.threads.create({ threadId: "", title: "", labels: {} })),
    );
    const { watcher: ofGone } = await watch(heddle, gone!.id);
    const { watcher: ofStays } = await watch(heddle, stays!.id);
    await heddle.threads.delete(gone!.id);
    await vi.waitFor(() =>
      expect(ofGone.events.at(-1)?.payload.value).toMatchObject({ reason: Closing_Reason.THREAD_DELETED }),
    );
    heddle.feeds.close();
    expect(ofStays.events.at(-1)?.payload.value).toMatchObject({ reason: Closing_Reason.SHUTDOWN });
    expect(heddle.hub.subscriptions).toBe(0);
    await expect(watch(heddle, stays!.id)).rejects.toMatchObject({ code: "shutting_down" });
  });

  test("what is stored when the server shuts down goes out before it says so", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId, { after: 4n });
    await print("in the last moment");
    expect(watcher.sequences, "those who follow are told when the turn is over").toEqual([]);
    heddle.feeds.close();
    expect(watcher.sequences).toEqual([5]);
    expect(watcher.cases.at(-1)).toBe("closing");
    expect(watcher.over).toEqual({ error: undefined });
  });

  test("unknown, deleted and out of range are distinct errors before anything is sent", async () => {
    const heddle = core();
    const { id } = await heddle.threads.create({ threadId: "", title: "", labels: {} });
    await expect(watch(heddle, "not-an-id")).rejects.toMatchObject({
      code: "invalid_field",
      detail: { field: "thread_id" },
    });
    await expect(watch(heddle, newId())).rejects.toMatchObject({ code: "thread_not_found" });
    await expect(watch(heddle, id, { after: 1n })).rejects.toMatchObject({
      code: "sequence_out_of_range",
      detail: { headSequence: 0n, firstSequence: 0n },
    });
    await heddle.threads.delete(id);
    await expect(watch(heddle, id)).rejects.toMatchObject({ code: "thread_deleted" });
    expect(heddle.hub.subscriptions).toBe(0);
  });

  test("L4: a damaged entry ends it with an error, and is never sent", async () => {
    const log = openMemoryLog();
    const failing = replaced(log, {
      read: (key, after, maxBytes) => (after >= 4n ? Promise.reject(damaged()) : log.read(key, after, maxBytes)),
      // Without what was appended: it has to be read.
      watch: (key, after, watcher) =>
        log.watch(key, after, { ...watcher, appended: (head) => watcher.appended(head, undefined) }),
    });
    const heddle = core({ log: failing });
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId, { after: 4n });
    await print("damaged");
    await vi.waitFor(() => expect(watcher.over?.error).toMatchObject({ code: "data_loss" }));
    expect(watcher.sequences).toEqual([]);
  });
});

describe("after trouble", () => {
  test("a store that failed once does not fail those who come later, also while somebody still holds the old tail", async () => {
    const log = openMemoryLog();
    let isFailing = false;
    const flaky = replaced(log, {
      read: (key, after, maxBytes) => (isFailing ? Promise.reject(damaged()) : log.read(key, after, maxBytes)),
    });
    const heddle = core({ log: flaky });
    const { threadId, print } = await runningCall(heddle);
    const { watcher: stalled } = await watch(heddle, threadId, { after: 4n });
    stalled.accepts = false;
    await print("held");
    await vi.waitFor(() => expect(stalled.sequences).toEqual([5]));
    isFailing = true;
    await print("failed");
    await new Promise<void>((resolve) => setImmediate(resolve));
    isFailing = false;
    const { watcher: late } = await watch(heddle, threadId, { after: 4n });
    await vi.waitFor(() => expect(late.sequences).toEqual([5, 6]));
    await print("again");
    await vi.waitFor(() => expect(late.sequences).toEqual([5, 6, 7]));
  });

  test("a feed that is asked for while the server closes is refused, not forgotten", async () => {
    const log = openMemoryLog();
    let arrived: (() => void) | undefined;
    const slow = replaced(log, {
      readThread: async (key) => {
        if (arrived) await new Promise<void>((resolve) => setImmediate(resolve));
        return log.readThread(key);
      },
    });
    const heddle = core({ log: slow });
    const { id } = await heddle.threads.create({ threadId: "", title: "", labels: {} });
    arrived = () => {};
    const watching = watch(heddle, id);
    heddle.feeds.close();
    await expect(watching).rejects.toMatchObject({ code: "shutting_down" });
    expect(heddle.feeds.size).toBe(0);
  });
});

describe("subscribing and leaving", () => {
  test("leaves nothing behind, however often and wherever it happens", async () => {
    const heddle = core();
    const { threadId, print } = await runningCall(heddle);
    const { watcher } = await watch(heddle, threadId);
    for (let n = 0; n < 1_000; n++) {
      const { feed } = await watch(heddle, threadId, { after: BigInt(n % 5) });
      feed.abandon();
      feed.abandon();
    }
    expect(heddle.feeds.size).toBe(1);
    expect(heddle.hub.subscriptions).toBe(1);
    await print("still here");
    await vi.waitFor(() => expect(watcher.sequences).toEqual(upTo(5)));
  });

  test("an iterator that nobody asks any more is released by its signal", async () => {
    const heddle = core();
    const { threadId } = await runningCall(heddle);
    const leave = new AbortController();
    const events = heddle.threads.follow({ threadId, afterSequence: 0n, follow: true }, leave.signal);
    expect((await events.next()).value?.payload.case).toBe("ready");
    leave.abort();
    await vi.waitFor(() => expect(heddle.hub.subscriptions).toBe(0));
  });
});

const damaged = () => new HeddleError("data_loss", "damaged", { detail: { firstSequence: 5n, lastSequence: 5n } });

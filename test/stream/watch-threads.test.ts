// The list of threads as a stream: a snapshot, then the latest of what has changed, whatever happens in between.
import { describe, expect, test, vi } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { ClosingReason, WireThreadState } from "../../src/thread/schema.js";
import { called, clientToolOf, replies, said, send, tool, until } from "../support/agent.js";
import { openProducer, replaced, useCores } from "../support/core.js";
import { RunScript } from "../support/scenario.js";
import { ListWatcher } from "./list-watcher.js";

const openCore = useCores();
const newThread = { threadId: "", title: "", labels: {} };

describe("WatchThreads", () => {
  test("a snapshot, then what is created, changed and deleted", async () => {
    const core = openCore();
    const old = await core.threads.create({ ...newThread, title: "old" });
    const watcher = new ListWatcher(core);
    await watcher.until(() => watcher.names.includes("snapshotComplete"));
    expect(watcher.names).toEqual(["ready", "thread", "snapshotComplete"]);
    expect(watcher.known.get(old.id)).toMatchObject({ title: "old", state: WireThreadState.IDLE });

    const made = await core.threads.create(newThread);
    await watcher.until(() => watcher.known.has(made.id));
    await core.threads.delete(old.id);
    await watcher.until(() => !watcher.known.has(old.id));
    expect(watcher.names.at(-1)).toBe("deletedThreadId");
    await watcher.leave();
  });

  test("what a run does to its thread: state, open and offered calls, head", async () => {
    const model = replies(called({ name: "look" }), said("Done."));
    const core = openCore({ model, tools: [tool("look")] });
    const offer = core.toolOffers.offer(
      { threadId: "", executorName: "here", tools: [clientToolOf("look")] },
      new AbortController().signal,
    );
    await offer.next();
    const watcher = new ListWatcher(core);
    const { threadId } = await send(core);
    await watcher.until(() => watcher.known.get(threadId)?.offeredToolCalls === 1);
    await until(core, threadId, ({ payload }) => payload.case === "runSuspended");
    await watcher.until(() => watcher.known.get(threadId)?.state === WireThreadState.SUSPENDED);
    const { runId, headSequence } = await core.threads.get(threadId);
    await watcher.until(() => watcher.known.get(threadId)?.headSequence === headSequence);
    expect(watcher.known.get(threadId)).toMatchObject({ runId, openToolCalls: 1, awaitingApprovals: 0 });
    await watcher.leave();
  });

  test("without idle threads in the snapshot, their changes come all the same", async () => {
    const core = openCore();
    const idle = await core.threads.create(newThread);
    const busy = await openProducer(core);
    await busy.record([new RunScript().started()]);
    const watcher = new ListWatcher(core, { busyOnly: true });
    await watcher.until(() => watcher.names.includes("snapshotComplete"));
    expect([...watcher.known.keys()]).toEqual([busy.threadId]);
    const producer = await openProducer(core, { threadId: idle.id });
    await producer.close();
    await watcher.until(() => watcher.known.has(idle.id));
    await watcher.leave();
  });

  test("nothing is lost that happens while a page of the snapshot is read", async () => {
    const log = openMemoryLog();
    let during: () => Promise<void> = async () => {};
    const core = openCore({
      log: replaced(log, {
        listThreads: async (tenant, options) => {
          const page = await log.listThreads(tenant, options);
          await during();
          return page;
        },
      }),
    });
    const [first, second] = [await core.threads.create(newThread), await core.threads.create(newThread)];
    let madeId = "";
    during = async () => {
      during = async () => {};
      await core.threads.delete(first.id);
      await (await openProducer(core, { threadId: second.id })).record([new RunScript().started()]);
      madeId = (await core.threads.create(newThread)).id;
    };
    const watcher = new ListWatcher(core);
    await watcher.until(
      () =>
        !watcher.known.has(first.id) &&
        watcher.known.has(madeId) &&
        watcher.known.get(second.id)?.state === WireThreadState.RUNNING,
    );
    await watcher.leave();
  });

  test("a thread that changes all the time is told about ten times a second, and its last change is told", async () => {
    const core = openCore();
    const producer = await openProducer(core);
    const run = new RunScript();
    await producer.record([run.started()]);
    const watcher = new ListWatcher(core);
    await watcher.until(() => watcher.names.includes("snapshotComplete"));
    const startedMs = performance.now();
    let head = 0n;
    while (performance.now() - startedMs < 450) head = (await producer.record(run.message("one more"))).lastSequence;
    await watcher.until(() => watcher.known.get(producer.threadId)?.headSequence === head);
    const elapsedMs = performance.now() - startedMs;
    expect(watcher.told.get(producer.threadId)).toBeLessThanOrEqual(elapsedMs / 100 + 3);
    await watcher.leave();
  });

  test("a reader that is slow costs one entry a thread, and then reads the latest", async () => {
    const core = openCore();
    let go = (): void => {};
    const watcher = new ListWatcher(core);
    await watcher.until(() => watcher.names.includes("snapshotComplete"));
    watcher.pace = new Promise((resolve) => {
      go = resolve;
    });
    const watched = vi.spyOn(core.recorder.changes, "note");
    const producer = await openProducer(core);
    const run = new RunScript();
    await producer.record([run.started()]);
    let head = 0n;
    for (let at = 0; at < 200; at++) head = (await producer.record(run.message("more"))).lastSequence;
    expect(watched.mock.calls.length).toBeGreaterThan(200);
    go();
    await watcher.until(() => watcher.known.get(producer.threadId)?.headSequence === head);
    // The one that was being read when it was held back, and the latest.
    expect(watcher.told.get(producer.threadId)).toBeLessThanOrEqual(3);
    await watcher.leave();
  });

  test("heartbeats while it is quiet", async () => {
    const core = openCore({ heartbeatMs: 20 });
    const watcher = new ListWatcher(core);
    await watcher.until(() => watcher.names.filter((name) => name === "heartbeat").length >= 3);
    await watcher.leave();
  });

  test("it is closed at its age, and with the server; then nobody may open another", async () => {
    const aged = openCore({ maxAgeMs: 30 });
    const watcher = new ListWatcher(aged);
    await watcher.over;
    expect(watcher.names.at(-1)).toBe("closing");

    const core = openCore();
    const last = new ListWatcher(core);
    await last.until(() => last.names.includes("snapshotComplete"));
    core.feeds.close();
    await last.over;
    expect(last.names.at(-1)).toBe("closing");
    await expect(new ListWatcher(core).over).rejects.toMatchObject({ code: "shutting_down" });
    expect(ClosingReason.SHUTDOWN).toBe(1);
  });

  test("1,000 who come and go leave nothing open, wherever they are cut off", async () => {
    const core = openCore();
    await core.threads.create(newThread);
    for (let at = 0; at < 1000; at++) {
      const watcher = new ListWatcher(core);
      if (at % 3 === 1) await watcher.until(() => watcher.names.length > 0);
      if (at % 3 === 2) await watcher.until(() => watcher.names.includes("snapshotComplete"));
      await watcher.leave();
    }
    expect(core.feeds.lasting.size).toBe(0);
    expect(core.recorder.changes.watchers).toBe(0);
  });

  test("one that is never asked again is gone with its signal", async () => {
    const core = openCore();
    const vanished = new AbortController();
    const frames = core.threads.watch({ busyOnly: false }, vanished.signal);
    await frames.next();
    expect(core.recorder.changes.watchers).toBe(1);
    vanished.abort();
    expect(core.feeds.lasting.size).toBe(0);
    expect(core.recorder.changes.watchers).toBe(0);
  });
});

test("a snapshot of parked threads keeps none of them in memory", async () => {
  const log = openMemoryLog();
  const first = openCore({ log, model: replies(...Array.from({ length: 5 }, () => called({ name: "look" }))) });
  const vanished = new AbortController();
  const request = { threadId: "", executorName: "here", tools: [clientToolOf("look")] };
  await first.toolOffers.offer(request, vanished.signal).next();
  for (let at = 0; at < 5; at++) {
    const { threadId } = await send(first);
    await until(first, threadId, ({ payload }) => payload.case === "runSuspended");
  }
  const second = openCore({ log });
  const watcher = new ListWatcher(second);
  await watcher.until(() => watcher.names.includes("snapshotComplete"));
  expect([...watcher.known.values()].map(({ offeredToolCalls }) => offeredToolCalls)).toEqual([1, 1, 1, 1, 1]);
  expect(second.recorder.writing).toBe(0);
  await watcher.leave();
  vanished.abort();
});

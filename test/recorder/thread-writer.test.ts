import { expect, test } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { Recorder } from "../../src/recorder/recorder.js";
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { createRedactor } from "../../src/thread/redact.js";
import { openCore } from "../support/core.js";

test("a write that cannot be prepared fails alone, however it fails, and the next one is made", async () => {
  const log = openMemoryLog();
  const core = openCore({ log });
  const { id } = await core.threads.create({ threadId: newId<ThreadId>(), title: "", labels: {} });
  const recorder = new Recorder(log, createRedactor({ secrets: [] }));
  const key = { tenant: "default", threadId: id as ThreadId };
  const throws = (): never => {
    throw new Error("at once");
  };
  const rejects = async (): Promise<never> => {
    throw new Error("later");
  };
  const writes = [
    recorder.write(key, () => 1),
    recorder.write(key, () => 2, { prepare: throws }),
    recorder.write(key, () => 3, { prepare: rejects }),
    recorder.write(key, () => 4, { prepare: async () => {} }),
    recorder.write(key, () => 5),
  ];
  const settled = await Promise.allSettled(writes);
  expect(settled.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message))).toEqual([
    1,
    "at once",
    "later",
    4,
    5,
  ]);
  expect(recorder.writing).toBe(0);
});

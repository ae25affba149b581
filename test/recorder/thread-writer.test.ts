import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import { Recorder } from "../../src/recorder/recorder.js";
import type { ThreadDraft } from "../../src/recorder/thread-draft.js";
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { createRedactor } from "../../src/thread/redact.js";
import { ThreadDocumentSchema } from "../../src/thread/schema.js";
import { openCore } from "../support/core.js";

async function newRecorder() {
  const log = openMemoryLog();
  const core = openCore({ log });
  const { id } = await core.threads.create({ threadId: newId<ThreadId>(), title: "", labels: {} });
  const recorder = new Recorder(log, createRedactor({ secrets: [] }));
  return { log, recorder, key: { tenant: "default", threadId: id as ThreadId } };
}

const outcomes = async (writes: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(writes)).map((one) =>
    one.status === "fulfilled" ? one.value : (one.reason as Error).message,
  );

test("a write that cannot be prepared fails alone, however it fails, and the next one is made", async () => {
  const { recorder, key } = await newRecorder();
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
  expect(await outcomes(writes)).toEqual([1, "at once", "later", 4, 5]);
  expect(recorder.writing).toBe(0);
});

describe("writes that can be made again", () => {
  const titled = (title: string) => (draft: ThreadDraft) => {
    draft.changeDocument({ title: draft.document.title + title });
    return draft.document.title;
  };
  const refused = (reason: string) => (draft: ThreadDraft) => {
    draft.changeDocument({ title: "must not be seen" });
    throw new Error(reason);
  };
  const again = { isRepeatable: true } as const;

  test("share a draft: each sees what those before it have done, also beside others", async () => {
    const { log, recorder, key } = await newRecorder();
    const made: string[] = [];
    const counted = (title: string) => (draft: ThreadDraft) => {
      made.push(title);
      return titled(title)(draft);
    };
    const writes = [
      recorder.write(key, counted("a"), again),
      recorder.write(key, counted("b"), again),
      recorder.write(key, counted("c")),
      recorder.write(key, counted("d"), again),
      recorder.write(key, counted("e"), again),
    ];
    expect(await outcomes(writes)).toEqual(["a", "ab", "abc", "abcd", "abcde"]);
    expect(made).toEqual(["a", "b", "c", "d", "e"]);
    const stored = await log.readThread(key);
    expect(fromBinary(ThreadDocumentSchema, stored!.document).title).toBe("abcde");
  });

  test("one that is refused takes nothing along, and is told before the next is made", async () => {
    const { log, recorder, key } = await newRecorder();
    const journal: string[] = [];
    const write = (name: string, make: (draft: ThreadDraft) => string) =>
      recorder.write(
        key,
        (draft) => {
          journal.push(`made ${name}`);
          return make(draft);
        },
        { ...again, onFailure: (error) => journal.push(`${name} failed: ${(error as Error).message}`) },
      );
    const writes = [
      write("a", titled("a")),
      write("b", refused("no")),
      write("c", titled("c")),
      write("d", refused("never")),
      write("e", titled("e")),
    ];
    expect(await outcomes(writes)).toEqual(["a", "no", "ac", "never", "ace"]);
    expect(journal.filter((line) => line.includes("failed"))).toEqual(["b failed: no", "d failed: never"]);
    for (const [failure, next] of [
      ["b failed: no", "made c"],
      ["d failed: never", "made e"],
    ] as const)
      expect(journal.indexOf(failure)).toBeLessThan(journal.indexOf(next));
    const stored = await log.readThread(key);
    expect(fromBinary(ThreadDocumentSchema, stored!.document).title).toBe("ace");
  });

  test("a failed append fails all of them, and the thread is as it was", async () => {
    const { log, recorder, key } = await newRecorder();
    const append = log.append.bind(log);
    log.append = async () => {
      throw new Error("no disk");
    };
    const writes = [recorder.write(key, titled("a"), again), recorder.write(key, titled("b"), again)];
    expect(await outcomes(writes)).toEqual(["no disk", "no disk"]);
    log.append = append;
    expect(await recorder.write(key, titled("c"), again)).toBe("c");
  });
});

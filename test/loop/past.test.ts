// What a caller tells of the past is recorded at a cost that grows with its length, and no faster: callers send all of it each time.
import { expect, test } from "vitest";
import { type PastEntry, recordPast } from "../../src/loop/past.js";
import type { ThreadDraft } from "../../src/recorder/thread-draft.js";

test("each call is looked at a few times, however many there are", () => {
  let looks = 0;
  const call = { name: "weather", input: "{}", output: "rain", isError: false, isTogether: false };
  const counted = {
    ...call,
    get kind() {
      looks++;
      return "call" as const;
    },
  } satisfies PastEntry;
  let batches = 0;
  const draft = { recordBatch: () => batches++ } as unknown as ThreadDraft;
  recordPast(draft, "a run", Array<PastEntry>(1000).fill(counted));
  expect(batches).toBe(3000);
  expect(looks).toBeLessThan(10_000);
});

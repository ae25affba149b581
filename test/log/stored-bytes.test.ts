// What an older version stored stays readable: the fixture was written once and is never written again.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { ThreadEventSchema } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { openCore, storedEvents } from "../support/core.js";
import { readEverything } from "../support/read-everything.js";
import { RunScript } from "../support/scenario.js";

const fixtures = ["stored-v1", "stored-v2"];
const threadId = "00000000-0000-4000-8000-000000000001";
const controlCases = ["ready", "caughtUp", "heartbeat", "closing"];
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function openFixture(name: string) {
  const fixture = join(import.meta.dirname, "../fixtures", name);
  const dir = mkdtempSync(join(tmpdir(), "heddle-stored-"));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "data.mdb"), gunzipSync(readFileSync(join(fixture, "data.mdb.gz"))));
  const log = await openLmdbLog({ dir });
  const core = openCore({ log });
  closers.push(async () => {
    core.feeds.close();
    core.recordings.dispose();
    await log.close();
  });
  return { core, expected: JSON.parse(readFileSync(join(fixture, "expected.json"), "utf8")) };
}

test.each(fixtures)("%s is read as it was written", async (name) => {
  const { core, expected } = await openFixture(name);
  expect(await readEverything(core, threadId)).toEqual(expected);
});

test("the newest fixture holds every kind of stored event", async () => {
  const { core } = await openFixture(fixtures.at(-1)!);
  const found = new Set((await storedEvents(core, threadId)).map(({ payload }) => payload.case));
  const all = ThreadEventSchema.oneofs[0]!.fields.map(({ localName }) => localName);
  // The fixture's run is open on purpose, so that its end is the one event it cannot hold.
  expect(all.filter((name) => !controlCases.includes(name) && !found.has(name as never))).toEqual(["runCompleted"]);
});

test.each(fixtures)("%s can be written on: its open run goes on under its lease, and ends", async (name) => {
  const { core } = await openFixture(name);
  const { headSequence } = await core.threads.get(threadId);
  const lease = (await core.recorder.view({ tenant: "default", threadId: threadId as never })).document.lease!;
  const run = new RunScript("00000000-0000-4000-8000-000000000002");
  const hold = { recordingId: lease.recordingId, epoch: lease.epoch };
  const { firstSequence } = await core.threads.record(threadId, {
    ...hold,
    producerSequence: lease.producerSequence + 1n,
    events: [run.complete("00000000-0000-4000-8000-000000000008"), run.created(newId())],
    contents: [],
  });
  expect(firstSequence).toBe(headSequence + 1n);
  await core.threads.closeRecording(threadId, hold);
  expect(await core.threads.get(threadId)).toMatchObject({ headSequence: headSequence + 4n, openToolCalls: 0 });
});

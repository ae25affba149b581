// L4: stored bytes that changed on disk are reported, with what is lost, and never served.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EventLog, ThreadKey } from "../../src/log/event-log.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { newId, type ToolCallId } from "../../src/thread/ids.js";
import { bytes, framesOf, newThread, readAll, type TemporaryDirectory, temporaryDirectory, text } from "./support.js";

let dir: TemporaryDirectory;
let log: EventLog;
let key: ThreadKey;

beforeEach(async () => {
  dir = temporaryDirectory();
  log = await openLmdbLog({ dir: dir.path });
  key = await newThread(log);
});

afterEach(async () => {
  await log.close();
  dir.remove();
});

/** Three segments: frames 1 and 2, frames 3 to 5 with the marks, frame 6. */
async function writeThreeSegments(): Promise<void> {
  await log.append(key, 0n, { frames: framesOf("one", "two") });
  await log.append(key, 2n, { frames: framesOf("MARK-three", "MARK-four", "MARK-five") });
  await log.append(key, 5n, { frames: framesOf("six") });
}

/** Flips a bit of every copy of `mark` in the data file: LMDB may keep old pages. `shift` bytes from its beginning. */
async function damage(mark: string, shift = 0): Promise<void> {
  await log.close();
  const path = join(dir.path, "data.mdb");
  const data = readFileSync(path);
  let at = data.indexOf(mark);
  expect(at).toBeGreaterThan(0);
  for (; at >= 0; at = data.indexOf(mark, at + mark.length)) data[at + shift]! ^= 0x10;
  writeFileSync(path, data);
  log = await openLmdbLog({ dir: dir.path });
}

const lost = (firstSequence: bigint, lastSequence: bigint) => ({
  code: "data_loss",
  detail: { firstSequence, lastSequence },
});

test("L4: a damaged frame is data_loss with the sequences, from every position in its segment", async () => {
  await writeThreeSegments();
  await damage("MARK-four");
  for (const after of [2n, 3n, 4n]) await expect(log.read(key, after, 1000)).rejects.toMatchObject(lost(3n, 5n));
});

test("L4: the frames before and behind a damaged segment stay readable", async () => {
  await writeThreeSegments();
  await damage("MARK-four");
  expect(await log.read(key, 0n, 1000)).toMatchObject({ first: 1n, last: 2n });
  expect(await readAll(log, key, { after: 5n })).toEqual(["six"]);
});

test("L4: a thread with a damaged segment stays writable, also when it is the last", async () => {
  await log.append(key, 0n, { frames: framesOf("MARK-one", "two") });
  await damage("MARK-one");
  expect((await log.readThread(key))?.head).toBe(2n);
  expect(await log.append(key, 2n, { frames: framesOf("three") })).toBe(3n);
  await expect(log.read(key, 0n, 1000)).rejects.toMatchObject(lost(1n, 2n));
  expect(await readAll(log, key, { after: 2n })).toEqual(["three"]);
});

test("L4: a segment whose header is damaged is lost up to the next one", async () => {
  await writeThreeSegments();
  const countOfFirst = -(5 + 3);
  await damage("MARK-three", countOfFirst);
  for (const after of [2n, 3n, 4n]) await expect(log.read(key, after, 1000)).rejects.toMatchObject(lost(3n, 5n));
  expect(await readAll(log, key, { after: 5n })).toEqual(["six"]);
  expect((await log.readThread(key))?.head).toBe(6n);
});

test("L4: when the last header is damaged the head is not guessed: nothing is written over it", async () => {
  await log.append(key, 0n, { frames: framesOf("one") });
  await log.append(key, 1n, { frames: framesOf("MARK-two", "three") });
  await damage("MARK-two", -(5 + 3));
  await expect(log.readThread(key)).rejects.toMatchObject(lost(2n, 2n));
  await expect(log.append(key, 3n, { frames: framesOf("four") })).rejects.toMatchObject(lost(2n, 2n));
  expect(await log.read(key, 0n, 1000)).toMatchObject({ first: 1n, last: 1n });
});

test("L4: a damaged document of a thread is storage_failed with the path, and no other thread's", async () => {
  const other = await newThread(log);
  await log.append(key, 0n, { frames: framesOf("one"), document: bytes("MARK-document") });
  await damage("MARK-document");
  const failed = { code: "storage_failed", detail: { path: dir.path } };
  await expect(log.readThread(key)).rejects.toMatchObject(failed);
  await expect(log.listThreads(key.tenant, { limit: 10 })).rejects.toMatchObject(failed);
  expect(text((await log.readThread(other))?.document)).toBe("document");
  expect(await readAll(log, key)).toEqual(["one"]);
});

test("L4: damaged documents and bodies of calls are storage_failed", async () => {
  const callId = newId<ToolCallId>();
  await log.append(key, 0n, {
    frames: framesOf("created"),
    calls: [{ callId, createdSequence: 1n, document: bytes("MARK-call") }],
    bodies: [
      { callId, contentId: "input", offset: 0, bytes: bytes("good") },
      { callId, contentId: "result", offset: 0, bytes: bytes("MARK-body") },
    ],
  });
  await damage("MARK-call");
  await damage("MARK-body");
  const failed = { code: "storage_failed", detail: { path: dir.path } };
  await expect(log.readCall(key.tenant, callId)).rejects.toMatchObject(failed);
  await expect(log.listCalls(key, { after: 0n, limit: 10 })).rejects.toMatchObject(failed);
  const read = (contentId: string) => log.readBody(key, { callId, contentId }, { offset: 0, maxBytes: 10 });
  await expect(read("result")).rejects.toMatchObject(failed);
  expect(text(await read("input"))).toBe("good");
});

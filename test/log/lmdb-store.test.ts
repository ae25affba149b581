// How the LMDB log uses its disk and its memory.
import { open, type RootDatabase } from "lmdb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EventLog, ThreadKey } from "../../src/log/event-log.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import type { LmdbLog } from "../../src/log/lmdb-log.js";
import { newId, type ToolCallId } from "../../src/thread/ids.js";
import {
  bytes,
  frameOf,
  framesOf,
  newKey,
  newThread,
  readAll,
  type TemporaryDirectory,
  temporaryDirectory,
} from "./support.js";

let dir: TemporaryDirectory;
let log: EventLog;

beforeEach(async () => {
  dir = temporaryDirectory();
  log = await openLmdbLog({ dir: dir.path });
});

afterEach(async () => {
  await log.close();
  dir.remove();
});

/** Looks at the tables past the log. */
async function lookInside<T>(look: (root: RootDatabase<Buffer, Buffer>) => T): Promise<T> {
  const root = open<Buffer, Buffer>({ path: dir.path, readOnly: true, encoding: "binary", keyEncoding: "binary" });
  const seen = look(root);
  await root.close();
  return seen;
}

const entriesIn = (root: RootDatabase<Buffer, Buffer>, table: string): number =>
  root.openDB<Buffer, Buffer>(table, { encoding: "binary", keyEncoding: "binary" }).getKeysCount() as unknown as number;

describe("segments", () => {
  test("an append lies in as few values as 64 KiB each allow", async () => {
    const key = await newThread(log);
    const frames = Array.from({ length: 1000 }, () => frameOf("x".repeat(195)));
    await log.append(key, 0n, { frames });
    const perSegment = Math.floor((64 * 1024) / 200);
    expect(await lookInside((root) => entriesIn(root, "events"))).toBe(Math.ceil(1000 / perSegment));
  });

  test("a span has memory of its own, of its own size", async () => {
    const key = await newThread(log);
    await log.append(key, 0n, { frames: Array.from({ length: 30 }, () => frameOf("x".repeat(1995))) });
    for (const [after, maxBytes] of [
      [0n, 10_000],
      [7n, 30_000],
      [0n, 1_000_000],
    ] as const) {
      const span = await log.read(key, after, maxBytes);
      expect(span!.bytes.buffer.byteLength).toBe(span!.bytes.length);
    }
    const small = await log.read(key, 29n, 10);
    expect(small!.bytes.buffer.byteLength).toBeLessThanOrEqual(Buffer.poolSize);
  });
});

describe("group commit", () => {
  const transactions = () => lookInside((root) => (root.getStats() as { lastTxnId: number }).lastTxnId);

  test("appends of many threads in one turn share a transaction", async () => {
    const keys = await Promise.all(Array.from({ length: 100 }, () => newThread(log)));
    const before = await transactions();
    await Promise.all(keys.map((key) => log.append(key, 0n, { frames: framesOf("a"), document: bytes("new") })));
    expect(await transactions()).toBe(before + 1);
  });

  test("so do those that come while a commit is under way", async () => {
    const keys = await Promise.all(Array.from({ length: 50 }, () => newThread(log)));
    const before = await transactions();
    const first = log.append(keys[0]!, 0n, { frames: framesOf("a") });
    await new Promise(setImmediate);
    await Promise.all([first, ...keys.slice(1).map((key) => log.append(key, 0n, { frames: framesOf("a") }))]);
    expect(await transactions()).toBeLessThanOrEqual(before + 2);
  });

  test("more than one commit should take is spread over several, and all of it lands", async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => newThread(log)));
    const body = {
      callId: newId<ToolCallId>(),
      contentId: "input",
      offset: 0,
      bytes: Buffer.alloc(2 * 1024 * 1024, "x"),
    };
    const before = await transactions();
    await Promise.all(keys.map((key) => log.append(key, 0n, { frames: framesOf("a"), bodies: [body] })));
    expect(await transactions()).toBeGreaterThan(before + 1);
    for (const key of keys)
      expect((await log.readBody(key, body, { offset: 0, maxBytes: 1e7 }))?.length).toBe(2 * 1024 * 1024);
  });
});

describe("purge", () => {
  const purged = () => (log as LmdbLog).purged();

  async function bigThread(): Promise<ThreadKey> {
    const key = await newThread(log);
    const numbers = Array.from({ length: 1000 }, (_, n) => BigInt(n + 1));
    const calls = numbers.map((createdSequence) => ({
      callId: newId<ToolCallId>(),
      createdSequence,
      document: bytes("call"),
    }));
    const bodies = calls.map(({ callId }) => ({ callId, contentId: "input", offset: 0, bytes: bytes("body") }));
    await log.append(key, 0n, { frames: numbers.map((n) => frameOf(`${n}`.repeat(50))), calls, bodies });
    return key;
  }

  const left = () =>
    lookInside((root) => ["events", "calls", "callIndex", "bodies", "purges"].map((table) => entriesIn(root, table)));

  test("takes away everything of the thread, and nothing of others", async () => {
    const key = await bigThread();
    const other = await newThread(log, newKey(key.tenant));
    const call = { callId: newId<ToolCallId>(), createdSequence: 1n, document: bytes("call") };
    const body = { callId: call.callId, contentId: "input", offset: 0, bytes: bytes("body") };
    await log.append(other, 0n, { frames: framesOf("a"), calls: [call], bodies: [body] });
    await log.remove(key, 1000n, bytes("tombstone"));
    await purged();
    expect(await left()).toEqual([1, 1, 1, 1, 0]);
    expect(await readAll(log, other)).toEqual(["a"]);
  });

  test("that is cut short goes on at the next open, and nobody sees what is left", async () => {
    const key = await bigThread();
    await log.remove(key, 1000n, bytes("tombstone"));
    await log.close();
    expect((await left())[3]).toBeGreaterThan(0);
    const reader = await openLmdbLog({ dir: dir.path, readOnly: true });
    expect(await reader.read(key, 0n, 1000)).toBeUndefined();
    expect(await reader.listCalls(key, { after: 0n, limit: 10 })).toEqual([]);
    await reader.close();
    log = await openLmdbLog({ dir: dir.path });
    await purged();
    expect(await left()).toEqual([0, 0, 0, 0, 0]);
    expect(await log.readThread(key)).toMatchObject({ removed: true });
  });
});

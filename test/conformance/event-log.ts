// What every store of the port must pass. The numbers are those of src/log/event-log.ts. L6 (failed writes) and the
// flush of L4 need a disk that misbehaves: each store tests them for itself. One long file, because a new store is written
// against it from top to bottom, one promise after the other.
import { getEventListeners } from "node:events";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventLog, Span, ThreadKey } from "../../src/log/event-log.js";
import { newId, type ThreadId, type ToolCallId } from "../../src/thread/ids.js";
import { bytes, frameOf, framesOf, newKey, newThread, readAll, text } from "../log/support.js";

export interface OpenedLog {
  readonly log: EventLog;
  /** Closes the log and opens what it left. Absent: the store forgets. */
  readonly reopen?: () => Promise<EventLog>;
  readonly dispose: () => Promise<void>;
}

const never = new AbortController().signal;

export function eventLogConformance(name: string, open: () => Promise<OpenedLog>): void {
  describe(`${name} keeps the promises of the log`, () => {
    let opened: OpenedLog;
    let log: EventLog;

    beforeEach(async () => {
      opened = await open();
      log = opened.log;
    });

    afterEach(() => opened.dispose());

    describe("create", () => {
      test("makes a thread that has no frames", async () => {
        const key = newKey();
        expect(await log.create(key, bytes("made"))).toBe(true);
        const thread = await log.readThread(key);
        expect(thread).toMatchObject({ threadId: key.threadId, head: 0n, removed: false });
        expect(text(thread?.document)).toBe("made");
        expect(await log.read(key, 0n, 1000)).toBeUndefined();
      });

      test("is false for an id in use and leaves its document", async () => {
        const key = await newThread(log);
        expect(await log.create(key, bytes("other"))).toBe(false);
        expect(text((await log.readThread(key))?.document)).toBe("document");
      });

      test("of one id ten times at once is true once", async () => {
        const key = newKey();
        const made = await Promise.all(Array.from({ length: 10 }, (_, n) => log.create(key, bytes(`${n}`))));
        expect(made.filter(Boolean)).toHaveLength(1);
        expect(text((await log.readThread(key))?.document)).toBe(`${made.indexOf(true)}`);
      });

      test("a thread that never was is undefined", async () => {
        expect(await log.readThread(newKey())).toBeUndefined();
        expect(await log.read(newKey(), 0n, 1000)).toBeUndefined();
      });
    });

    describe("L1: sequences", () => {
      test("L1: are dense from 1 and frames come back exactly, from any position", async () => {
        const key = await newThread(log);
        expect(await log.append(key, 0n, { frames: framesOf("a", "b") })).toBe(2n);
        expect(await log.append(key, 2n, { frames: framesOf("c") })).toBe(3n);
        expect(await log.append(key, 3n, { frames: framesOf("d", "", "f") })).toBe(6n);
        const all = ["a", "b", "c", "d", "", "f"];
        for (let after = 0; after <= all.length; after++) {
          expect(await readAll(log, key, { after: BigInt(after) })).toEqual(all.slice(after));
          expect(await readAll(log, key, { after: BigInt(after), maxBytes: 1 })).toEqual(all.slice(after));
        }
        expect((await log.readThread(key))?.head).toBe(6n);
      });

      test("L1: nothing is at or beyond the head", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: framesOf("a") });
        for (const after of [1n, 2n, 1000n, 2n ** 63n, 2n ** 64n - 1n])
          expect(await log.read(key, after, 1000)).toBeUndefined();
      });

      test("L1: a frame does not change with the buffers of its writer or its readers", async () => {
        const key = await newThread(log);
        const frames = framesOf("kept");
        const document = bytes("kept");
        await log.append(key, 0n, { frames, document });
        for (const buffer of [...frames, document]) buffer.fill(0);
        (await log.read(key, 0n, 1000))?.bytes.fill(0);
        (await log.readThread(key))?.document.fill(0);
        expect(await readAll(log, key)).toEqual(["kept"]);
        expect(text((await log.readThread(key))?.document)).toBe("kept");
      });

      test("L1: a span keeps its bytes while the log is read and written on", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: framesOf("first".repeat(1000)) });
        const span = await log.read(key, 0n, 100_000);
        const before = Buffer.from(span!.bytes);
        for (let head = 1n; head < 20n; head++) {
          await log.append(key, head, { frames: framesOf("other".repeat(1000)) });
          await readAll(log, key);
        }
        expect(span?.bytes.equals(before)).toBe(true);
      });

      test("L1: a span is at most maxBytes, unless its first frame alone is larger", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: framesOf("x".repeat(95), "x".repeat(95), "x".repeat(995), "x") });
        const sizeAt = async (after: bigint, maxBytes: number) => (await log.read(key, after, maxBytes))?.bytes.length;
        expect(await sizeAt(0n, 1)).toBe(100);
        expect(await sizeAt(0n, 199)).toBe(100);
        expect(await sizeAt(0n, 200)).toBe(200);
        expect(await sizeAt(0n, 1199)).toBe(200);
        expect(await sizeAt(2n, 10)).toBe(1000);
      });

      test("L1: random appends, positions and sizes: every reader sees 1..n exactly", async () => {
        const sizes = fc.array(fc.array(fc.nat({ max: 400 }), { maxLength: 30 }), { minLength: 1, maxLength: 12 });
        const reads = fc.array(fc.record({ at: fc.nat(), maxBytes: fc.integer({ min: 1, max: 5000 }) }), {
          maxLength: 8,
        });
        await fc.assert(
          fc.asyncProperty(sizes, reads, async (batches, readers) => {
            const key = await newThread(log);
            const model: string[] = [];
            for (const batch of batches) {
              const messages = batch.map((size, n) => `${model.length + n}:`.padEnd(size, "."));
              await log.append(key, BigInt(model.length), { frames: messages.map(frameOf) });
              model.push(...messages);
            }
            for (const { at, maxBytes } of readers) {
              const after = at % (model.length + 1);
              expect(await readAll(log, key, { after: BigInt(after), maxBytes })).toEqual(model.slice(after));
            }
          }),
          { numRuns: 20 },
        );
      });

      test("L1: a batch of many megabytes and frames of any size come back", async () => {
        const key = await newThread(log);
        const sizes = [
          0,
          1,
          65_530,
          65_531,
          65_532,
          200_000,
          3,
          1_000_000,
          ...Array.from({ length: 3000 }, () => 1000),
        ];
        const messages = sizes.map((size, n) => `${n}`.repeat(size).slice(0, size));
        expect(await log.append(key, 0n, { frames: messages.map(frameOf) })).toBe(BigInt(sizes.length));
        const read = await readAll(log, key);
        expect(read.length).toBe(messages.length);
        expect(read.every((message, n) => message === messages[n])).toBe(true);
      });

      test("a frame that is not one whole envelope is refused, and nothing lands", async () => {
        const key = await newThread(log);
        for (const bad of [bytes("abc"), frameOf("long").subarray(0, 7), Buffer.concat([frameOf("a"), frameOf("b")])]) {
          const refused = log.append(key, 0n, { frames: [frameOf("good"), bad], document: bytes("changed") });
          await expect(refused).rejects.toMatchObject({ code: "internal" });
        }
        expect(await log.readThread(key)).toMatchObject({ head: 0n, document: expect.anything() });
        expect(text((await log.readThread(key))?.document)).toBe("document");
        expect(await log.append(key, 0n, { frames: framesOf("a") })).toBe(1n);
      });
    });

    describe("L2: atomic", () => {
      test("L2: frames, document, calls, bodies and the busy mark land together", async () => {
        const key = await newThread(log);
        const callId = newId<ToolCallId>();
        await log.append(key, 0n, {
          frames: framesOf("created"),
          document: bytes("new"),
          busy: true,
          calls: [{ callId, createdSequence: 1n, document: bytes("call") }],
          bodies: [{ callId, contentId: "input", offset: 0, bytes: bytes("body") }],
        });
        expect(await snapshot(log, key, callId)).toEqual(["created", "new", true, "call", "body"]);
      });

      test("L2: whoever looks while appends run sees a head and its own document, never a mixture", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: [], document: bytes("0") });
        const writing = (async () => {
          for (let head = 0n; head < 60n; head += 2n) {
            await log.append(key, head, { frames: framesOf("x", "y"), document: bytes(`${head + 2n}`) });
          }
        })();
        let seen = 0n;
        while (seen < 60n) {
          const thread = await log.readThread(key);
          expect(text(thread?.document)).toBe(`${thread?.head}`);
          seen = thread!.head;
          await new Promise(setImmediate);
        }
        await writing;
      });

      test("L2: an append without frames changes documents and wakes nobody", async () => {
        const key = await newThread(log);
        const leaving = new AbortController();
        const waiting = log.waitBeyond(key, 0n, leaving.signal);
        expect(await log.append(key, 0n, { frames: [], document: bytes("new") })).toBe(0n);
        expect(await log.append(key, 0n, { frames: [] })).toBe(0n);
        expect(text((await log.readThread(key))?.document)).toBe("new");
        leaving.abort(new Error("still waiting"));
        await expect(waiting).rejects.toThrow("still waiting");
      });
    });

    describe("L3: fencing", () => {
      test("L3: a writer with a head that is not the head gets conflict and changes nothing", async () => {
        const key = await newThread(log);
        const callId = newId<ToolCallId>();
        const call = { callId, createdSequence: 1n, document: bytes("call") };
        const body = { callId, contentId: "input", offset: 0, bytes: bytes("body") };
        await log.append(key, 0n, { frames: framesOf("created"), calls: [call], bodies: [body], busy: true });
        const other = { frames: framesOf("z"), document: bytes("z"), busy: false };
        const otherCall = { calls: [{ ...call, document: bytes("z") }], bodies: [{ ...body, bytes: bytes("zzzz") }] };
        for (const head of [0n, 2n, 100n]) {
          const refused = log.append(key, head, { ...other, ...otherCall });
          await expect(refused).rejects.toMatchObject({ code: "conflict", detail: { headSequence: 1n } });
          await expect(log.remove(key, head, bytes("z"))).rejects.toMatchObject({ code: "conflict" });
        }
        expect(await snapshot(log, key, callId)).toEqual(["created", "document", true, "call", "body"]);
      });

      test("L3: of ten appends at once exactly one wins", async () => {
        const key = await newThread(log);
        for (let head = 0n; head < 5n; head++) {
          const tries = Array.from({ length: 10 }, (_, n) => log.append(key, head, { frames: framesOf(`${n}`) }));
          const results = await Promise.allSettled(tries);
          expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
          for (const result of results) {
            if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "conflict" });
          }
        }
        expect(await readAll(log, key)).toHaveLength(5);
      });

      test("L3: writers who read on and try again lose nothing", async () => {
        const key = await newThread(log);
        await Promise.all(Array.from({ length: 8 }, (_, writer) => appendWithRetry(log, key, writer, 10)));
        const messages = await readAll(log, key);
        expect(messages.sort()).toEqual(Array.from({ length: 80 }, (_, n) => `${Math.floor(n / 10)}-${n % 10}`).sort());
      });

      test("L3: a removal that meets an append in flight is a conflict, and the other way round", async () => {
        const key = await newThread(log);
        const appending = log.append(key, 0n, { frames: framesOf("a") });
        await expect(log.remove(key, 0n, bytes("gone"))).rejects.toMatchObject({ code: "conflict" });
        await appending;
        const removing = log.remove(key, 1n, bytes("gone"));
        await expect(log.append(key, 1n, { frames: framesOf("b") })).rejects.toMatchObject({ code: "conflict" });
        await removing;
      });

      test("an append to a thread that is not there says so", async () => {
        await expect(log.append(newKey(), 0n, { frames: [] })).rejects.toMatchObject({ code: "thread_not_found" });
        await expect(log.remove(newKey(), 0n, bytes(""))).rejects.toMatchObject({ code: "thread_not_found" });
      });
    });

    describe("L5: watching", () => {
      /** What a watcher was told, and a promise for each time that it was told something. */
      function watched(key: ThreadKey, after: bigint) {
        const told: string[] = [];
        const spans: Span[] = [];
        const stop = log.watch(key, after, {
          appended: (head, span) => {
            told.push(`${head}`);
            if (span) spans.push(span);
          },
          removed: () => told.push("removed"),
          failed: (error) => told.push((error as { code: string }).code),
        });
        return { told, spans, stop, sees: (...all: string[]) => vi.waitFor(() => expect(told).toEqual(all)) };
      }

      test("L5: tells at once of what is beyond the position, and then of each head", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: framesOf("a", "b") });
        const [behind, there] = [watched(key, 1n), watched(key, 2n)];
        await behind.sees("2");
        await log.append(key, 2n, { frames: framesOf("c") });
        await log.append(key, 3n, { frames: framesOf("d", "e") });
        await behind.sees("2", "3", "5");
        await there.sees("3", "5");
      });

      test("L5: the spans that it gives are what can be read", async () => {
        const key = await newThread(log);
        const { spans, told } = watched(key, 0n);
        for (let head = 0n; head < 20n; head += 2n)
          await log.append(key, head, { frames: framesOf(`${head}`, "x".repeat(Number(head) * 500)) });
        await vi.waitFor(() => expect(told.at(-1)).toBe("20"));
        for (const { first, last, bytes } of spans) {
          const read = await log.read(key, first - 1n, 1_000_000);
          expect(read!.bytes.subarray(0, bytes.length).equals(bytes)).toBe(true);
          expect(last - first).toBe(1n);
        }
      });

      test("L5: is told of nothing that it knows of", async () => {
        const key = await newThread(log);
        const { sees } = watched(key, 2n);
        for (let head = 0n; head < 4n; head++) await log.append(key, head, { frames: framesOf("a") });
        await sees("3", "4");
      });

      test("L5: is not told of documents, nor of anything once it has ended", async () => {
        const key = await newThread(log);
        const { told, stop, sees } = watched(key, 0n);
        await log.append(key, 0n, { frames: [], document: bytes("new") });
        await log.append(key, 0n, { frames: framesOf("a") });
        await sees("1");
        stop();
        await log.append(key, 1n, { frames: framesOf("b") });
        await log.remove(key, 2n, bytes("tombstone"));
        await new Promise((resolve) => setTimeout(resolve, 0));
        expect(told).toEqual(["1"]);
      });

      test("L5: a thread may come after the watch for it, and go", async () => {
        const key = newKey();
        const { sees } = watched(key, 0n);
        await log.create(key, bytes(""));
        await log.append(key, 0n, { frames: framesOf("a") });
        await log.remove(key, 1n, bytes("tombstone"));
        await sees("1", "removed");
        await watched(key, 0n).sees("removed");
      });

      test("L5: the end of the log is told", async () => {
        const key = await newThread(log);
        const { sees } = watched(key, 0n);
        await new Promise((resolve) => setTimeout(resolve, 0));
        await log.close();
        await sees("shutting_down");
        await watched(key, 0n).sees("shutting_down");
      });
    });

    describe("L5: waiting", () => {
      test("L5: resolves at once when the head is beyond", async () => {
        const key = await newThread(log);
        await log.append(key, 0n, { frames: framesOf("a", "b") });
        expect(await log.waitBeyond(key, 0n, never)).toBe("appended");
        expect(await log.waitBeyond(key, 1n, never)).toBe("appended");
      });

      test("L5: wakes those whose position is passed, and only those", async () => {
        const key = await newThread(log);
        const near = log.waitBeyond(key, 0n, never);
        const far = log.waitBeyond(key, 1n, never);
        let farIsAwake = false;
        void far.then(() => (farIsAwake = true));
        await log.append(key, 0n, { frames: framesOf("a") });
        expect(await near).toBe("appended");
        expect(farIsAwake).toBe(false);
        await log.append(key, 1n, { frames: framesOf("b") });
        expect(await far).toBe("appended");
      });

      test("L5: what a wake-up announces can be read", async () => {
        const key = await newThread(log);
        for (let head = 0n; head < 20n; head++) {
          const read = log.waitBeyond(key, head, never).then(() => log.read(key, head, 1000));
          await log.append(key, head, { frames: framesOf(`${head}`) });
          expect(await read).toMatchObject({ first: head + 1n, last: head + 1n });
        }
      });

      test("L5: followers that race with appends all see everything", async () => {
        const key = await newThread(log);
        const last = 100n;
        const followers = Array.from({ length: 20 }, () => follow(log, key, last));
        for (let head = 0n; head < last; head++) {
          await log.append(key, head, { frames: framesOf(`${head + 1n}`) });
          if (head % 7n === 0n) followers.push(follow(log, key, last));
        }
        const expected = Array.from({ length: Number(last) }, (_, n) => `${n + 1}`);
        for (const seen of await Promise.all(followers)) expect(seen).toEqual(expected);
      });

      test("L5: a thread may come after the wait for it", async () => {
        const key = newKey();
        const waiting = log.waitBeyond(key, 0n, never);
        await log.create(key, bytes(""));
        await log.append(key, 0n, { frames: framesOf("a") });
        expect(await waiting).toBe("appended");
      });

      test("L5: an abort rejects with its reason and leaves no listener behind", async () => {
        const key = await newThread(log);
        const leaving = new AbortController();
        const reason = new Error("left");
        const waits = [log.waitBeyond(key, 0n, leaving.signal), log.waitBeyond(key, 5n, leaving.signal)];
        leaving.abort(reason);
        for (const wait of waits) await expect(wait).rejects.toBe(reason);
        await expect(log.waitBeyond(key, 0n, leaving.signal)).rejects.toBe(reason);
        expect(getEventListeners(leaving.signal, "abort")).toHaveLength(0);
      });

      test("L5: a wake-up leaves no listener behind", async () => {
        const key = await newThread(log);
        const { signal } = new AbortController();
        const waiting = log.waitBeyond(key, 0n, signal);
        await log.append(key, 0n, { frames: framesOf("a") });
        await waiting;
        expect(getEventListeners(signal, "abort")).toHaveLength(0);
      });

      test("L5: ten thousand may wait on one thread and one signal, which has one listener", async () => {
        const key = await newThread(log);
        const { signal } = new AbortController();
        const waits = Array.from({ length: 10_000 }, () => log.waitBeyond(key, 0n, signal));
        await log.waitBeyond(await newThreadWithFrame(log), 0n, never);
        expect(getEventListeners(signal, "abort")).toHaveLength(1);
        await log.append(key, 0n, { frames: framesOf("a") });
        expect(new Set(await Promise.all(waits))).toEqual(new Set(["appended"]));
        expect(getEventListeners(signal, "abort")).toHaveLength(0);
      });
    });

    describe("L7: removal", () => {
      test("L7: takes frames, calls and bodies away and leaves the tombstone", async () => {
        const key = await newThread(log);
        const callId = newId<ToolCallId>();
        await log.append(key, 0n, {
          frames: framesOf("a", "b"),
          busy: true,
          calls: [{ callId, createdSequence: 1n, document: bytes("call") }],
          bodies: [{ callId, contentId: "input", offset: 0, bytes: bytes("body") }],
        });
        await log.remove(key, 2n, bytes("tombstone"));
        const thread = await log.readThread(key);
        expect(thread).toMatchObject({ removed: true, head: 0n });
        expect(text(thread?.document)).toBe("tombstone");
        expect(await log.read(key, 0n, 1000)).toBeUndefined();
        expect(await log.readCall(key.tenant, callId)).toBeUndefined();
        expect(await log.listCalls(key, { after: 0n, limit: 10 })).toEqual([]);
        const body = { callId, contentId: "input" };
        expect(await log.readBody(key, body, { offset: 0, maxBytes: 10 })).toBeUndefined();
        expect(await log.listThreads(key.tenant, { limit: 10 })).toEqual([]);
        expect(await busyOf(log, key)).toBe(false);
      });

      test("L7: the id is never free again", async () => {
        const key = await newThread(log);
        await log.remove(key, 0n, bytes("tombstone"));
        expect(await log.create(key, bytes("again"))).toBe(false);
        expect(text((await log.readThread(key))?.document)).toBe("tombstone");
        await expect(log.append(key, 0n, { frames: [] })).rejects.toMatchObject({ code: "thread_deleted" });
        await expect(log.remove(key, 0n, bytes(""))).rejects.toMatchObject({ code: "thread_deleted" });
      });

      test("L7: those who wait learn of it, and those who come later", async () => {
        const key = await newThread(log);
        const waiting = log.waitBeyond(key, 10n, never);
        await log.remove(key, 0n, bytes("tombstone"));
        expect(await waiting).toBe("removed");
        expect(await log.waitBeyond(key, 0n, never)).toBe("removed");
      });

      test("L7: a neighbour with the next id loses nothing", async () => {
        const tenant = newKey().tenant;
        const id = (last: string) => `00000000-0000-4000-8000-0000000000${last}` as ThreadId;
        const neighbours = [id("fe"), id("ff")].map((threadId) => ({ tenant, threadId }));
        for (const key of neighbours) {
          await newThread(log, key);
          await log.append(key, 0n, { frames: framesOf("mine") });
        }
        await log.remove(neighbours[0]!, 1n, bytes("tombstone"));
        expect(await readAll(log, neighbours[1]!)).toEqual(["mine"]);
      });
    });

    describe("lists", () => {
      test("threads come in order of id, after a given one, up to a limit, with their heads", async () => {
        const { tenant } = newKey();
        const keys = Array.from({ length: 12 }, () => newKey(tenant));
        for (const key of keys) await newThread(log, key);
        await log.append(keys[3]!, 0n, { frames: framesOf("a", "b") });
        await log.remove(keys[5]!, 0n, bytes("tombstone"));
        const ids = keys
          .map(({ threadId }) => threadId)
          .filter((id) => id !== keys[5]!.threadId)
          .sort();
        const all = await log.listThreads(tenant, { limit: 100 });
        expect(all.map(({ threadId }) => threadId)).toEqual(ids);
        expect(all.find(({ threadId }) => threadId === keys[3]!.threadId)?.head).toBe(2n);
        const page = await log.listThreads(tenant, { after: ids[4]!, limit: 3 });
        expect(page.map(({ threadId }) => threadId)).toEqual(ids.slice(5, 8));
        expect(await log.listThreads(tenant, { after: ids.at(-1)!, limit: 3 })).toEqual([]);
        const between = await log.listThreads(tenant, { after: keys[5]!.threadId, limit: 1 });
        expect(between.map(({ threadId }) => threadId)).toEqual(ids.filter((id) => id > keys[5]!.threadId).slice(0, 1));
      });

      test("tenants do not see each other, also when one's name begins with the other's", async () => {
        const base = newKey().tenant;
        const threadId = newId<ThreadId>();
        const callId = newId<ToolCallId>();
        const tenants = [base, `${base}a`, `${base}aa`, `${base}é`];
        for (const tenant of tenants) {
          const key = { tenant, threadId };
          await log.create(key, bytes(tenant));
          const calls = [{ callId, createdSequence: 1n, document: bytes(`call of ${tenant}`) }];
          await log.append(key, 0n, { frames: framesOf(tenant), calls });
        }
        for (const tenant of tenants) {
          const listed = await log.listThreads(tenant, { limit: 10 });
          expect(listed.map(({ document }) => text(document))).toEqual([tenant]);
          expect(await readAll(log, { tenant, threadId })).toEqual([tenant]);
          expect(text((await log.readCall(tenant, callId))?.document)).toBe(`call of ${tenant}`);
        }
        expect(await log.readCall(`${base}b`, callId)).toBeUndefined();
      });

      test("busy threads are those whose last mark was true", async () => {
        const key = await newThread(log);
        const mark = (busy?: boolean) => log.append(key, 0n, { frames: [], ...(busy !== undefined && { busy }) });
        expect(await busyOf(log, key)).toBe(false);
        await mark(true);
        expect(await busyOf(log, key)).toBe(true);
        await mark();
        expect(await busyOf(log, key)).toBe(true);
        await mark(false);
        expect(await busyOf(log, key)).toBe(false);
        await mark(false);
        expect(await busyOf(log, key)).toBe(false);
      });
    });

    describe("calls", () => {
      test("are found by id with their thread, as last written", async () => {
        const key = await newThread(log);
        const callId = newId<ToolCallId>();
        const write = (document: string) => ({ calls: [{ callId, createdSequence: 2n, document: bytes(document) }] });
        await log.append(key, 0n, { frames: framesOf("a", "created"), ...write("first") });
        await log.append(key, 2n, { frames: framesOf("c"), ...write("second") });
        const call = await log.readCall(key.tenant, callId);
        expect([call?.threadId, text(call?.document)]).toEqual([key.threadId, "second"]);
        expect(await log.listCalls(key, { after: 0n, limit: 10 })).toHaveLength(1);
        expect(await log.readCall(key.tenant, newId<ToolCallId>())).toBeUndefined();
      });

      test("of a thread come in order of creation, after a sequence, up to a limit", async () => {
        const key = await newThread(log);
        const numbers = Array.from({ length: 300 }, (_, n) => n + 1);
        const calls = numbers.map((n) => ({
          callId: newId<ToolCallId>(),
          createdSequence: BigInt(n),
          document: bytes(`${n}`),
        }));
        await log.append(key, 0n, { frames: numbers.map(() => frameOf("created")), calls: [...calls].reverse() });
        const list = async (after: bigint, limit: number) =>
          (await log.listCalls(key, { after, limit })).map((document) => Number(text(document)));
        expect(await list(0n, 1000)).toEqual(numbers);
        expect(await list(0n, 3)).toEqual([1, 2, 3]);
        expect(await list(254n, 4)).toEqual([255, 256, 257, 258]);
        for (const after of [300n, 2n ** 64n - 1n]) expect(await list(after, 4)).toEqual([]);
      });
    });

    describe("bodies", () => {
      const body = { callId: newId<ToolCallId>(), contentId: "result" };

      test("written in pieces are read from any offset", async () => {
        const key = await newThread(log);
        const whole = Buffer.from(Array.from({ length: 1_500_000 }, (_, n) => (n * 7 + (n >> 8)) & 0xff));
        const cuts = [0, 10, 300_000, 300_001, 1_100_000, whole.length];
        for (let n = 0; n + 1 < cuts.length; n++) {
          const piece = { ...body, offset: cuts[n]!, bytes: whole.subarray(cuts[n], cuts[n + 1]) };
          await log.append(key, 0n, { frames: [], bodies: [piece] });
        }
        const ranges = [
          [0, 100],
          [5, 10],
          [262_143, 2],
          [299_999, 600_000],
          [0, 2_000_000],
          [1_499_999, 10],
          [1_500_000, 1],
        ];
        for (const [offset, maxBytes] of ranges as [number, number][]) {
          const read = Buffer.from((await log.readBody(key, body, { offset, maxBytes }))!);
          expect(read.equals(whole.subarray(offset, offset + maxBytes))).toBe(true);
        }
      });

      test("in one append may be several, of several calls", async () => {
        const key = await newThread(log);
        const bodies = ["input", "result"].flatMap((contentId) =>
          ["one ", "two"].map((part, n) => ({ ...body, contentId, offset: n * 4, bytes: bytes(part) })),
        );
        await log.append(key, 0n, { frames: [], bodies });
        for (const contentId of ["input", "result"]) {
          const read = await log.readBody(key, { ...body, contentId }, { offset: 0, maxBytes: 100 });
          expect(text(read)).toBe("one two");
        }
        expect(await log.readBody(key, { ...body, contentId: "inpu" }, { offset: 0, maxBytes: 10 })).toBeUndefined();
      });

      test("may be empty, which is not the same as absent", async () => {
        const key = await newThread(log);
        expect(await log.readBody(key, body, { offset: 0, maxBytes: 10 })).toBeUndefined();
        await log.append(key, 0n, { frames: [], bodies: [{ ...body, offset: 0, bytes: Buffer.alloc(0) }] });
        expect((await log.readBody(key, body, { offset: 0, maxBytes: 10 }))?.length).toBe(0);
        await log.append(key, 0n, { frames: [], bodies: [{ ...body, offset: 0, bytes: bytes("late") }] });
        expect(text(await log.readBody(key, body, { offset: 0, maxBytes: 10 }))).toBe("late");
      });
    });

    describe("close", () => {
      test("rejects what comes later, and those who wait", async () => {
        const key = await newThread(log);
        const waiting = log.waitBeyond(key, 0n, never);
        await log.close();
        const closed = { code: "shutting_down" };
        await expect(waiting).rejects.toMatchObject(closed);
        await expect(log.append(key, 0n, { frames: framesOf("a") })).rejects.toMatchObject(closed);
        await expect(log.create(newKey(), bytes(""))).rejects.toMatchObject(closed);
        await expect(log.read(key, 0n, 10)).rejects.toMatchObject(closed);
        await expect(log.readThread(key)).rejects.toMatchObject(closed);
        await expect(log.waitBeyond(key, 0n, never)).rejects.toMatchObject(closed);
        await log.close();
      });

      test("finishes the writes that were taken", async () => {
        const key = await newThread(log);
        const appending = log.append(key, 0n, { frames: framesOf("a") });
        await new Promise(setImmediate);
        await log.close();
        expect(await appending).toBe(1n);
      });
    });

    test("everything is there again after it is closed and opened", async (context) => {
      if (opened.reopen === undefined) return context.skip("the store forgets");
      const key = await newThread(log);
      const gone = await newThread(log);
      const callId = newId<ToolCallId>();
      await log.append(key, 0n, {
        frames: framesOf("created"),
        document: bytes("kept"),
        busy: true,
        calls: [{ callId, createdSequence: 1n, document: bytes("call") }],
        bodies: [{ callId, contentId: "input", offset: 0, bytes: bytes("body") }],
      });
      await log.remove(gone, 0n, bytes("tombstone"));
      log = await opened.reopen();
      expect(await snapshot(log, key, callId)).toEqual(["created", "kept", true, "call", "body"]);
      expect(await log.readThread(gone)).toMatchObject({ removed: true });
      expect(await log.create(gone, bytes(""))).toBe(false);
      await expect(log.append(key, 0n, { frames: [] })).rejects.toMatchObject({ code: "conflict" });
      expect(await log.append(key, 1n, { frames: framesOf("next") })).toBe(2n);
    });
  });
}

/** All that one thread with one call and its input holds. */
async function snapshot(log: EventLog, key: ThreadKey, callId: ToolCallId): Promise<unknown[]> {
  const thread = await log.readThread(key);
  const call = await log.readCall(key.tenant, callId);
  const body = await log.readBody(key, { callId, contentId: "input" }, { offset: 0, maxBytes: 100 });
  const messages = (await readAll(log, key)).join();
  return [messages, text(thread?.document), await busyOf(log, key), text(call?.document), text(body)];
}

async function busyOf(log: EventLog, key: ThreadKey): Promise<boolean> {
  return (await log.listBusy()).some(({ tenant, threadId }) => tenant === key.tenant && threadId === key.threadId);
}

async function newThreadWithFrame(log: EventLog): Promise<ThreadKey> {
  const key = await newThread(log);
  await log.append(key, 0n, { frames: framesOf("a") });
  return key;
}

/** What a subscriber does: read, wait, read on, until the last message. */
async function follow(log: EventLog, key: ThreadKey, last: bigint): Promise<string[]> {
  const seen: string[] = [];
  while (BigInt(seen.length) < last) {
    await log.waitBeyond(key, BigInt(seen.length), never);
    seen.push(...(await readAll(log, key, { after: BigInt(seen.length), maxBytes: 50 })));
  }
  return seen;
}

async function appendWithRetry(log: EventLog, key: ThreadKey, writer: number, count: number): Promise<void> {
  for (let n = 0; n < count; ) {
    const { head } = (await log.readThread(key))!;
    const isIn = await log.append(key, head, { frames: framesOf(`${writer}-${n}`) }).then(
      () => true,
      (error) => {
        expect(error).toMatchObject({ code: "conflict" });
        return false;
      },
    );
    if (isIn) n++;
    else await log.waitBeyond(key, head, never);
  }
}

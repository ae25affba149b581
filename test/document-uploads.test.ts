import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DocumentUploads,
  type Upload,
  type UploadLimits,
  type UploadPiece,
  uploadLimits,
} from "../src/document-uploads.js";
import { HeddleError } from "../src/thread/errors.js";
import { newId } from "../src/thread/ids.js";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const signal = new AbortController().signal;
const somebody = { principal: "somebody", signal };

/** Remembers what was put, and answers with how many that are. */
class Shelf {
  readonly put_: { text: string; name: string; signal: AbortSignal | undefined }[] = [];
  /** Waited for before each answer. */
  before: () => Promise<void> = async () => {};

  async put({ name, data }: Upload, given?: AbortSignal): Promise<number> {
    this.put_.push({ text: Buffer.from(data).toString(), name, signal: given });
    const count = this.put_.length;
    await this.before();
    return count;
  }

  get texts(): string[] {
    return this.put_.map(({ text }) => text);
  }
}

function open(limits: Partial<UploadLimits> = {}) {
  const shelf = new Shelf();
  const uploads = new DocumentUploads(shelf, { ...uploadLimits, ...limits });
  return { shelf, uploads };
}

const piece = (
  fields: Partial<Omit<UploadPiece, "data" | "offset">> & { data?: string; offset?: number },
): UploadPiece => ({
  collection: "docs",
  name: "a.md",
  mediaType: "",
  uploadId: "",
  more: false,
  ...fields,
  data: bytes(fields.data ?? ""),
  offset: BigInt(fields.offset ?? 0),
});

const wrong = (field: string, words: RegExp) => ({
  code: "invalid_field",
  message: expect.stringMatching(words),
  detail: { field },
});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a whole document", () => {
  test("goes on as it is, under the caller's signal, and nothing is held", async () => {
    const { shelf, uploads } = open();
    expect(await uploads.take(piece({ data: "all of it" }), somebody)).toBe(1);
    expect(shelf.put_).toEqual([{ text: "all of it", name: "a.md", signal }]);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
  });

  test.each([
    ["an offset", { offset: 1 }],
    ["more to follow", { more: true }],
  ])("with %s needs an id", async (_, fields) => {
    const { shelf, uploads } = open();
    await expect(uploads.take(piece({ data: "x", ...fields }), somebody)).rejects.toMatchObject(
      wrong("upload_id", /must be set/),
    );
    expect(shelf.texts).toEqual([]);
  });
});

describe("a document in pieces", () => {
  test("is put together once the last one is here, and what was held is let go", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    expect(await uploads.take(piece({ uploadId, data: "one ", more: true }), somebody)).toBeUndefined();
    expect(await uploads.take(piece({ uploadId, offset: 4, data: "two ", more: true }), somebody)).toBeUndefined();
    expect(shelf.texts).toEqual([]);
    expect(uploads.held.uploads).toBe(1);
    expect(await uploads.take(piece({ uploadId, offset: 8, data: "three" }), somebody)).toBe(1);
    expect(shelf.texts).toEqual(["one two three"]);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
  });

  test("may be empty, and may end with an empty piece", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    await uploads.take(piece({ uploadId: newId() }), somebody);
    await uploads.take(piece({ uploadId, data: "x", more: true }), somebody);
    await uploads.take(piece({ uploadId, offset: 1 }), somebody);
    expect(shelf.texts).toEqual(["", "x"]);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
  });

  test("is not touched by what the sender does with its buffer afterwards", async () => {
    const { shelf, uploads } = open();
    const first = { ...piece({ uploadId: newId(), data: "abc", more: true }) };
    await uploads.take(first, somebody);
    first.data.fill(0);
    await uploads.take({ ...first, offset: 3n, data: bytes("def"), more: false }, somebody);
    expect(shelf.texts).toEqual(["abcdef"]);
  });

  test.each([
    ["a gap", 6, /must be 4: so many bytes of this upload are here$/],
    ["other bytes where some are already", 0, /must be 4/],
    ["some that are here and some that are not", 2, /must be 4/],
    ["an offset beyond every number", Number.MAX_SAFE_INTEGER, /must be 4/],
  ])("refuses %s, names the offset that it expects, and goes on from there", async (_, offset, words) => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    await uploads.take(piece({ uploadId, data: "1234", more: true }), somebody);
    await expect(uploads.take(piece({ uploadId, offset, data: "3x", more: true }), somebody)).rejects.toMatchObject(
      wrong("offset", words),
    );
    expect(await uploads.take(piece({ uploadId, offset: 4, data: "56" }), somebody)).toBe(1);
    expect(shelf.texts).toEqual(["123456"]);
  });

  test("of which nothing is known begins at 0", async () => {
    const { uploads } = open();
    await expect(uploads.take(piece({ uploadId: newId(), offset: 7, data: "x" }), somebody)).rejects.toMatchObject(
      wrong("offset", /must be 0: .*forgotten after a minute/),
    );
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
  });

  test("has a UUID for its id", async () => {
    const { uploads } = open();
    await expect(uploads.take(piece({ uploadId: "mine", data: "x" }), somebody)).rejects.toMatchObject(
      wrong("upload_id", /UUID/),
    );
  });

  test.each([{ name: "b.md" }, { collection: "other" }, { mediaType: "text/html" }])(
    "keeps its id: another document (%j) may not use it",
    async (fields) => {
      const { uploads } = open();
      const uploadId = newId();
      await uploads.take(piece({ uploadId, data: "x", more: true }), somebody);
      await expect(uploads.take(piece({ uploadId, offset: 1, ...fields }), somebody)).rejects.toMatchObject(
        wrong("upload_id", /another document/),
      );
      await uploads.take(piece({ uploadId, offset: 1 }), somebody);
      await expect(uploads.take(piece({ uploadId, ...fields }), somebody)).rejects.toMatchObject(
        wrong("upload_id", /another document/),
      );
    },
  );

  test("is its sender's alone", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    await uploads.take(piece({ uploadId, data: "mine", more: true }), somebody);
    const other = { principal: "somebody else", signal };
    await expect(uploads.take(piece({ uploadId, offset: 4 }), other)).rejects.toMatchObject(
      wrong("offset", /must be 0/),
    );
    await uploads.take(piece({ uploadId, data: "theirs" }), other);
    await uploads.take(piece({ uploadId, offset: 4 }), somebody);
    expect(shelf.texts).toEqual(["theirs", "mine"]);
  });
});

describe("a piece that is sent again", () => {
  test("in the middle is answered as the first time", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    const first = piece({ uploadId, data: "one ", more: true });
    const second = piece({ uploadId, offset: 4, data: "two ", more: true });
    for (const each of [first, first, second, second, first])
      expect(await uploads.take(each, somebody)).toBeUndefined();
    await uploads.take(piece({ uploadId, offset: 8, data: "three" }), somebody);
    expect(shelf.texts).toEqual(["one two three"]);
  });

  test("at the end gets the first answer: while it is being stored, and afterwards", async () => {
    const { shelf, uploads } = open();
    let store = () => {};
    shelf.before = () => new Promise((resolve) => (store = resolve));
    const uploadId = newId();
    const last = piece({ uploadId, data: "all" });
    const first = uploads.take(last, somebody);
    const again = uploads.take(last, somebody);
    store();
    expect([await first, await again, await uploads.take(last, somebody)]).toEqual([1, 1, 1]);
    expect(shelf.texts).toEqual(["all"]);
  });

  test("at the end with other bytes is refused", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    await uploads.take(piece({ uploadId, data: "all" }), somebody);
    for (const other of [{ data: "any" }, { data: "all", more: true }, { data: "l", offset: 2 }])
      await expect(uploads.take(piece({ uploadId, ...other }), somebody)).rejects.toMatchObject(
        wrong("upload_id", /last piece was sent/),
      );
    expect(shelf.texts).toEqual(["all"]);
  });

  test("after a store that failed is tried again with all that came before it", async () => {
    const { shelf, uploads } = open();
    const uploadId = newId();
    await uploads.take(piece({ uploadId, data: "one ", more: true }), somebody);
    const last = piece({ uploadId, offset: 4, data: "two" });
    shelf.before = () => Promise.reject(new Error("the disk is away"));
    await expect(uploads.take(last, somebody)).rejects.toThrow("the disk is away");
    expect(uploads.held.uploads).toBe(1);
    shelf.before = async () => {};
    expect(await uploads.take(last, somebody)).toBe(2);
    expect(shelf.texts).toEqual(["one two", "one two"]);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
  });

  test("of a document that is refused for what it is gets the same refusal, and its bytes are let go", async () => {
    const { shelf, uploads } = open();
    const refusal = new HeddleError("invalid_field", "no", { detail: { field: "name", rule: "no" } });
    shelf.before = () => Promise.reject(refusal);
    const last = piece({ uploadId: newId(), data: "x" });
    await expect(uploads.take(last, somebody)).rejects.toBe(refusal);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
    await expect(uploads.take(last, somebody)).rejects.toBe(refusal);
    expect(shelf.texts).toEqual(["x"]);
  });

  test("a caller that leaves does not stop what others wait for", async () => {
    const { shelf, uploads } = open();
    const left = AbortSignal.abort();
    await uploads.take(piece({ uploadId: newId(), data: "x" }), { ...somebody, signal: left });
    expect(shelf.put_[0]!.signal!.aborted).toBe(false);
  });
});

describe("bounds", () => {
  test("a document has a largest size, and what came before stays", async () => {
    const { shelf, uploads } = open({ documentBytes: 6 });
    const uploadId = newId();
    await uploads.take(piece({ uploadId, data: "1234", more: true }), somebody);
    await expect(uploads.take(piece({ uploadId, offset: 4, data: "567", more: true }), somebody)).rejects.toMatchObject(
      wrong("data", /at most 6 bytes/),
    );
    await uploads.take(piece({ uploadId, offset: 4, data: "56" }), somebody);
    expect(shelf.texts).toEqual(["123456"]);
  });

  test("so many may be unfinished, empty ones too; an end makes room for another", async () => {
    const { uploads } = open({ unfinished: 2 });
    const ids = [newId(), newId(), newId()];
    await uploads.take(piece({ uploadId: ids[0]!, more: true }), somebody);
    await uploads.take(piece({ uploadId: ids[1]!, data: "x", more: true }), somebody);
    const third = piece({ uploadId: ids[2]!, data: "x", more: true });
    await expect(uploads.take(third, somebody)).rejects.toMatchObject({
      code: "limit_exceeded",
      detail: { limit: "unfinishedUploads" },
    });
    await uploads.take(piece({ uploadId: ids[0]! }), somebody);
    expect(await uploads.take(third, somebody)).toBeUndefined();
  });

  test("all of them together have a largest size, as it is held and not as it is said", async () => {
    const { uploads } = open({ documentBytes: 512 * 1024, unfinishedBytes: 600 * 1024 });
    const [one, other] = [newId<string>(), newId<string>()];
    await uploads.take(piece({ uploadId: one, data: "x".repeat(300 * 1024), more: true }), somebody);
    expect(uploads.held.bytes).toBeGreaterThanOrEqual(300 * 1024);
    await uploads.take(piece({ uploadId: other, data: "x", more: true }), somebody);
    const more = piece({ uploadId: other, offset: 1, data: "x".repeat(400 * 1024), more: true });
    await expect(uploads.take(more, somebody)).rejects.toMatchObject({
      code: "limit_exceeded",
      detail: { limit: "unfinishedUploadBytes" },
    });
    expect(uploads.held.bytes).toBeLessThanOrEqual(600 * 1024);
    await uploads.take(piece({ uploadId: one, offset: 300 * 1024 }), somebody);
    expect(await uploads.take(more, somebody)).toBeUndefined();
  });

  test("many small pieces take no more than a few large ones", async () => {
    const { shelf, uploads } = open({ unfinishedBytes: 256 * 1024 });
    const uploadId = newId();
    for (let offset = 0; offset < 5_000; offset++)
      await uploads.take(piece({ uploadId, offset, data: "x", more: true }), somebody);
    await uploads.take(piece({ uploadId, offset: 5_000 }), somebody);
    expect(shelf.texts[0]).toHaveLength(5_000);
  });

  test("an upload is forgotten a minute after its last piece, and so is an answer", async () => {
    const { shelf, uploads } = open();
    const [one, other] = [newId<string>(), newId<string>()];
    await uploads.take(piece({ uploadId: other, data: "whole" }), somebody);
    await uploads.take(piece({ uploadId: one, data: "x", more: true }), somebody);
    vi.advanceTimersByTime(59_999);
    await uploads.take(piece({ uploadId: one, offset: 1, data: "y", more: true }), somebody);
    vi.advanceTimersByTime(59_999);
    expect(uploads.held.uploads).toBe(1);
    vi.advanceTimersByTime(1);
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
    await expect(uploads.take(piece({ uploadId: one, offset: 2 }), somebody)).rejects.toMatchObject(
      wrong("offset", /must be 0/),
    );
    await uploads.take(piece({ uploadId: other, data: "whole" }), somebody);
    expect(shelf.texts).toEqual(["whole", "whole"]);
    expect(vi.getTimerCount()).toBe(1);
  });

  test("an upload that is being stored is not forgotten, however long that takes", async () => {
    const { shelf, uploads } = open();
    let store = () => {};
    shelf.before = () => new Promise((resolve) => (store = resolve));
    const last = piece({ uploadId: newId(), data: "all" });
    const first = uploads.take(last, somebody);
    vi.advanceTimersByTime(600_000);
    expect(uploads.held.uploads).toBe(1);
    const again = uploads.take(last, somebody);
    store();
    expect([await first, await again]).toEqual([1, 1]);
  });

  test("the oldest answers go first", async () => {
    const { shelf, uploads } = open({ answers: 2 });
    const [oldest, newer, newest] = [1, 2, 3].map((n) => piece({ uploadId: newId(), name: `${n}`, data: "x" }));
    for (const each of [oldest!, newer!, newest!]) await uploads.take(each, somebody);
    expect([await uploads.take(newer!, somebody), await uploads.take(newest!, somebody)]).toEqual([2, 3]);
    expect(await uploads.take(oldest!, somebody)).toBe(4);
    expect(shelf.texts).toHaveLength(4);
  });

  test("closing forgets everything and stops what is being stored", async () => {
    const { shelf, uploads } = open();
    shelf.before = () =>
      new Promise((_, reject) => {
        const stored = shelf.put_.at(-1)!.signal!;
        stored.addEventListener("abort", () => reject(stored.reason));
      });
    await uploads.take(piece({ uploadId: newId(), data: "x", more: true }), somebody);
    const storing = uploads.take(piece({ uploadId: newId(), data: "x" }), somebody);
    uploads.close();
    await expect(storing).rejects.toMatchObject({ code: "shutting_down" });
    expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("whatever is lost, repeated or sent by two at once: a document is stored whole, once, or not at all", async () => {
  vi.useRealTimers();
  const life = fc.record({
    text: fc.string({ maxLength: 40 }),
    cuts: fc.array(fc.nat(40), { maxLength: 6 }),
    repeats: fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }),
    senders: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(life, async ({ text, cuts, repeats, senders }) => {
      const { shelf, uploads } = open();
      const data = Buffer.from(text);
      const ends = [...new Set(cuts.map((cut) => Math.min(cut, data.length))), data.length].sort((a, b) => a - b);
      const uploadId = newId<string>();
      const send = async () => {
        let offset = 0;
        for (const [index, end] of ends.entries()) {
          const more = index < ends.length - 1;
          const each = { ...piece({ uploadId, more }), offset: BigInt(offset), data: data.subarray(offset, end) };
          for (let n = 0; n <= (repeats[index] ?? 0); n++) await uploads.take(each, somebody).catch(() => {});
          offset = end;
        }
      };
      await Promise.all(Array.from({ length: senders }, send));
      expect(shelf.texts).toEqual([data.toString()]);
      expect(uploads.held).toEqual({ uploads: 0, bytes: 0 });
      uploads.close();
    }),
    { numRuns: 300 },
  );
});

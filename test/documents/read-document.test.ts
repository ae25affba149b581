import { constants, deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { checkUpload } from "../../src/documents/check-upload.js";
import { readDocument } from "../../src/documents/reading/read-document.js";
import { decodeLeaf } from "../../src/documents/store/passage-leaf.js";
import { offload } from "../../src/tool/offload/offload.js";
import { never, pdfBomb, pdfOf } from "./support.js";

async function read(name: string, data: string | Uint8Array, mediaType = "") {
  const upload = checkUpload({ collection: "", name, mediaType, data: Buffer.from(data) }, (text) => text);
  const { leaves, passages } = await readDocument(upload, never);
  const all = leaves.flatMap((leaf) => decodeLeaf(leaf)!);
  expect(all).toHaveLength(passages);
  return all;
}

const unreadable = (message: string) => ({ code: "unsupported_document", message: expect.stringContaining(message) });

describe("text", () => {
  test.each([
    ["UTF-8 with a mark", Buffer.from("\uFEFFgrüße")],
    ["UTF-16, little end first", Buffer.from("\uFEFFgrüße", "utf16le")],
    ["UTF-16, big end first", Buffer.from("\uFEFFgrüße", "utf16le").swap16()],
  ])("is read as %s", async (_, data) => {
    expect(await read("a.txt", data)).toMatchObject([{ text: "grüße", firstLine: 1, lastLine: 1, headings: [] }]);
  });

  test.each([
    ["bytes that are no UTF-8", Buffer.from([0x67, 0xfc, 0x62]), "no UTF-8 text"],
    ["half a character", Buffer.from("ü").subarray(0, 1), "no UTF-8 text"],
    ["half a pair in UTF-16", Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x61, 0x00]), "no UTF-16LE text"],
    ["zeros", Buffer.from("a\0b"), "is not text"],
  ])("is refused for %s", async (_, data, message) => {
    await expect(read("a.txt", data)).rejects.toMatchObject(unreadable(message));
  });

  test("of many megabytes is cut in a thread", async () => {
    const lines = Array.from({ length: 40_000 }, (_, n) => `line ${n} of a long text`);
    const passages = await read("a.txt", lines.join("\n"));
    expect(passages.map(({ text }) => text).join("\n")).toBe(lines.join("\n"));
  });

  test("of nothing has no passages", async () => {
    expect(await read("a.txt", "")).toEqual([]);
    expect(await read("a.md", " \n\n\t\n")).toEqual([]);
  });
});

describe("HTML", () => {
  test("is read as its article, with its headings, without scripts", async () => {
    const html = `<!doctype html><html><head><title>Returns</title><script>var secret = 1</script></head><body>
      <h1>Returns</h1><p>Send it back.</p><h2>Costs</h2><p>We pay for <b>parcels</b>.</p></body></html>`;
    const passages = await read("returns.html", html);
    expect(passages).toMatchObject([
      { headings: ["Returns"], text: expect.stringContaining("Send it back.") },
      { headings: ["Returns", "Costs"], text: expect.stringContaining("We pay for **parcels**.") },
    ]);
    expect(JSON.stringify(passages)).not.toContain("secret");
  });

  test("has its title for a heading where it has no other", async () => {
    const passages = await read("a.html", "<title>Opening hours</title><p>Nine to five.</p>");
    expect(passages).toMatchObject([{ headings: ["Opening hours"] }]);
  });

  test("that is nested without end is given up when its time is over", async () => {
    const data = Buffer.from("<div>".repeat(200_000));
    const upload = checkUpload({ collection: "", name: "deep.html", mediaType: "", data }, (text) => text);
    await expect(readDocument(upload, never, 1_000)).rejects.toMatchObject(unreadable("too tangled"));
  });
});

describe("PDF", () => {
  test("is read page by page, in lines", async () => {
    const passages = await read("terms.pdf", pdfOf(["Terms of sale\nNo refunds (at all)", "", "Page three"]));
    expect(passages).toMatchObject([
      { page: 1, firstLine: 1, lastLine: 2, text: "Terms of sale\nNo refunds (at all)" },
      { page: 3, text: "Page three" },
    ]);
    const [, third] = passages;
    expect(third!.firstLine).toBeGreaterThan(2);
  });

  test.each([
    ["locked with a password", pdfOf(["secret"], { encrypted: true }), "locked with a password"],
    ["not a PDF", Buffer.from("hello"), "broken, or no PDF"],
    ["empty", Buffer.alloc(0), "broken, or no PDF"],
    ["cut short", pdfOf(["text"]).subarray(0, 60), "broken, or no PDF"],
  ])("that is %s is refused in words", async (_, data, message) => {
    await expect(read("a.pdf", data)).rejects.toMatchObject(unreadable(message));
  });

  test("that unpacks to gigabytes is given up, by its memory or its time", async () => {
    const data = pdfBomb(fourGigabytes());
    const upload = checkUpload({ collection: "", name: "bomb.pdf", mediaType: "", data }, (text) => text);
    const before = process.memoryUsage.rss();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 20);
    try {
      await expect(readDocument(upload, never, 5_000)).rejects.toMatchObject({ code: "unsupported_document" });
    } finally {
      clearInterval(watch);
    }
    expect(peak - before).toBeLessThan(1.5 * 1024 ** 3);
  });

  test("cannot take more in buffers than a thread may", async () => {
    const module = new URL("./fixtures/take-buffers.ts", import.meta.url);
    const job = { bound: 64 * 1024 * 1024, each: 1024 * 1024 };
    expect(await offload(module, job, { signal: never })).toEqual({ made: 64, told: true, error: "RangeError" });
  });

  test("is called off with its signal", async () => {
    const upload = checkUpload({ collection: "", name: "a.pdf", mediaType: "", data: pdfOf(["text"]) }, (text) => text);
    const control = new AbortController();
    const reading = readDocument(upload, control.signal);
    control.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

/** Spaces, packed: one block again and again. The checksum at the end is wrong, which readers of PDFs do not mind. */
function fourGigabytes(): Buffer {
  const block = deflateRawSync(Buffer.alloc(1024 * 1024, " "), { finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array.from({ length: 4_096 }, () => block)]);
}

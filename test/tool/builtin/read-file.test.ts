import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readFile } from "../../../src/tool/builtin/read-file.js";
import { KeptContext } from "../support.js";

let base: string;
let workspace: string;
const put = (name: string, data: string | Uint8Array) => writeFileSync(join(workspace, name), data);

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "heddle-read-")));
  workspace = join(base, "root");
  mkdirSync(join(workspace, "src"), { recursive: true });
  writeFileSync(join(base, "secret"), "secret");
  put("src/server.ts", Array.from({ length: 120 }, (_, index) => `line ${index + 1}\n`).join(""));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const run = (input: { path: string; offset?: number; limit?: number }, context = new KeptContext({ workspace })) =>
  readFile.run(readFile.input.parse(input), context);

async function readOf(data: string | Uint8Array, input: { offset?: number; limit?: number } = {}) {
  put("it", data);
  const { result } = await run({ path: "it", ...input });
  return { ...result, model: readFile.toModel!(result) };
}

describe("read_file of text", () => {
  test("gives all lines, numbered for the model, and says where", async () => {
    const outcome = await run({ path: "src/server.ts" });
    expect(outcome.summary).toBe("Read 120 lines from src/server.ts");
    expect(outcome.locations).toEqual([{ path: join(workspace, "src/server.ts"), line: 1 }]);
    expect(outcome.result).toMatchObject({ type: "text", first_line: 1, lines: 120, total_lines: 120 });
    expect(readFile.toModel!(outcome.result)).toMatch(
      /^src\/server.ts: 120 lines\n1\tline 1\n2\tline 2\n.*\n120\tline 120$/s,
    );
  });

  test("gives a range, and says how to go on", async () => {
    const outcome = await run({ path: "src/server.ts", offset: 10, limit: 2 });
    expect(outcome.summary).toBe("Read 2 lines from src/server.ts");
    expect(outcome.locations).toEqual([{ path: join(workspace, "src/server.ts"), line: 10 }]);
    expect(readFile.toModel!(outcome.result)).toBe(
      "src/server.ts: lines 10 to 11 of 120; go on with offset 12\n10\tline 10\n11\tline 11",
    );
  });

  test.each([
    ["", { lines: 0, total_lines: 0, text: "", model: "it is empty" }],
    ["\n", { lines: 1, total_lines: 1, text: "" }],
    ["a", { lines: 1, total_lines: 1, text: "a" }],
    ["a\n\nb", { lines: 3, total_lines: 3, text: "a\n\nb" }],
    ["a\r\nb\r\n", { lines: 2, total_lines: 2, text: "a\nb", crlf: true }],
    ["\uFEFFa\n", { lines: 1, text: "a" }],
    ["a\rb", { lines: 1, text: "a\rb" }],
    ["héé 😀\n", { lines: 1, text: "héé 😀" }],
  ])("reads %j", async (data, expected) => {
    expect(await readOf(data)).toMatchObject(expected);
  });

  test("reads characters and line ends that lie across the border of two pieces", async () => {
    const line = `${"x".repeat(65_535)}`;
    const read = await readOf(`${line}😀\r\n`.repeat(1) + "é\n".repeat(40_000), { offset: 2, limit: 1 });
    expect(read).toMatchObject({ text: "é", total_lines: 40_001 });
    expect(await readOf(`${"x".repeat(65_535)}\r\nb`, { offset: 2 })).toMatchObject({ text: "b", total_lines: 2 });
  });

  test("has bounds for lines, line length and size, and says so", async () => {
    const many = await readOf("a\n".repeat(5_000));
    expect(many).toMatchObject({ lines: 2_000, total_lines: 5_000 });
    expect(many.model).toMatch(/^it: lines 1 to 2000 of 5000; go on with offset 2001\n/);
    const long = await readOf(`${"y".repeat(1_000_000)}\nb`);
    expect(long).toMatchObject({ cut_lines: 1, text: `${"y".repeat(2_000)}\nb` });
    expect(long.model).toMatch(/^it: 2 lines; 1 line is cut after 2000 characters\n/);
    const large = await readOf(`${"z".repeat(999)}\n`.repeat(1_000));
    expect(large).toMatchObject({ lines: 49, total_lines: 1_000 });
    expect(Buffer.byteLength(large.model)).toBeLessThan(64 * 1024);
  });

  test("cuts a long line between characters", async () => {
    expect((await readOf(`${"y".repeat(1_999)}😀\n`)).text).toBe("y".repeat(1_999));
  });

  test("counts no further than it is worth", async () => {
    const read = await readOf("a\n".repeat(20 * 1024 * 1024), { limit: 1 });
    expect(read.total_lines).toBeUndefined();
    expect(read.model).toBe("it: lines 1 to 1 of more than can be counted; go on with offset 2\n1\ta");
  });
});

describe("read_file of images", () => {
  const padded = (start: string) => Buffer.concat([Buffer.from(start, "latin1"), Buffer.alloc(64)]);

  test.each([
    ["image/png", padded("\x89PNG\r\n\x1a\n")],
    ["image/jpeg", padded("\xff\xd8\xff\xe0")],
    ["image/gif", padded("GIF89a")],
    ["image/webp", padded("RIFF\x10\0\0\0WEBPVP8 ")],
  ])("gives %s as a part, whatever its name", async (mediaType, data) => {
    put("picture.txt", data);
    const outcome = await run({ path: "picture.txt" });
    expect(outcome.content).toEqual([{ id: "image", mediaType, data }]);
    expect(outcome.summary).toBe(`Read an image (${mediaType}) from picture.txt`);
    expect(readFile.toModel!(outcome.result)).toBe(`picture.txt: an image (${mediaType}, ${data.length} bytes)`);
  });

  test.each(["GIF89a", "GIF89a is a format of pictures\n", "GIF87a\tund für dich\r\n"])(
    "takes %j for a text",
    async (text) => {
      put("notes", text);
      expect((await run({ path: "notes" })).result).toMatchObject({ type: "text", lines: 1 });
    },
  );

  test("refuses one that is too large", async () => {
    put("picture", Buffer.concat([padded("GIF89a"), Buffer.alloc(5 * 1024 * 1024)]));
    await expect(run({ path: "picture" })).rejects.toMatchObject({ name: "ToolFailure", code: "EFBIG" });
  });
});

describe("read_file fails in words", () => {
  test.each([
    ["nothing.ts", "ENOENT", "File not found: nothing.ts; list the directory to see what is there"],
    ["src", "EISDIR", "Is a directory: src; give the path of a file"],
    ["../secret", "EACCES", "Outside the workspace: ../secret; give a path inside it"],
    ["src/server.ts/x", "ENOTDIR", /^Not a directory: /],
  ])("for %s", async (path, code, message) => {
    const failure = await run({ path }).catch((reason) => reason);
    expect([failure.name, failure.code]).toEqual(["ToolFailure", code]);
    expect(failure.message).toMatch(message);
  });

  test.each([
    ["a NUL", "text\0text"],
    ["bytes that are no UTF-8", Buffer.from([0x61, 0xff, 0x62])],
    ["half a character at the end", Buffer.from([0x61, 0xc3])],
    ["UTF-16", Buffer.from("\uFEFFtext", "utf16le")],
    ["a picture of another sort", Buffer.from("BM\0\0")],
  ])("for %s", async (_, data) => {
    put("binary", data);
    await expect(run({ path: "binary" })).rejects.toMatchObject({
      code: "EILSEQ",
      message: "Binary file: binary is neither UTF-8 text nor an image; choose another file",
    });
  });

  test("for an offset beyond the end", async () => {
    await expect(run({ path: "src/server.ts", offset: 121 })).rejects.toMatchObject({
      code: "ERANGE",
      message: "src/server.ts has only 120 lines; choose a smaller offset",
    });
  });

  test("for links that lead out, and leaves no descriptor behind", async () => {
    symlinkSync("../secret", join(workspace, "link"));
    linkSync(join(base, "secret"), join(workspace, "hard"));
    const before = readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 20; round++) {
      await expect(run({ path: "link" })).rejects.toMatchObject({ code: "EACCES" });
      await expect(run({ path: "hard" })).rejects.toMatchObject({ code: "EMLINK" });
      await run({ path: "src/server.ts" });
    }
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
  });

  test("stops between pieces when it is called off, with the signal's own reason", async () => {
    put("large", "a\n".repeat(10_000_000));
    const caller = new AbortController();
    const reason = new Error("called off");
    const reading = run({ path: "large" }, new KeptContext({ workspace, signal: caller.signal }));
    setImmediate(() => caller.abort(reason));
    await expect(reading).rejects.toBe(reason);
  });
});

import { link, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { collectionOf } from "../../src/cli/index-arguments.js";
import { indexFolder } from "../../src/cli/index-folder.js";
import type { Indexed } from "../../src/cli/index-outcome.js";
import { heddleError } from "../../src/client/resumable.js";
import { silence } from "../client/support.js";
import { keepingServer, testFolder } from "./documents-support.js";
import { fakeIo, heddle } from "./support.js";

const outcomesOf = (stdout: string): Record<string, string> =>
  Object.fromEntries(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .map(({ name, outcome }) => [name, outcome]),
  );

describe("heddle index", () => {
  test("sends what is new and changed, removes what is gone, and leaves the rest alone", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "# A", "b.txt": "b", "sub/c.html": "<p>c</p>", "sub/d": "d" });
    const index = () => heddle(["index", folder.path, "--server", server.url]);
    expect(await index()).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^(new {8}\S+\n){4}Indexed 4 new, 0 changed, 0 unchanged, 0 removed \(0 failed\)\n$/,
      ),
      stderr: "",
    });
    expect(Object.fromEntries(server.mediaTypes)).toEqual({
      "docs/a.md": "text/markdown",
      "docs/b.txt": "text/plain",
      "docs/sub/c.html": "text/html",
      "docs/sub/d": "text/plain",
    });
    server.asked.length = 0;
    await folder.write("a.md", "# A, again");
    await folder.write("e.md", "e");
    await folder.remove("b.txt");
    expect(await index()).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /\nremoved {4}b\.txt\nIndexed 1 new, 1 changed, 2 unchanged, 1 removed \(0 failed\)\n$/,
      ),
      stderr: "",
    });
    expect(server.asked.sort()).toEqual(["delete docs/b.txt", "put docs/a.md", "put docs/e.md"]);
    expect((await index()).stdout).toBe("Indexed 0 new, 0 changed, 4 unchanged, 0 removed (0 failed)\n");
  });

  test("--dry-run says the same and does nothing", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "a", "b.md": "b" });
    const index = (...flags: string[]) => heddle(["index", folder.path, "--server", server.url, ...flags]);
    await index();
    server.asked.length = 0;
    await folder.write("a.md", "other");
    await folder.remove("b.md");
    const { code, stdout } = await index("--dry-run", "--json");
    expect({ code, outcomes: outcomesOf(stdout) }).toEqual({
      code: 0,
      outcomes: { "a.md": "changed", "b.md": "removed" },
    });
    expect((await index("--dry-run")).stdout).toMatch(
      /\nWould index 0 new, 1 changed, 0 unchanged, 1 would be removed \(0 failed\)\n$/,
    );
    expect(server.asked).toEqual([]);
  });

  test("leaves out what is hidden or ignored, and says why it skips the rest", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({
      ".gitignore": "*.log\n/build/\n",
      ".hidden/a.md": "hidden",
      ".env": "SECRET=1",
      ".heddle/data.mdb": "data",
      ".git/config": "git",
      "a.md": "a",
      "noise.log": "noise",
      "build/out.md": "built",
      "sub/.gitignore": "!keep.log\nsecret.md\n",
      "sub/keep.log": "kept",
      "sub/secret.md": "secret",
      "picture.png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]),
      "latin1.txt": Buffer.from([0x63, 0x61, 0x66, 0xe9]),
      "paper.pdf": Buffer.from("%PDF-1.7\n\0\xff", "latin1"),
    });
    await symlink("a.md", join(folder.path, "link.md"));
    await link(join(folder.path, "a.md"), join(folder.path, "twin.md"));
    const { code, stdout } = await heddle(["index", folder.path, "--server", server.url]);
    expect(code).toBe(0);
    expect([...server.texts.keys()].sort()).toEqual(["docs/paper.pdf", "docs/sub/keep.log"]);
    expect(
      stdout
        .trim()
        .split("\n")
        .filter((line) => line.startsWith("skipped"))
        .sort(),
    ).toEqual([
      "skipped    a.md: has more than one name (hard links), and may be a file from elsewhere",
      "skipped    latin1.txt: not UTF-8 text",
      "skipped    link.md: links are not followed",
      "skipped    picture.png: not UTF-8 text",
      "skipped    twin.md: has more than one name (hard links), and may be a file from elsewhere",
    ]);
    expect(stdout).toContain("Indexed 2 new, 0 changed, 0 unchanged, 0 removed (0 failed, 5 skipped)\n");
  });

  test("says of a name that is no UTF-8 that it is none, and not that the file is gone", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "A" });
    await writeFile(Buffer.concat([Buffer.from(`${folder.path}/caf`), Buffer.from([0xe9]), Buffer.from(".md")]), "x");
    const { stdout } = await heddle(["index", folder.path, "--server", server.url]);
    expect(stdout).toContain("skipped    caf\uFFFD.md: its name is not UTF-8\n");
  });

  test("what becomes no document is removed, and so is what a pattern leaves out", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "a", "b.txt": "b", "sub/c.md": "c", "sub/d.md": "d" });
    const index = async (...flags: string[]) => {
      await heddle(["index", folder.path, "--server", server.url, ...flags]);
      return [...server.texts.keys()].sort();
    };
    expect(await index()).toHaveLength(4);
    await folder.write("a.md", Buffer.from([0, 1, 2]));
    expect(await index()).toEqual(["docs/b.txt", "docs/sub/c.md", "docs/sub/d.md"]);
    expect(await index("--include", "*.md")).toEqual(["docs/sub/c.md", "docs/sub/d.md"]);
    expect(await index("--include", "*.md", "--include", "b.*", "--exclude", "sub/d.*")).toEqual([
      "docs/b.txt",
      "docs/sub/c.md",
    ]);
  });

  test("a file that cannot be read fails alone, and its document stays", async () => {
    const seen: string[] = [];
    const job = {
      folder: { read: async () => ({ outcome: "failed", why: "permission denied" }) as const },
      files: ["a.md"],
      collection: "docs",
      there: new Map([
        ["a.md", "00"],
        ["gone.md", "00"],
      ]),
      client: { upload: () => Promise.reject(new Error("nothing to send")), delete: async () => {} },
      isDryRun: false,
      keepsMissing: false,
      signal: new AbortController().signal,
    };
    const ended = async ({ name, outcome, why }: Indexed) => void seen.push(`${outcome} ${name} ${why}`);
    await indexFolder(job, { started() {}, ended });
    expect(seen).toEqual(["failed a.md permission denied", "removed gone.md undefined"]);
    seen.length = 0;
    await indexFolder({ ...job, keepsMissing: true }, { started() {}, ended });
    expect(seen).toEqual(["failed a.md permission denied"]);
  });

  test.each([
    ["UNSUPPORTED_DOCUMENT", 0, "skipped", "(0 failed, 1 skipped)"],
    ["INVALID_FIELD", 1, "failed", "(1 failed)"],
    ["LIMIT_EXCEEDED", 1, "failed", "(1 failed)"],
  ])("one that the server refuses for what it is (%s) does not stop the others", async (reason, code, outcome, end) => {
    await using server = await keepingServer({
      uploadDocument({ name }) {
        if (name === "b.md") throw heddleError(Code.InvalidArgument, reason, "no good\u001b[2J");
        return {};
      },
    });
    await using folder = await testFolder({ "a.md": "a", "b.md": "b", "c.md": "c" });
    const { stdout, ...rest } = await heddle(["index", folder.path, "--server", server.url]);
    expect(rest).toEqual({ code, stderr: "" });
    expect(stdout).toContain(`${outcome.padEnd(9)}  b.md: no good\\u{1b}[2J\n`);
    expect(stdout).toContain(`Indexed 2 new, 0 changed, 0 unchanged, 0 removed ${end}\n`);
    expect([...server.texts.keys()].sort()).toEqual(["docs/a.md", "docs/c.md"]);
  });

  test("a large one goes in pieces, and waits where the server has no room for it", async () => {
    let refusals = 2;
    const offsets: bigint[] = [];
    await using server = await keepingServer({
      uploadDocument({ uploadId, offset, more }) {
        expect(uploadId).toMatch(/^[0-9a-f-]{36}$/);
        if (offset > 0n && refusals-- > 0) throw heddleError(Code.ResourceExhausted, "LIMIT_EXCEEDED", "full");
        offsets.push(offset);
        expect(more).toBe(offset < 2n * 1024n * 1024n);
        return {};
      },
    });
    const text = "0123456789abcdef".repeat((2 * 1024 * 1024 + 512) / 16);
    await using folder = await testFolder({ "large.txt": text });
    expect((await heddle(["index", folder.path, "--server", server.url])).code).toBe(0);
    expect(offsets).toEqual([0n, 1024n * 1024n, 2n * 1024n * 1024n]);
    expect(server.texts.get("docs/large.txt") === text).toBe(true);
  });

  test("several are sent at the same time, and not more than four", async () => {
    let [under, most] = [0, 0];
    let go = () => {};
    const four = new Promise<void>((resolve) => {
      go = resolve;
    });
    await using server = await keepingServer({
      async uploadDocument() {
        most = Math.max(most, ++under);
        if (under === 4) go();
        await four;
        under--;
        return {};
      },
    });
    await using folder = await testFolder(
      Object.fromEntries([...Array(20).keys()].map((n) => [`${n}.md`, `text ${n}`])),
    );
    expect((await heddle(["index", folder.path, "--server", server.url])).code).toBe(0);
    expect(most).toBe(4);
    expect(server.texts.size).toBe(20);
  });

  test("Ctrl-C leaves what is done and says so; the same command goes on", async () => {
    const io = fakeIo();
    let hang = true;
    await using server = await keepingServer({
      async uploadDocument({ name }, context) {
        if (name !== "z.md" || !hang) return {};
        io.signal("SIGINT");
        return silence(context);
      },
    });
    const files = Object.fromEntries([...Array(9).keys()].map((n) => [`${n}.md`, `text ${n}`]));
    await using folder = await testFolder({ ...files, "z.md": "the last" });
    const { code, stderr } = await heddle(["index", folder.path, "--server", server.url], io);
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /^heddle: stopped after \d of 10 files\. What was indexed stays; run the same command again to go on\n$/,
    );
    hang = false;
    const again = await heddle(["index", folder.path, "--server", server.url]);
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Indexed [1-9]\d* new, 0 changed, \d unchanged/),
    });
    expect(server.texts.size).toBe(10);
  });

  test("a server that goes away ends it: what happened, what stays and what to do", async () => {
    let count = 0;
    await using server = await keepingServer({
      async uploadDocument() {
        if (++count > 3) server.cut();
        return {};
      },
    });
    const files = Object.fromEntries([...Array(30).keys()].map((n) => [`${n}.md`, `text ${n}`]));
    await using folder = await testFolder(files);
    const { code, stderr } = await heddle(["index", folder.path, "--server", server.url]);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      new RegExp(
        `^heddle: the server went away after \\d of 30 files: cannot reach the server at ${server.url}: .+\\. What was indexed stays; run the same command again to go on\\n$`,
      ),
    );
    expect(count).toBeLessThan(10);
  });

  test("what would meet every document stops at the first", async () => {
    let count = 0;
    await using server = await keepingServer({
      uploadDocument() {
        count++;
        throw heddleError(Code.ResourceExhausted, "STORAGE_FULL", "The server has no space left");
      },
    });
    const files = Object.fromEntries([...Array(30).keys()].map((n) => [`${n}.md`, `text ${n}`]));
    await using folder = await testFolder(files);
    const { code, stderr } = await heddle(["index", folder.path, "--server", server.url]);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "stopped after 0 of 30 files: The server has no space left. What was indexed stays",
      ),
    });
    expect(count).toBeLessThanOrEqual(4);
  });

  test("a folder that is not the collection's does not empty it, unless it is told to", async () => {
    await using server = await keepingServer();
    const files = Object.fromEntries([...Array(12).keys()].map((n) => [`${n}.md`, `text ${n}`]));
    await using folder = await testFolder(files);
    await using other = await testFolder({ "1.md": "x" });
    await heddle(["index", folder.path, "--server", server.url]);
    const refused = await heddle(["index", other.path, "--server", server.url]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("11 of the 12 documents of the collection docs are not in");
    expect(server.texts.size).toBe(12);
    expect((await heddle(["index", other.path, "--server", server.url, "--collection", "other"])).code).toBe(0);
    expect(server.texts.size).toBe(13);
    expect((await heddle(["index", other.path, "--server", server.url, "--replace"])).code).toBe(0);
    expect([...server.texts.keys()].sort()).toEqual(["docs/1.md", "other/1.md"]);
  });

  test("shows a bar on a terminal, and takes it away at the end", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "a", "b.md": "b".repeat(2048), "picture.png": Buffer.from([0]) });
    const io = fakeIo({ isTTY: true, columns: 60, rows: 10, env: { NO_COLOR: "1" } });
    const { code, stdout } = await heddle(["index", folder.path, "--server", server.url], io);
    expect(code).toBe(0);
    expect(stdout).toMatch(/[◐◓◑◒] ░{20} {2}0\/3 files {2}0 bytes/);
    const end = stdout.slice(stdout.lastIndexOf("\u001b[J"));
    expect(end).toContain("⊘ picture.png: not UTF-8 text\n");
    expect(end).not.toContain("░");
    expect(end).toMatch(/Indexed 2 new, 0 changed, 0 unchanged, 0 removed \(0 failed, 1 skipped\)\n$/);
  });

  test("the bar fits its terminal, whatever the names are", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ [`${"x".repeat(200)}.md`]: "a" });
    const io = fakeIo({ isTTY: true, columns: 40, rows: 10, env: { NO_COLOR: "1" } });
    const { stdout } = await heddle(["index", folder.path, "--server", server.url], io);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor takes no room.
    const moves = /\u001b\[[?0-9;]*[a-zA-Z]/g;
    const bars = stdout.replace(moves, "").split("\n");
    for (const line of bars.filter((each) => each.includes("░"))) expect(line.length).toBeLessThan(40);
  });

  test("--json prints a line a document, and the result elsewhere", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "aaa", "b.bin": Buffer.from([0]) });
    const { code, stdout, stderr } = await heddle(["index", folder.path, "--server", server.url, "--json"]);
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.sort((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      { collection: "docs", name: "a.md", outcome: "new", sizeBytes: 3 },
      { collection: "docs", name: "b.bin", outcome: "skipped", sizeBytes: 0, why: "not UTF-8 text" },
    ]);
    expect(stderr).toBe("Indexed 1 new, 0 changed, 0 unchanged, 0 removed (0 failed, 1 skipped)\n");
  });

  test("a renamed file is one removed and one new", async () => {
    await using server = await keepingServer();
    await using folder = await testFolder({ "a.md": "a" });
    await heddle(["index", folder.path, "--server", server.url]);
    await rename(join(folder.path, "a.md"), join(folder.path, "b.md"));
    const { stdout } = await heddle(["index", folder.path, "--server", server.url]);
    expect(stdout).toBe(
      "new        b.md\nremoved    a.md\nIndexed 1 new, 0 changed, 0 unchanged, 1 removed (0 failed)\n",
    );
  });

  test.each([
    [["/no/such/folder"], "there is no folder /no/such/folder"],
    [["package.json"], "package.json is not a folder"],
    [[], "missing required argument"],
    [[".", "--collection", "Not Good"], '"Not Good" is no name of a collection'],
    [[".", "--include", "a/../b"], "Invalid pattern: a/../b"],
    [[".", "--data", "x"], "cannot be used with option"],
  ])("refuses %j", async (args, words) => {
    const { code, stderr } = await heddle(["index", ...args, "--server", "http://127.0.0.1:1"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
  });

  test("nobody there: 4", async () => {
    await using folder = await testFolder({ "a.md": "a" });
    expect(await heddle(["index", folder.path, "--server", "http://127.0.0.1:1"])).toMatchObject({
      code: 4,
      stdout: "",
    });
  });
});

test.each([
  ["/home/ada/docs", "docs"],
  ["/home/ada/Café Notes (2024)", "cafe-notes-2024"],
  ["/home/ada/.config", "config"],
  ["/home/ada/__init__", "init"],
  ["/home/ada/日本", "default"],
  ["/", "default"],
  [`/${"x".repeat(80)}`, "x".repeat(64)],
  [`/${"x".repeat(63)}- y`, "x".repeat(63)],
])("the folder %s is the collection %s", (directory, collection) => {
  expect(collectionOf(directory)).toBe(collection);
});

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listDirectory } from "../../../src/tool/builtin/list-directory.js";
import { KeptContext } from "../support.js";

let base: string;
/** Reached through a symbolic link, as a temporary directory may be. */
let workspace: string;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "heddle-list-")));
  const root = join(base, "root");
  workspace = join(base, "workspace");
  await mkdir(join(root, "src/deep"), { recursive: true });
  await mkdir(join(root, "empty"));
  await mkdir(join(root, "one/only"), { recursive: true });
  await mkdir(join(base, "root-beside"));
  await mkdir(join(base, "secret"));
  await writeFile(join(base, "secret/key"), "k");
  await writeFile(join(root, "src/server.ts"), "12345");
  await writeFile(join(root, "src/B"), "");
  await writeFile(join(root, "src/..dots"), "1");
  await symlink("../../secret", join(root, "src/out"));
  await symlink("/dev", join(root, "devices"));
  await symlink("src", join(root, "inward"));
  await symlink("loop", join(root, "loop"));
  await symlink(root, workspace);
});
afterAll(() => rm(base, { recursive: true, force: true }));

const run = (path: string, context = new KeptContext({ workspace })) => listDirectory.run({ path }, context);

describe("list_directory", () => {
  test("lists by name, with types and sizes, and prints the same", async () => {
    const context = new KeptContext({ workspace });
    const outcome = await run("src", context);
    expect(outcome).toEqual({
      result: {
        path: "src",
        entries: [
          { name: "..dots", type: "file", size: 1 },
          { name: "B", type: "file", size: 0 },
          { name: "deep", type: "directory" },
          { name: "out", type: "symlink" },
          { name: "server.ts", type: "file", size: 5 },
        ],
        total: 5,
      },
      summary: "Listed 5 entries in src/",
      locations: [{ path: join(base, "root/src") }],
    });
    const lines = "..dots (1 byte)\nB (0 bytes)\ndeep/\nout (symbolic link)\nserver.ts (5 bytes)";
    expect(context.outputs.join("")).toBe(`${lines}\n`);
    expect(listDirectory.toModel!(outcome.result)).toBe(`src/: 5 entries\n${lines}`);
    expect(context.reports).toEqual([]);
  });

  test.each([
    [".", "Listed 6 entries in ./"],
    ["", "Listed 6 entries in ./"],
    ["one", "Listed 1 entry in one/"],
    ["empty/", "Listed 0 entries in empty/"],
    ["src/../src//deep", "Listed 0 entries in src/deep/"],
    ["inward", "Listed 5 entries in src/"],
    // The file system would go up from where the link leads; the path is read without asking it.
    ["src/out/..", "Listed 5 entries in src/"],
  ])("lists %j", async (path, summary) => {
    expect((await run(path)).summary).toBe(summary);
  });

  test("takes absolute paths inside the workspace, by either of its names", async () => {
    for (const path of [workspace, join(workspace, "src"), join(base, "root/src")])
      expect((await run(path)).result.path).toBe(path === workspace ? "." : "src");
  });

  test.each([
    ["src", "Listing src/"],
    ["src/", "Listing src/"],
    [".", "Listing ./"],
    ["a\n\u001b[31mb", "Listing a b/"],
  ])("says of %j what is about to happen", (path, words) => {
    expect(listDirectory.describe({ path })).toBe(words);
  });

  test.each([
    ["nothing", { code: "ENOENT", message: "No such directory: nothing; list the one above it to see what is there" }],
    ["src/server.ts", { code: "ENOTDIR", message: "Not a directory: src/server.ts; give the path of a directory" }],
    ["src/server.ts/a", { code: "ENOTDIR" }],
    ["loop", { code: "ELOOP" }],
    ["a".repeat(4_000), { code: "ENAMETOOLONG" }],
    ["src\0", { code: "EINVAL" }],
  ])("fails for %j", async (path, failure) => {
    await expect(run(path)).rejects.toMatchObject({ name: "ToolFailure", ...failure });
  });

  test.each([
    "..",
    "../",
    "../secret",
    "../root-beside",
    "src/../../secret",
    "src/out",
    "src/out/.",
    "inward/out",
    "devices",
    "devices/fd",
    "/",
    "/etc",
    "/dev/null",
    "/proc/self/root",
    "../nothing",
  ])("does not leave the workspace for %j", async (path) => {
    const context = new KeptContext({ workspace });
    await expect(run(path, context)).rejects.toMatchObject({
      name: "ToolFailure",
      code: "EACCES",
      message: `Outside the workspace: ${path}; give a path inside it`,
    });
    expect(context.outputs).toEqual([]);
  });

  test("fails where there is no workspace, or it is gone", async () => {
    await expect(run(".", new KeptContext())).rejects.toMatchObject({ name: "ToolFailure", code: "ENOENT" });
    const gone = new KeptContext({ workspace: join(base, "gone") });
    await expect(run(".", gone)).rejects.toMatchObject({
      message: expect.stringMatching(/^The workspace cannot be reached/),
    });
  });

  test.skipIf(process.platform === "win32")("fails for a pipe, without waiting for a writer", async () => {
    execFileSync("mkfifo", [join(base, "root/empty/pipe")]);
    await expect(run("empty/pipe")).rejects.toMatchObject({ code: "ENOTDIR" });
    expect((await run("empty")).result.entries).toEqual([{ name: "pipe", type: "other" }]);
    await rm(join(base, "root/empty/pipe"));
  });

  test.skipIf(process.getuid?.() === 0)("fails where it may not look (not as root, who may)", async () => {
    await mkdir(join(base, "root/private"), { mode: 0 });
    await expect(run("private")).rejects.toMatchObject({
      code: "EACCES",
      message: "Permission denied: private; choose another directory",
    });
    await rm(join(base, "root/private"), { recursive: true });
  });

  test("prints one line for each name, whatever the name", async () => {
    const names = ["new\nline", "\u001b[31mred", "\u202egnp.exe", "two  spaces", "ünï"];
    await mkdir(join(base, "root/odd"));
    for (const name of names) await writeFile(join(base, "root/odd", name), "");
    const context = new KeptContext({ workspace });
    const { result } = await run("odd", context);
    expect(result.entries.map(({ name }) => name)).toEqual(names.toSorted());
    expect(context.outputs.join("").split("\n")).toEqual([
      "\\u{1b}[31mred (0 bytes)",
      "new\\u{a}line (0 bytes)",
      "two  spaces (0 bytes)",
      "ünï (0 bytes)",
      "\\u{202e}gnp.exe (0 bytes)",
      "",
    ]);
    await rm(join(base, "root/odd"), { recursive: true });
  });
});

describe("list_directory of a large directory", () => {
  const count = 2_345;
  const nameOf = (index: number) => `f${String(index).padStart(5, "0")}`;

  beforeAll(async () => {
    for (const [name, size] of [
      ["root/large", count],
      ["root/medium", 250],
    ] as const) {
      await mkdir(join(base, name));
      for (let index = 0; index < size; index++) await writeFile(join(base, name, nameOf(index)), "");
    }
  });
  afterAll(() => Promise.all(["large", "medium"].map((name) => rm(join(base, "root", name), { recursive: true }))));

  test("gives the first 1,000 in order, and how many there are", async () => {
    const context = new KeptContext({ workspace });
    const { result, summary } = await run("large", context);
    expect(result.total).toBe(count);
    expect(result.entries.map(({ name }) => name)).toEqual(Array.from({ length: 1_000 }, (_, index) => nameOf(index)));
    expect(summary).toBe("Listed 1000 of 2345 entries in large/");
    expect(listDirectory.toModel!(result)).toMatch(/^large\/: 1000 of 2345 entries\nf00000 /);
    expect(context.outputs).toHaveLength(10);
    expect(context.reports).toEqual([
      [2_000, undefined],
      [count, count],
    ]);
  });

  test("reports how far it is", async () => {
    const context = new KeptContext({ workspace });
    await run("medium", context);
    expect(context.reports).toEqual([
      [100, 250],
      [200, 250],
      [250, 250],
    ]);
    expect(context.outputs.map((piece) => piece.split("\n").length - 1)).toEqual([100, 100, 50]);
  });

  test("does not begin when it is called off already", async () => {
    const reason = new Error("called off");
    const context = new KeptContext({ workspace, signal: AbortSignal.abort(reason) });
    await expect(run("medium", context)).rejects.toBe(reason);
    expect(context.outputs).toEqual([]);
  });

  test("stops at the next piece when it is called off, with the signal's own reason", async () => {
    const caller = new AbortController();
    const reason = new DOMException("called off", "AbortError"); // Has a code, and is still not the file system's.
    const context = new KeptContext({ workspace, signal: caller.signal });
    context.onOutput = () => caller.abort(reason);
    await expect(run("medium", context)).rejects.toBe(reason);
    expect(context.outputs).toHaveLength(1);
  });
});

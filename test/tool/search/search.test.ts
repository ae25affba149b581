// The jobs are run here, without a thread: it is what they find that is tested.
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import findFiles, { type FindJob } from "../../../src/tool/search/find-files.js";
import searchFiles, { type SearchJob } from "../../../src/tool/search/search-files.js";
import { requireTool } from "../../support/tools.js";

let base: string;
let workspace: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "heddle-search-"));
  workspace = join(base, "root");
  mkdirSync(workspace);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  }
}

const find = async (pattern: string, job: Partial<FindJob> = {}) =>
  findFiles({ workspace, path: ".", pattern, includeIgnored: false, maxFiles: 100, ...job }, () => {});

const defaults = { path: ".", glob: undefined, ignoreCase: false, context: 0, includeIgnored: false, maxMatches: 100 };
const search = async (pattern: string, job: Partial<SearchJob> = {}, reports: number[] = []) =>
  searchFiles({ workspace, pattern, ...defaults, ...job }, (count) => reports.push(count));

describe("finding files", () => {
  test.each([
    ["**/*.ts", ["a.ts", "src/.hidden.ts", "src/b.ts", "src/deep/c.ts"]],
    ["*.ts", ["a.ts"]],
    ["src/*", ["src/.hidden.ts", "src/b.ts"]],
    ["**", ["a-b/x", "a.ts", "a/x", "src/.hidden.ts", "src/b.ts", "src/deep/c.ts"]],
    ["**/{b,c}.ts", ["src/b.ts", "src/deep/c.ts"]],
    ["**/[bc].ts", ["src/b.ts", "src/deep/c.ts"]],
    ["!**/*.ts", ["a-b/x", "a/x"]],
    ["A.ts", []],
  ])("%s gives them in order", async (pattern, files) => {
    put({
      "a.ts": "",
      "a/x": "",
      "a-b/x": "",
      "src/b.ts": "",
      "src/.hidden.ts": "",
      "src/deep/c.ts": "",
      ".git/d.ts": "",
    });
    const found = await find(pattern);
    expect(found).toEqual({ files, total: files.length, missedDirectories: 0, stopped: false });
  });

  test("starts where it is told, and counts what it does not list", async () => {
    put({ "src/a.ts": "", "src/b.ts": "", "src/deep/c.ts": "", "x.ts": "" });
    expect(await find("*.ts", { path: "src" })).toMatchObject({ files: ["src/a.ts", "src/b.ts"] });
    expect(await find("**/*.ts", { maxFiles: 2 })).toMatchObject({ files: ["src/a.ts", "src/b.ts"], total: 4 });
  });

  test("names links, and does not follow them", async () => {
    put({ "src/a.ts": "" });
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside/secret.ts"), "");
    symlinkSync("../outside", join(workspace, "out"));
    symlinkSync(".", join(workspace, "round"));
    expect((await find("**")).files).toEqual(["out", "round", "src/a.ts"]);
    await expect(find("**", { path: "out" })).rejects.toMatchObject({ code: "EACCES" });
  });

  test.each(["[a", "(a", "{a", "/etc/*", "../*", "a/../../b", " ", "a\0"])("%j is no pattern", async (pattern) => {
    await expect(find(pattern)).rejects.toMatchObject({
      name: "ToolFailure",
      code: "EINVAL",
      message: expect.stringMatching(/^Invalid pattern: /),
    });
  });
});

const hasGit = requireTool("git", ["git", "--version"]);

describe.skipIf(!hasGit)("what Git ignores (needs git)", () => {
  test.each<[string, Record<string, string>]>([
    [
      "names anywhere",
      { ".gitignore": "*.log\nbuild\n", "a.log": "", "src/b.log": "", "build/x": "", "src/build/y": "", z: "" },
    ],
    ["directories only", { ".gitignore": "out/\n", "out/x": "", "src/out": "" }],
    ["anchored", { ".gitignore": "/a\nsrc/b\n", a: "", "x/a": "", "src/b": "", "x/src/b": "" }],
    ["negation", { ".gitignore": "*.log\n!keep.log\n", "a.log": "", "keep.log": "", "x/keep.log": "" }],
    ["no way back into a directory", { ".gitignore": "d/\n!d/keep\n", "d/keep": "", e: "" }],
    [
      "nested",
      {
        ".gitignore": "*.log\n",
        "s/.gitignore": "!*.log\n/t\nu/v\nw\n",
        "s/a.log": "",
        "a.log": "",
        "s/t": "",
        "s/x/t": "",
        "s/u/v": "",
        "s/x/u/v": "",
        "s/x/w": "",
        w: "",
      },
    ],
    [
      "a directory that a deeper file takes back",
      { ".gitignore": "build\n", "s/.gitignore": "!build\n", "s/build/x": "", "build/y": "" },
    ],
    [
      "odd names",
      { "a[b]* c/.gitignore": "x\n!y\n/z\n", "a[b]* c/x": "", "a[b]* c/y": "", "a[b]* c/d/z": "", "ab c/x": "" },
    ],
    [
      "escapes and comments",
      { ".gitignore": "# no\n\\#yes\n\\!also\nspace\\ \n", "#yes": "", "!also": "", "space ": "", "# no": "" },
    ],
    [
      "deep stars",
      { "s/.gitignore": "**/x\na/**/b\nc/**\n", "s/q/x": "", "s/a/b": "", "s/a/1/2/b": "", "s/c/1/2": "", x: "" },
    ],
    ["case", { ".gitignore": "A\n", a: "", A: "" }],
    ["line ends of others", { ".gitignore": "\uFEFFa\r\nb\r\n", a: "", b: "", c: "" }],
    ["the repository's own", { ".gitignore": "!k.own\n", "a.own": "", "k.own": "", "d/b.own": "" }],
  ])("%s", async (_, files) => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: workspace, encoding: "utf8" });
    git("init", "--quiet");
    put({ ...files, ".git/info/exclude": "*.own\n" });
    const listed = git(
      "-c",
      "core.excludesFile=/dev/null",
      "ls-files",
      "-z",
      "--cached",
      "--others",
      "--exclude-standard",
    );
    expect((await find("**")).files).toEqual(listed.split("\0").filter(Boolean).sort());
  });

  test("is found when it is asked for, or where the search starts inside it", async () => {
    put({
      ".gitignore": "out\n",
      "out/x": "it",
      "out/.gitignore": "y\n",
      "out/y": "it",
      "src/.gitignore": "z",
      "src/z": "",
    });
    expect((await find("**", { includeIgnored: true })).files).toContain("out/x");
    expect((await find("**", { path: "out" })).files).toEqual(["out/.gitignore", "out/x"]);
    expect((await search("it", { path: "out/y" })).totalMatches).toBe(1);
    expect((await find("**", { path: "src" })).files).toEqual(["src/.gitignore"]);
  });
});

describe("searching files", () => {
  test("gives lines with their numbers, and the totals", async () => {
    put({
      "a.ts": "x\nTODO one\r\ny\nTODO two\n",
      "src/b.ts": "todo",
      "src/c.md": "TODO",
      ".git/e": "TODO",
      ".gitignore": "g\n",
      g: "TODO",
    });
    const reports: number[] = [];
    expect(await search("TODO", {}, reports)).toEqual({
      files: [
        {
          path: "a.ts",
          matches: 2,
          lines: [
            { number: 2, text: "TODO one", match: true },
            { number: 4, text: "TODO two", match: true },
          ],
        },
        { path: "src/c.md", matches: 1, lines: [{ number: 1, text: "TODO", match: true }] },
      ],
      totalMatches: 3,
      totalFiles: 2,
      searchedFiles: 4,
      skippedFiles: 0,
      unreadFiles: 0,
      missedDirectories: 0,
      stopped: false,
    });
    expect([reports[0], reports.at(-1)]).toEqual([0, 4]);
    expect((await search("TODO", { glob: "*.md" })).totalMatches).toBe(1);
    expect((await search("TODO", { glob: "src/**" })).totalMatches).toBe(1);
    expect((await search("TODO", { ignoreCase: true })).totalMatches).toBe(4);
    expect((await search("TODO", { path: "src/c.md" })).files.map(({ path }) => path)).toEqual(["src/c.md"]);
  });

  test.each([
    [0, [3, 5]],
    [1, [2, 3, 4, 5, 6]],
    [9, [1, 2, 3, 4, 5, 6]],
  ])("gives each line once with %d lines around", async (context, numbers) => {
    put({ a: "1\n2\nhit\n4\nhit\n6\n" });
    const { files } = await search("hit", { context });
    expect(files[0]!.lines.map(({ number }) => number)).toEqual(numbers);
    expect(files[0]!.lines.filter(({ match }) => match).map(({ number }) => number)).toEqual([3, 5]);
  });

  test("has bounds, and counts beyond them", async () => {
    put({ a: "hit\n".repeat(50), b: "hit\n".repeat(50), c: `${"x".repeat(5_000)}hit${"y".repeat(5_000)}` });
    const found = await search("hit", { maxMatches: 60 });
    expect(found).toMatchObject({ totalMatches: 101, totalFiles: 3 });
    expect(found.files.map(({ lines }) => lines.length)).toEqual([50, 10]);
    const cut = (await search("hit", { path: "c" })).files[0]!.lines[0]!.text;
    expect(cut).toMatch(/^…x{100}hity{297}…$/);
    put({ d: `hit${"z".repeat(390)}\n`.repeat(1_000) });
    const long = await search("hit", { path: "d", maxMatches: 1_000 });
    expect(long.totalMatches).toBe(1_000);
    expect(JSON.stringify(long).length).toBeLessThan(64 * 1024);
  });

  test("leaves out what is no text, is too large, or may be from outside, and counts it", async () => {
    put({ text: "hit", binary: "hit\0", large: `hit${" ".repeat(8 * 1024 * 1024)}` });
    writeFileSync(join(workspace, "latin1"), Buffer.from("h\xefhit", "latin1"));
    writeFileSync(join(base, "secret"), "hit");
    linkSync(join(base, "secret"), join(workspace, "hard"));
    symlinkSync("../secret", join(workspace, "link"));
    const found = await search("hit");
    expect(found.files.map(({ path }) => path)).toEqual(["latin1", "text"]);
    expect(found).toMatchObject({ searchedFiles: 2, skippedFiles: 3 });
  });

  test.each([
    ["\\p{Lu}", "É"],
    ["a\\-b", "a-b"],
    ["^x$", "x"],
    ["\\bfoo\\(", "foo("],
  ])("understands %s", async (pattern, text) => {
    put({ a: `${text}\n` });
    expect((await search(pattern)).totalMatches).toBe(1);
  });

  test.each(["(", "[", "*", "a{2,1}", "(?<n"])("%s is no regular expression", async (pattern) => {
    await expect(search(pattern)).rejects.toMatchObject({
      name: "ToolFailure",
      code: "EINVAL",
      message: expect.stringMatching(/^Bad regex: .*; escape/),
    });
  });

  test.each([
    ["nothing", "ENOENT"],
    ["../secret", "EACCES"],
  ])("fails for %s", async (path, code) => {
    await expect(search("a", { path })).rejects.toMatchObject({ name: "ToolFailure", code });
  });
});

// glob_files and grep_files as they are called: in their thread, with words for people and for the model.
import { linkSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { globFiles } from "../../../src/tool/builtin/glob-files.js";
import { grepFiles } from "../../../src/tool/builtin/grep-files.js";
import { KeptContext } from "../support.js";

let workspace: string;

beforeAll(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "heddle-tools-")));
  mkdirSync(join(workspace, "src"));
  writeFileSync(join(workspace, "src/a.ts"), "one\nTODO two\nthree\nfour\nfive\nTODO six\n");
  writeFileSync(join(workspace, "src/odd\nname.ts"), "TODO\0");
  writeFileSync(join(workspace, "b.ts"), "// TODO");
});
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

const glob = (input: object, context = new KeptContext({ workspace })) =>
  globFiles.run(globFiles.input.parse(input), context);
const grep = (input: object, context = new KeptContext({ workspace })) =>
  grepFiles.run(grepFiles.input.parse(input), context);

describe("glob_files", () => {
  test("finds, and says so", async () => {
    expect(globFiles.describe(globFiles.input.parse({ pattern: "**/*.ts" }))).toBe("Finding files matching **/*.ts");
    const { result, summary } = await glob({ pattern: "**/*.ts" });
    expect(summary).toBe("Found 3 files");
    expect(globFiles.toModel!(result)).toBe("3 files\nb.ts\nsrc/a.ts\nsrc/odd\\u{a}name.ts");
  });

  test("fails in words", async () => {
    await expect(glob({ pattern: "[a" })).rejects.toMatchObject({ name: "ToolFailure", code: "EINVAL" });
    await expect(glob({ pattern: "*", path: "no" })).rejects.toMatchObject({ name: "ToolFailure", code: "ENOENT" });
    await expect(glob({ pattern: "*" }, new KeptContext())).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("grep_files", () => {
  test("finds, says where and how far it is", async () => {
    expect(grepFiles.describe(grepFiles.input.parse({ pattern: "TODO" }))).toBe('Searching files for "TODO"');
    const context = new KeptContext({ workspace });
    const { result, summary, locations } = await grep({ pattern: "TODO", context: 1 }, context);
    expect(summary).toBe("Found 3 matches in 2 files");
    expect(locations).toEqual([
      { path: join(workspace, "b.ts"), line: 1 },
      { path: join(workspace, "src/a.ts"), line: 2 },
      { path: join(workspace, "src/a.ts"), line: 6 },
    ]);
    expect(grepFiles.toModel!(result)).toBe(
      [
        "3 matches in 2 files (2 files searched); 1 file was skipped: binary, too large, or not to be read",
        "b.ts\n1: // TODO",
        "src/a.ts\n1- one\n2: TODO two\n3- three\n--\n5- five\n6: TODO six",
      ].join("\n"),
    );
    expect(context.reports.at(-1)).toEqual([3, undefined]);
  });

  test("says when there is nothing, and when there is more", async () => {
    expect((await grep({ pattern: "nowhere" })).summary).toBe("Found no matches");
    const { result, summary } = await grep({ pattern: "TODO", max_matches: 1 });
    expect(summary).toBe("Found 3 matches in 2 files");
    expect(grepFiles.toModel!(result)).toMatch(/^3 matches in 2 files \(2 files searched\); the first 1 are listed/);
  });

  test("says when a file could not be read", async () => {
    linkSync(join(workspace, "b.ts"), join(workspace, "second-name.ts"));
    const { result, summary } = await grep({ pattern: "TODO" });
    rmSync(join(workspace, "second-name.ts"));
    expect(result).toMatchObject({ skipped_files: 3, unread_files: 2 });
    expect(summary).toBe("Found 2 matches in 1 file; 2 files could not be read");
    expect(grepFiles.toModel!(result)).toContain("or not to be read; 2 of them could not be read\n");
  });

  test("fails in words for a bad regex", async () => {
    await expect(grep({ pattern: "(" })).rejects.toMatchObject({
      name: "ToolFailure",
      code: "EINVAL",
      message: expect.stringMatching(/^Bad regex: /),
    });
  });

  test("ends a search that would take for ever, and leaves no descriptor", async () => {
    writeFileSync(join(workspace, "0"), `${"a".repeat(60)}b`);
    await grep({ pattern: "x" });
    const before = readdirSync("/proc/self/fd").length;
    const caller = new AbortController();
    const reason = new Error("called off");
    const context = new KeptContext({ workspace, signal: caller.signal });
    context.progress = () => setImmediate(() => caller.abort(reason));
    await expect(grep({ pattern: "^(a+)+$" }, context)).rejects.toBe(reason);
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
  });
});

import { symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { moveFile } from "../../../src/tool/builtin/move-file.js";
import { SampleWorkspace } from "../change/sample-workspace.js";

describe("move_file", () => {
  test("moves a file into a new directory, as it is", async () => {
    await using files = await SampleWorkspace.with();
    await files.put("a.ts", Buffer.of(1, 0, 255), 0o751);
    const outcome = await files.run(moveFile, { from: "a.ts", to: "lib/a.ts" });
    expect(outcome).toMatchObject({
      started: "Moving a.ts to lib/a.ts",
      result: { from: "a.ts", to: "lib/a.ts" },
      summary: "Moved a.ts to lib/a.ts",
      locations: [{ path: files.at("lib/a.ts") }],
      toModel: "Moved a.ts to lib/a.ts.",
      diff: "diff --git a/a.ts b/lib/a.ts\nrename from a.ts\nrename to lib/a.ts\n",
      preview: { mediaType: "text/x-diff", data: outcome.diff },
    });
    expect(await files.everything()).toEqual({ "lib/a.ts": "751 \u0001\u0000ÿ" });
  });

  test("moves a link itself, not what it points at", async () => {
    await using files = await SampleWorkspace.with({ a: "1" });
    await symlink("a", files.at("link"));
    await files.run(moveFile, { from: "link", to: "other" });
    expect(Object.keys(await files.everything())).toEqual(["a", "other"]);
  });

  test.each([
    [
      { from: "a", to: "b" },
      { code: "EEXIST", message: expect.stringMatching(/^Target exists: b; choose another path/) },
    ],
    [{ from: "a", to: "src" }, { code: "EEXIST" }],
    [{ from: "a", to: "dangling" }, { code: "EEXIST" }],
    [{ from: "a", to: "a" }, { code: "EEXIST" }],
    [
      { from: "none", to: "c" },
      { code: "ENOENT", message: expect.stringMatching(/^File not found: none; list/) },
    ],
    [{ from: "src", to: "lib" }, { code: "EISDIR" }],
    [{ from: "a", to: "../a" }, { code: "EACCES" }],
    [{ from: "../a", to: "c" }, { code: "EACCES" }],
    [{ from: "a", to: ".git/hooks/pre-commit" }, { code: "EPERM" }],
    [{ from: "a", to: "new/" }, { code: "EISDIR" }],
  ])("refuses %j, and its preview says the same", async (input, failure) => {
    await using files = await SampleWorkspace.with({ a: "1", b: "2", "src/x": "3" });
    await symlink("nowhere", files.at("dangling"));
    const before = await files.everything();
    const reason = await files.run(moveFile, input).catch((reason) => reason);
    expect(reason).toMatchObject({ name: "ToolFailure", ...failure, preview: { failure: reason.message } });
    expect(await files.everything()).toEqual(before);
  });

  test("speaks of long and odd names in one line", () => {
    const long = `${"n".repeat(3_000)}\n`;
    expect(moveFile.describe({ from: long, to: long })).toMatch(/^Moving n{500,800}…$/);
    expect(moveFile.describe({ from: "\u202e", to: "b" })).toBe("Moving a file without a name to b");
  });
});

import { execFileSync } from "node:child_process";
import { link, symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { deleteFile } from "../../../src/tool/builtin/delete-file.js";
import { SampleWorkspace } from "../change/sample-workspace.js";

describe("delete_file", () => {
  test("deletes a text, and keeps what it was", async () => {
    await using files = await SampleWorkspace.with({ "old.log": "one\ntwo\n", other: "" });
    const outcome = await files.run(deleteFile, { path: "old.log" });
    expect(outcome).toMatchObject({
      started: "Deleting old.log",
      result: { path: "old.log", removed: 2 },
      summary: "Deleted old.log",
      locations: [{ path: files.at("old.log") }],
      toModel: "Deleted old.log.",
      diff: "diff --git a/old.log b/old.log\ndeleted file mode 100644\n--- a/old.log\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n",
      preview: { mediaType: "text/x-diff", data: outcome.diff },
    });
    expect(Object.keys(await files.everything())).toEqual(["other"]);
  });

  test.each([
    ["a binary file", "picture", "Delete picture (2 bytes, not shown)\n"],
    ["a large file", "large", "Delete large (1000001 bytes, not shown)\n"],
    ["one of two names", "second", "Delete second (1 byte, not shown)\n"],
    ["a link", "link", "Delete link (a symbolic link; what it points at stays)\n"],
    ["a link that leads out", "out", "Delete out (a symbolic link; what it points at stays)\n"],
    ["a pipe", "pipe", "Delete pipe (not a regular file)\n"],
  ])("deletes %s, told in words", async (_, path, words) => {
    await using files = await SampleWorkspace.with({
      picture: Buffer.of(0, 1),
      large: "x".repeat(1_000_001),
      first: "1",
    });
    await link(files.at("first"), files.at("second"));
    await symlink("picture", files.at("link"));
    await symlink("/etc/passwd", files.at("out"));
    execFileSync("mkfifo", [files.at("pipe")]);
    const outcome = await files.run(deleteFile, { path });
    expect(outcome).toMatchObject({ summary: `Deleted ${path}`, preview: { mediaType: "text/plain", data: words } });
    expect(outcome.diff).toBeUndefined();
  });

  test.each([
    ["none", { code: "ENOENT", message: "File not found: none; list the directory to see what is there" }],
    ["src", { code: "EISDIR", message: "Is a directory: src; delete its files one by one" }],
    [".", { code: "EISDIR" }],
    ["..", { code: "EACCES" }],
    [".git/index", { code: "EPERM" }],
  ])("refuses %j, and its preview says the same", async (path, failure) => {
    await using files = await SampleWorkspace.with({ "src/a": "1", ".git/index": "2" });
    const before = await files.everything();
    const reason = await files.run(deleteFile, { path }).catch((reason) => reason);
    expect(reason).toMatchObject({ name: "ToolFailure", ...failure, preview: { failure: reason.message } });
    expect(await files.everything()).toEqual(before);
  });
});

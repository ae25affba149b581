import { chmod, readdir, symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { writeFile } from "../../../src/tool/builtin/write-file.js";
import { checkInput } from "../../../src/tool/check-input.js";
import { SampleWorkspace } from "../change/sample-workspace.js";

describe("write_file", () => {
  test("creates a file, with the directories on the way", async () => {
    await using files = await SampleWorkspace.with();
    const outcome = await files.run(writeFile, { path: "docs/README.md", content: "# One\n\nTwo\n" });
    expect(outcome).toMatchObject({
      started: "Writing docs/README.md (3 lines)",
      result: { path: "docs/README.md", created: true, lines: 3, added: 3, removed: 0 },
      summary: "Created docs/README.md (3 lines)",
      locations: [{ path: files.at("docs/README.md"), line: 1 }],
      toModel: "Created docs/README.md (3 lines).",
    });
    expect(await files.read("docs/README.md")).toBe("# One\n\nTwo\n");
    expect(outcome.content).toEqual([{ id: "diff", mediaType: "text/x-diff", data: outcome.diff }]);
    expect(outcome.preview).toEqual({ mediaType: "text/x-diff", data: outcome.diff });
    expect(outcome.diff).toBe(
      "diff --git a/docs/README.md b/docs/README.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/README.md\n@@ -0,0 +1,3 @@\n+# One\n+\n+Two\n",
    );
  });

  test("replaces a file, and keeps its mode", async () => {
    await using files = await SampleWorkspace.with();
    await files.put("run.sh", "#!/bin/sh\necho 1\necho 2\n", 0o750);
    const outcome = await files.run(writeFile, { path: "run.sh", content: "#!/bin/sh\necho 2\necho 3\necho 4\n" });
    expect(outcome).toMatchObject({
      result: { created: false, lines: 4, added: 2, removed: 1 },
      summary: "Replaced run.sh (+2 −1)",
      locations: [{ line: 2 }],
      toModel: "Replaced run.sh (+2 −1).",
    });
    expect(await files.mode("run.sh")).toBe(0o750);
  });

  test.each([
    ["a mark", "\ufeff1\n", "2\n", "\ufeff2\n"],
    ["Windows' line ends", "1\r\n2\r\n", "1\n3\n", "1\r\n3\r\n"],
    ["both", "\ufeff1\r\n", "2\n3", "\ufeff2\r\n3"],
    ["both, where it brings them", "\ufeff1\r\n", "\ufeff2\r\n", "\ufeff2\r\n"],
    ["mixed line ends not", "1\r\n2\n", "1\n2\n", "1\n2\n"],
  ])("keeps %s of what it replaces", async (_, before, content, after) => {
    await using files = await SampleWorkspace.with({ a: before });
    await files.run(writeFile, { path: "a", content });
    expect(await files.read("a")).toBe(after);
  });

  test("leaves a file alone that has the text already", async () => {
    await using files = await SampleWorkspace.with({ a: "1\n" });
    const outcome = await files.run(writeFile, { path: "a", content: "1\n" });
    expect(outcome).toMatchObject({
      summary: "Left a as it was (1 line)",
      preview: { mediaType: "text/plain", data: "a stays as it is\n" },
    });
    expect(outcome).not.toHaveProperty("content");
  });

  test("creates an empty file", async () => {
    await using files = await SampleWorkspace.with();
    expect(await files.run(writeFile, { path: "empty", content: "" })).toMatchObject({
      summary: "Created empty (0 lines)",
      diff: "diff --git a/empty b/empty\nnew file mode 100644\n",
      locations: [{ path: files.at("empty") }],
    });
  });

  test("writes where a link leads, inside", async () => {
    await using files = await SampleWorkspace.with({ "src/a": "1\n" });
    await symlink("src/a", files.at("link"));
    expect(await files.run(writeFile, { path: "link", content: "2\n" })).toMatchObject({ result: { path: "src/a" } });
    expect(await files.read("src/a")).toBe("2\n");
  });

  test.each([
    ["new/target", "dangling", "new/target"],
    ["new/deep", "dangling/a", "new/deep/a"],
    ["target", "dangling", "target"],
  ])("tells where it writes by way of a link to nothing (%s)", async (target, path, written) => {
    await using files = await SampleWorkspace.with();
    await symlink(target, files.at("dangling"));
    const outcome = await files.run(writeFile, { path, content: "1\n" });
    expect(outcome).toMatchObject({
      result: { path: written, created: true },
      summary: `Created ${written} (1 line)`,
      locations: [{ path: files.at(written) }],
      preview: { data: expect.stringContaining(`+++ b/${written}\n`) },
    });
    expect(await files.read(written)).toBe("1\n");
  });

  test.each([
    ["new/.git/config", "EPERM"],
    ["new/../../out", "ENOENT"],
    ["new/../back", "ENOENT"],
  ])("makes nothing by way of a link to %s", async (target, code) => {
    await using files = await SampleWorkspace.with();
    await symlink(target, files.at("dangling"));
    await expect(files.run(writeFile, { path: "dangling", content: "1\n" })).rejects.toMatchObject({ code });
    expect(await readdir(files.directory)).toEqual(["dangling"]);
  });

  test("tells in words of a change that is too large to show, and makes it", async () => {
    await using files = await SampleWorkspace.with({ a: "x\n".repeat(400_000) });
    const outcome = await files.run(writeFile, { path: "a", content: "y\n".repeat(300_000) });
    expect(outcome.summary).toBe("Replaced a (+300000 −400000)");
    expect(outcome.diff).toMatch(/The change is too large to show: 400000 lines out, 300000 lines in\. SHA-256/);
  });

  test.each([
    ["../out", { code: "EACCES", message: "Outside the workspace: ../out; give a path inside it" }],
    ["/etc/heddle", { code: "EACCES" }],
    [".git/hooks/post-commit", { code: "EPERM" }],
    ["hooks/new/deep", { code: "EPERM" }],
    ["src", { code: "EISDIR" }],
    ["src/a/b", { code: "ENOTDIR" }],
    ["picture", { code: "EILSEQ", message: "Binary file: picture is not UTF-8 text; choose another file" }],
    ["large", { code: "EFBIG" }],
  ])("fails for %j, and its preview says the same", async (path, failure) => {
    await using files = await SampleWorkspace.with({ "src/a": "1\n", picture: Buffer.of(0xff, 0) });
    await files.put("large", Buffer.alloc(4 * 1024 * 1024 + 1, "x"));
    await files.put(".git/hooks/sample", "");
    await symlink(".git/hooks", files.at("hooks"));
    const before = await files.everything();
    const reason = await files.run(writeFile, { path, content: "new\n" }).catch((reason) => reason);
    expect(reason).toMatchObject({ name: "ToolFailure", ...failure, preview: { failure: reason.message } });
    expect(await files.everything()).toEqual(before);
  });

  test.skipIf(process.getuid?.() === 0)("fails where it may not write (not as root, who may)", async () => {
    await using files = await SampleWorkspace.with({ "shut/a": "1\n" });
    await chmod(files.at("shut"), 0o500);
    await expect(files.run(writeFile, { path: "shut/b", content: "" })).rejects.toMatchObject({
      message: "Permission denied: shut/b; choose another file",
    });
    await chmod(files.at("shut"), 0o700);
  });

  test.skipIf(process.getuid?.() === 0)("does not replace what is read-only (not as root, who may)", async () => {
    await using files = await SampleWorkspace.with();
    await files.put("kept", "1\n", 0o444);
    const reason = await files.run(writeFile, { path: "kept", content: "2\n" }).catch((reason) => reason);
    const message = "Permission denied: kept; choose another file";
    expect(reason).toMatchObject({ name: "ToolFailure", code: "EACCES", message, preview: { failure: message } });
    expect(await files.read("kept")).toBe("1\n");
  });

  test("does not begin when it is called off", async () => {
    await using files = await SampleWorkspace.with();
    const reason = new Error("called off");
    await expect(files.run(writeFile, { path: "a", content: "" }, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(await files.everything()).toEqual({});
  });

  test("speaks of odd names in one clean line, and shows them in the diff", async () => {
    await using files = await SampleWorkspace.with();
    const path = "a\n\u001b[31m\u202eb";
    const outcome = await files.run(writeFile, { path, content: "x" });
    expect([outcome.started, outcome.summary, outcome.toModel]).toEqual([
      "Writing a b (1 line)",
      "Created a b (1 line)",
      "Created a b (1 line).",
    ]);
    expect(outcome.diff).toContain('+++ "b/a\\012\\033[31m\\342\\200\\256b"\n');
    expect(await files.read(path)).toBe("x");
  });

  test.each([
    [{ path: "a" }, "content: is missing"],
    [{ path: "", content: "" }, "path: must have at least 1 character"],
    [{ path: "a", content: "x".repeat(1_000_001) }, "content: must have at most 1000000 characters"],
    [{ path: "a", content: "a\0" }, "content: must be text"],
    [{ path: "a", content: "\ud800" }, "content: must be text"],
  ])("does not take %.60j", (input, words) => {
    const checked = checkInput(writeFile, JSON.stringify(input));
    expect(checked.ok ? "" : checked.message).toContain(words);
  });
});

import { symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { applyPatch } from "../../../src/tool/builtin/apply-patch.js";
import { SampleWorkspace } from "../change/sample-workspace.js";

const everyChange = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@
 one
-two
+TWO
+2
 three
diff --git a/lib/new.sh b/lib/new.sh
new file mode 100755
--- /dev/null
+++ b/lib/new.sh
@@ -0,0 +1 @@
+#!/bin/sh
diff --git a/old.log b/old.log
deleted file mode 100644
--- a/old.log
+++ /dev/null
@@ -1 +0,0 @@
-old
\\ No newline at end of file
diff --git a/run b/bin/run
rename from run
rename to bin/run
--- a/run
+++ b/bin/run
@@ -1 +1 @@
-go
+go on
`;

const sample = async (): Promise<SampleWorkspace> => {
  const files = await SampleWorkspace.with({ "src/a.ts": "one\ntwo\nthree\n", "old.log": "old" });
  await files.put("run", "go\n", 0o755);
  return files;
};

const edit = (path: string, before: string, after: string) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${before}\n+${after}\n`;

describe("apply_patch", () => {
  test("edits, creates, deletes and renames in one go", async () => {
    await using files = await sample();
    const outcome = await files.run(applyPatch, { patch: everyChange });
    expect(outcome).toMatchObject({
      started: "Applying a patch to 4 files",
      summary: "Patched 4 files (+4 −3)",
      result: {
        files: [
          { path: "src/a.ts", change: "edit", added: 2, removed: 1 },
          { path: "lib/new.sh", change: "create", added: 1, removed: 0 },
          { path: "old.log", change: "delete", added: 0, removed: 1 },
          { path: "bin/run", change: "rename", from: "run", added: 1, removed: 1 },
        ],
        added: 4,
        removed: 3,
      },
      locations: [
        { path: files.at("src/a.ts"), line: 2 },
        { path: files.at("lib/new.sh"), line: 1 },
        { path: files.at("old.log") },
        { path: files.at("bin/run"), line: 1 },
      ],
      preview: { mediaType: "text/x-diff", data: outcome.diff },
    });
    expect(outcome.toModel).toBe(
      "Patched 4 files (+4 −3):\nedited src/a.ts (+2 −1)\ncreated lib/new.sh (+1 −0)\ndeleted old.log (+0 −1)\nrenamed run to bin/run (+1 −1)",
    );
    const executable = (0o777 & ~process.umask()).toString(8);
    expect(await files.everything()).toEqual({
      "bin/run": "755 go on\n",
      "lib/new.sh": `${executable} #!/bin/sh\n`,
      "src/a.ts": "644 one\nTWO\n2\nthree\n",
    });
  });

  test("gives a diff that does the same to the same files", async () => {
    await using one = await sample();
    await using other = await sample();
    const { diff } = await one.run(applyPatch, { patch: everyChange });
    expect((await other.run(applyPatch, { patch: diff })).diff).toBe(diff);
    expect(await other.everything()).toEqual(await one.everything());
  });

  test.each([
    ["Windows' lines", "one\r\ntwo\r\n", "one\r\nTWO\r\n"],
    ["a byte-order mark", "\ufeffone\ntwo\n", "\ufeffone\nTWO\n"],
  ])("keeps %s, which a patch cannot show", async (_, before, after) => {
    await using files = await SampleWorkspace.with({ a: before });
    await files.run(applyPatch, { patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n" });
    expect(await files.read("a")).toBe(after);
  });

  test.each([
    ["Windows' lines", "a\r\nb\r\n", "a\r\nb\r\nend\r\n"],
    ["plain lines", "a\nb\n", "a\nb\nend\n"],
    ["mixed lines", "a\r\nb\n", "a\r\nb\nend\n"],
  ])("puts a line behind %s without a line around it", async (_, before, after) => {
    await using files = await SampleWorkspace.with({ a: before });
    await files.run(applyPatch, { patch: "--- a/a\n+++ b/a\n@@ -2,0 +3 @@\n+end\n" });
    expect(await files.read("a")).toBe(after);
  });

  test("changes line ends where the patch shows them", async () => {
    await using files = await SampleWorkspace.with({ a: "one\r\n" });
    await files.run(applyPatch, { patch: edit("a", "one\r", "one") });
    expect(await files.read("a")).toBe("one\n");
  });

  test("edits where a link leads", async () => {
    await using files = await SampleWorkspace.with({ "src/a": "1\n" });
    await symlink("src", files.at("inward"));
    expect(await files.run(applyPatch, { patch: edit("inward/a", "1", "2") })).toMatchObject({
      result: { files: [{ path: "src/a" }] },
    });
  });

  test.each([
    [
      "a hunk that differs",
      edit("b", "x", "y"),
      'Did not apply to b: hunk 1 of 1 (line 1) does not match: line 1 is "2", not "x"; ',
    ],
    ["a file that is not there", edit("none", "x", "y"), "File not found: none"],
    [
      "a new file that is there",
      "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n",
      "Did not apply to b: it is there already",
    ],
    ["a deletion that leaves lines", "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n", "does not take out all its lines"],
    [
      "a new name that is taken",
      "diff --git a/b b/c\nrename from b\nrename to c\n",
      "Did not apply to c: it is there already",
    ],
    ["a file named twice", edit("b", "2", "x") + edit("./b", "2", "y"), "Did not apply to b: the patch names it twice"],
    ["a file named twice through a link", edit("b", "2", "x") + edit("here/b", "2", "y"), "the patch names it twice"],
    [
      "a new file named twice through a link",
      "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/here/n\n@@ -0,0 +1 @@\n+x\n",
      "names it twice",
    ],
    [
      "a link to delete",
      "--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n",
      "it is a symbolic link; use move_file or delete_file",
    ],
    ["a path that leads out", edit("../b", "2", "x"), "Outside the workspace: ../b"],
    ["a new file outside", "--- /dev/null\n+++ /tmp/heddle-x\n@@ -0,0 +1 @@\n+x\n", "Outside the workspace"],
    ["a protected file", "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n", "Protected: .git/hooks/x"],
    ["a patch that cannot be read", `${edit("b", "2", "x")}+more\n`, "The patch cannot be read"],
  ])("does nothing at all for %s, and its preview says the same", async (_, part, words) => {
    await using files = await SampleWorkspace.with({ a: "1\n", b: "2\n", c: "3\n" });
    if (part.includes("leaves") || words.includes("take out")) await files.put("b", "2\n3\n");
    await symlink("b", files.at("link"));
    await symlink(".", files.at("here"));
    const before = await files.everything();
    const reason = await files.run(applyPatch, { patch: edit("a", "1", "x") + part }).catch((reason) => reason);
    expect(reason).toMatchObject({ name: "ToolFailure", preview: { failure: reason.message } });
    expect(reason.message).toContain(words);
    expect(await files.everything()).toEqual(before);
  });

  test("names the hunk that does not fit, of several", async () => {
    await using files = await SampleWorkspace.with({ a: "1\n2\n3\n" });
    const patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+x\n@@ -3 +3 @@\n-4\n+y\n";
    await expect(files.run(applyPatch, { patch })).rejects.toThrow(
      'Did not apply to a: hunk 2 of 2 (line 3) does not match: line 3 is "3", not "4"; read the file again and make the patch anew',
    );
  });

  test("puts back what it did when a write fails that nothing foretold", async () => {
    await using files = await sample();
    const before = await files.everything();
    // A file, and a file below it as if it were a directory.
    const create = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
    const patch = everyChange + create("n") + create("n/x");
    await expect(files.run(applyPatch, { patch })).rejects.toMatchObject({
      name: "ToolFailure",
      code: "ENOTDIR",
      message: expect.stringMatching(/^Not a directory: n\/x .*; nothing was changed$/),
    });
    expect(await files.everything()).toEqual(before);
  });

  test("describes what it cannot read too", () => {
    expect(applyPatch.describe({ patch: "nonsense" })).toBe("Applying a patch");
    expect(applyPatch.describe({ patch: edit("a", "1", "2") })).toBe("Applying a patch to 1 file");
  });
});

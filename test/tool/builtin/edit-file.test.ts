import { describe, expect, test } from "vitest";
import { editFile } from "../../../src/tool/builtin/edit-file.js";
import { checkInput } from "../../../src/tool/check-input.js";
import { SampleWorkspace } from "../change/sample-workspace.js";

/** The file's text after one replacement. */
async function edited(text: string, old_text: string, new_text: string, replace_all = false): Promise<string> {
  await using files = await SampleWorkspace.with({ a: text });
  await files.run(editFile, { path: "a", old_text, new_text, replace_all });
  return files.read("a");
}

describe("edit_file", () => {
  test("replaces a piece, and keeps the mode", async () => {
    await using files = await SampleWorkspace.with();
    await files.put("src/server.ts", "const a = 1;\nconst b = 2;\nlisten();\n", 0o640);
    const outcome = await files.run(editFile, {
      path: "src/server.ts",
      old_text: "const b = 2;\n",
      new_text: "const b = 3;\nconst c = 4;\n",
    });
    expect(outcome).toMatchObject({
      started: "Editing src/server.ts",
      result: { path: "src/server.ts", replacements: 1, added: 2, removed: 1 },
      summary: "Edited src/server.ts (+2 −1)",
      locations: [{ path: files.at("src/server.ts"), line: 2 }],
      toModel: "Edited src/server.ts: 1 replacement (+2 −1).",
      preview: { mediaType: "text/x-diff", data: outcome.diff },
    });
    expect(outcome.diff).toBe(
      "diff --git a/src/server.ts b/src/server.ts\n--- a/src/server.ts\n+++ b/src/server.ts\n@@ -1,3 +1,4 @@\n const a = 1;\n-const b = 2;\n+const b = 3;\n+const c = 4;\n listen();\n",
    );
    expect(await files.mode("src/server.ts")).toBe(0o640);
  });

  test.each([
    ["a piece of a line", ["one two", "two", "$& $1"], "one $& $1"],
    ["by nothing", ["one two", " two", ""], "one"],
    ["every place", ["a b a", "a", "aa", true], "aa b aa"],
    ["Windows' lines, as they are seen", ["1\r\n2\r\n3\r\n", "1\n2\n", "x\ny\n"], "x\r\ny\r\n3\r\n"],
    ["Windows' lines, as they are", ["1\r\n2\r\n", "1\r\n2", "x\r\ny"], "x\r\ny\r\n"],
    ["a line by two in a Windows file", ["1\r\n2\r\n", "2", "2\n3"], "1\r\n2\r\n3\r\n"],
    ["a line beside one with two carriage returns", ["1\r\r\n2\r\n", "2", "x"], "1\r\r\nx\r\n"],
    ["mixed lines to the letter", ["1\r\n2\n", "1\r\n2", "x"], "x\n"],
    ["behind a byte-order mark", ["\ufeffone\n", "one", "two"], "\ufefftwo\n"],
    ["the start behind a mark in a Windows file", ["\ufeff1\r\n2\r\n", "1\n2\n", "3\n"], "\ufeff3\r\n"],
  ] as const)("replaces %s", async (_, [text, before, after, all], expected) => {
    expect(await edited(text, before, after, all)).toBe(expected);
  });

  test.each([
    ["one\n\ttwo\n", "one\n  two\n", "from line 1 on it differs only in white space: copy the text exactly"],
    [
      "x\n\nconst port = 8080;\n",
      "const port = 9090;",
      'the nearest is line 3, "const port = 8080;": read the file again',
    ],
    ["something\n", "else entirely", "read the file again and copy the text from it"],
    ["", "a", "the file is empty: write it with write_file"],
    ["\u001b[31mconst port = 8080\u202e;\n", "const port = 9090;", 'line 1, "const port = 8080;"'],
  ])("says of %j why %j is not in it", async (text, sought, hint) => {
    await expect(edited(text, sought, "x")).rejects.toMatchObject({
      name: "ToolFailure",
      code: "NO_MATCH",
      message: expect.stringMatching(/^Text not found in a; [^\p{Cc}\u202e]+$/u),
    });
    await expect(edited(text, sought, "x")).rejects.toThrow(hint);
  });

  test.each([
    ["a\nb\na\n", "a", "Text found 2 times in a (from line 1, 3); give more of the text around it, or set replace_all"],
    ["aaa", "aa", "Text found 2 times in a (from line 1); give more"],
    ["x\n".repeat(9), "x", "Text found more than 5 times in a (from line 1, 2, 3, 4, 5, …); give more"],
  ])("does not choose in %j among several %j", async (text, sought, words) => {
    await expect(edited(text, sought, "y")).rejects.toMatchObject({ code: "MANY_MATCHES" });
    await expect(edited(text, sought, "y")).rejects.toThrow(words);
  });

  test("fails before it is asked for, in the same words", async () => {
    await using files = await SampleWorkspace.with({ a: "1\n" });
    for (const input of [
      { path: "a", old_text: "2", new_text: "3" },
      { path: "a", old_text: "1", new_text: "1" },
      { path: "b", old_text: "2", new_text: "3" },
      { path: ".git/config", old_text: "2", new_text: "3" },
    ]) {
      const reason = await files.run(editFile, input).catch((reason) => reason);
      expect(reason).toMatchObject({ name: "ToolFailure", preview: { failure: reason.message } });
    }
    expect(await files.read("a")).toBe("1\n");
  });

  test("does not let a file grow without bound", async () => {
    await expect(edited("a".repeat(100_000), "a", "b".repeat(100_000), true)).rejects.toMatchObject({ code: "EFBIG" });
  });

  test.each([
    { path: "a", old_text: "", new_text: "b" },
    { path: "a", old_text: "a" },
    { path: "a", old_text: "a", new_text: "\0" },
  ])("does not take %j", (input) => {
    expect(checkInput(editFile, JSON.stringify(input)).ok).toBe(false);
  });
});

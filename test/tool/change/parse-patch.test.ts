import { describe, expect, test } from "vitest";
import { quoteName, readName } from "../../../src/tool/change/file-name.js";
import { parsePatch } from "../../../src/tool/change/parse-patch.js";

const hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
const lines = [
  { sign: " ", text: "a\n" },
  { sign: "-", text: "b\n" },
  { sign: "+", text: "c\n" },
];
const hunks = [{ oldStart: 1, newStart: 1, lines }];

describe("a patch", () => {
  test.each([
    ["plain", `--- a/src/x.ts\n+++ b/src/x.ts\n${hunk}`, { change: "edit", path: "src/x.ts", hunks }],
    ["without letters", `--- src/x.ts\n+++ src/x.ts\n${hunk}`, { change: "edit", path: "src/x.ts" }],
    ["with dates", `--- x y.ts\t2026-01-01 00:00\n+++ x y.ts\t2026-01-02\n${hunk}`, { change: "edit", path: "x y.ts" }],
    ["with a quoted name", `--- "a/\\303\\274\\t.ts"\n+++ "b/\\303\\274\\t.ts"\n${hunk}`, { path: "ü\t.ts" }],
    ["of a file in a directory a", `--- a/x\n+++ a/x\n${hunk}`, { change: "edit", path: "a/x" }],
    ["in a fence, with words", `Here it is:\n\`\`\`diff\n--- a/x\n+++ b/x\n${hunk}\`\`\`\n`, { change: "edit", hunks }],
    ["with Windows' headers", `--- a/x\r\n+++ b/x\r\n${hunk}`, { change: "edit", path: "x", hunks }],
    ["with git's signature", `--- a/x\n+++ b/x\n${hunk}-- \n2.39.5\n\n`, { change: "edit", hunks }],
    ["without the last line break", `--- a/x\n+++ b/x\n${hunk.slice(0, -1)}`, { change: "edit", hunks }],
    [
      "of git",
      `diff --git a/x b/x\nindex 123..456 100644\n--- a/x\n+++ b/x\n${hunk}`,
      { change: "edit", path: "x", hunks },
    ],
    [
      "for a new file",
      "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+c\n",
      { change: "create", path: "x", isExecutable: false },
    ],
    [
      "for a new file of git",
      "diff --git a/x b/x\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+c\n",
      { change: "create", path: "x", isExecutable: true },
    ],
    [
      "for an empty file",
      "diff --git a/x y b/x y\nnew file mode 100644\n",
      { change: "create", path: "x y", hunks: [] },
    ],
    ["without a file", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n", { change: "delete", path: "x" }],
    [
      "without an empty file",
      'diff --git "a/\\"x" "b/\\"x"\ndeleted file mode 100644\n',
      { change: "delete", path: '"x' },
    ],
    [
      "with a new name",
      "diff --git a/x b/lib/x\nsimilarity index 100%\nrename from x\nrename to lib/x\n",
      { change: "rename", path: "x", to: "lib/x", hunks: [] },
    ],
    [
      "with a new name and a change",
      `diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n${hunk}`,
      { change: "rename", path: "x", to: "y", hunks },
    ],
    [
      "with lost spaces",
      "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n\n-b\n \n",
      { hunks: [{ lines: [{ text: "\n" }, {}, {}] }] },
    ],
  ])("%s is read", (_, patch, file) => {
    expect(parsePatch(patch)).toMatchObject([file]);
  });

  test("may be over several files, with several hunks", () => {
    const patch = `--- a/x\n+++ b/x\n${hunk}\n${hunk}--- a/y\n+++ b/y\n${hunk}diff --git a/z b/z\n--- a/z\n+++ b/z\n${hunk}`;
    expect(parsePatch(patch).map(({ path, hunks }) => [path, hunks.length])).toEqual([
      ["x", 2],
      ["y", 1],
      ["z", 1],
    ]);
  });

  test.each([
    [
      "a rename and another file",
      `diff --git a/z b/q\nrename from z\nrename to q\n--- a/other\n+++ b/other\n${hunk}`,
      [
        { change: "rename", path: "z", to: "q", hunks: [] },
        { change: "edit", path: "other", hunks },
      ],
    ],
    [
      "an empty file and another new one",
      "diff --git a/e b/e\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+c\n",
      [
        { change: "create", path: "e", hunks: [] },
        { change: "create", path: "f" },
      ],
    ],
    [
      "a file that goes and another one",
      `diff --git a/e b/e\ndeleted file mode 100644\n--- a/f\n+++ b/f\n${hunk}`,
      [
        { change: "delete", path: "e", hunks: [] },
        { change: "edit", path: "f", hunks },
      ],
    ],
    [
      "a rename and a new file of the same name",
      "diff --git a/z b/q\nrename from z\nrename to q\n--- /dev/null\n+++ b/q\n@@ -0,0 +1 @@\n+c\n",
      [{ change: "rename" }, { change: "create", path: "q" }],
    ],
    [
      "one file, without letters",
      `diff --git a/x a/x\n--- a/x\n+++ a/x\n${hunk}`,
      [{ change: "edit", path: "a/x", hunks }],
    ],
    [
      "a rename between directories a and b, without letters",
      `diff --git a/x b/x\nrename from a/x\nrename to b/x\n--- a/x\n+++ b/x\n${hunk}`,
      [{ change: "rename", path: "a/x", to: "b/x", hunks }],
    ],
    [
      "one file, with letters below git's header only",
      `diff --git x x\n--- a/x\n+++ b/x\n${hunk}`,
      [{ change: "edit", path: "x", hunks }],
    ],
  ])("over %s goes by its names", (_, patch, files) => {
    expect(parsePatch(patch)).toMatchObject(files);
  });

  test("a removed line that looks like a header is a line", () => {
    const patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n c\n";
    expect(parsePatch(patch)).toMatchObject([
      { hunks: [{ lines: [{ sign: "-", text: "-- a/y\n" }, { sign: "+", text: "++ b/y\n" }, { sign: " " }] }] },
    ]);
  });

  test("a line without its end is one", () => {
    const patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n";
    expect(parsePatch(patch)).toMatchObject([{ hunks: [{ lines: [{ text: "b" }, { text: "c" }] }] }]);
  });

  test.each([
    ["nothing", "hello\n", "it names no file"],
    [
      "another format",
      "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n",
      "line 3 begins a hunk, but no file is named",
    ],
    ["too few lines", `--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n`, "hunk 1 of x has other lines than announced"],
    [
      "too few lines in the middle",
      `--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-b\n+c\ndiff --git a/y b/y\n`,
      "hunk 1 of x has other",
    ],
    ["too many lines", `--- a/x\n+++ b/x\n${hunk}${hunk}+d\n`, "hunk 2 of x has more lines than announced"],
    ["a broken header", "--- a/x\n+++ b/x\n@@ ... @@\n-b\n+c\n", "hunk 1 of x needs a header such as"],
    ["lines outside", `--- a/x\n+++ b/x\n${hunk}\n+d\n`, "line 8 stands outside a hunk"],
    ["only one name", "--- a/x\n@@ -1 +1 @@\n-b\n+c\n", 'line 1 ("--- a/x") needs a line "+++ b/path"'],
    ["indented lines outside", `--- a/x\n+++ b/x\n${hunk}\n    d\n`, "line 8 stands outside a hunk"],
    ["no hunk", "--- a/x\n+++ b/x\n", "it changes nothing in x"],
    ["two names", `--- a/x\n+++ b/y\n${hunk}`, 'x and y are two files; say "rename from"'],
    ["a header of another file", `diff --git a/z b/z\n--- a/other\n+++ b/other\n${hunk}`, "it changes nothing in z"],
    ["a header of another directory", `diff --git a/x b/x\n--- a/x\n+++ a/x\n${hunk}`, "it changes nothing in x"],
    [
      "two new names",
      `diff --git a/z b/q1\nrename from z\nrename to q1\n--- a/z\n+++ b/q2\n${hunk}`,
      "z and q2 are two files",
    ],
    ["no name", `--- /dev/null\n+++ /dev/null\n${hunk}`, "a file has no name"],
    ["a copy", "diff --git a/x b/y\ncopy from x\ncopy to y\n", "it copies"],
    ["a mode", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "it changes the mode of x"],
    [
      "a link",
      "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
      "no regular file",
    ],
    ["a binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "x is binary"],
    ["a broken quote", `--- "a/x\n+++ "b/x\n${hunk}`, "quoted file name that cannot be read"],
    ["a name that is not Unicode", `--- "a/\\377"\n+++ "b/\\377"\n${hunk}`, "quoted file name that cannot be read"],
    ["too many files", `--- a/x\n+++ b/x\n${hunk}`.repeat(101), "more than 100 files"],
    ["too many hunks", `--- a/x\n+++ b/x\n${hunk.repeat(5_001)}`, "more than 5000 hunks"],
  ])("with %s is refused", (_, patch, words) => {
    expect(() => parsePatch(patch)).toThrow(
      expect.objectContaining({ name: "ToolFailure", code: "EINVAL", message: expect.stringContaining(words) }),
    );
  });

  test("is refused in one clean line, whatever its names hold", () => {
    const name = "\u001b[31mx\u202e";
    expect(() => parsePatch(`--- a/${name}\n+++ b/${name}\n@@ \u001b[2J @@\n`)).toThrow(
      /^The patch cannot be read: hunk 1 of x needs a header such as "@@ -12,7 \+12,9 @@", not "@@ @@"$/,
    );
  });
});

test.each(["plain", "two words", "ünï", 'q"uote', "back\\slash", "new\nline", "\u001b[31m", "\u202egnp", "tab\t"])(
  "the name %j is written so that it can be seen, and read again",
  (name) => {
    const written = quoteName(name);
    expect(written).toMatch(/^[^\p{Cc}\p{Cf}]*$/u);
    expect(readName(written)).toBe(name);
  },
);

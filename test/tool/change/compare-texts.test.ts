import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyHunks } from "../../../src/tool/change/apply-hunks.js";
import { compareTexts } from "../../../src/tool/change/compare-texts.js";
import { formatDiff } from "../../../src/tool/change/format-diff.js";
import { parsePatch } from "../../../src/tool/change/parse-patch.js";

const diffOf = (before: string, after: string) =>
  formatDiff({ from: "f", to: "f", comparison: compareTexts(before, after), after });

/** Few different lines, so that texts share many of them; any line end, or none. */
const someText = fc
  .array(
    fc.constantFrom("a", "b", "", "\t", "-- x", "++ y", "@@ -1 +1 @@", "\\ z", "--- a/f", "é\u2028", "\ufeff", " "),
    {
      maxLength: 30,
    },
  )
  .chain((lines) =>
    fc
      .tuple(
        fc.array(fc.constantFrom("\n", "\n", "\r\n"), { minLength: lines.length, maxLength: lines.length }),
        fc.boolean(),
      )
      .map(([ends, isEnded]) =>
        lines.map((line, at) => line + (at < lines.length - 1 || isEnded ? ends[at] : "")).join(""),
      ),
  );

describe("comparing", () => {
  test("shows what git would show", () => {
    const before = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`);
    const after = before.with(1, "second\n").toSpliced(14, 1).concat("last");
    expect(diffOf(before.join(""), after.join(""))).toBe(`diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,5 +1,5 @@
 line 1
-line 2
+second
 line 3
 line 4
 line 5
@@ -12,7 +12,6 @@
 line 12
 line 13
 line 14
-line 15
 line 16
 line 17
 line 18
@@ -28,3 +27,4 @@
 line 28
 line 29
 line 30
+last
\\ No newline at end of file
`);
  });

  test("joins changes that are six lines apart, and parts those seven apart", () => {
    const lines = Array.from({ length: 40 }, (_, at) => `${at}\n`);
    const changed = (...at: number[]) =>
      compareTexts(lines.join(""), lines.map((line, index) => (at.includes(index) ? `x${line}` : line)).join("")).hunks;
    expect(changed(10, 17)).toHaveLength(1);
    expect(changed(10, 18)).toHaveLength(2);
  });

  test.each([
    ["", "a\n", { added: 1, removed: 0, firstLine: 1 }],
    ["a\n", "", { added: 0, removed: 1, firstLine: 1 }],
    ["a\nb\n", "a\nc\n", { added: 1, removed: 1, firstLine: 2 }],
    ["a", "a\n", { added: 1, removed: 1, firstLine: 1 }],
    ["a\n", "a\r\n", { added: 1, removed: 1, firstLine: 1 }],
    ["a\n\n\nb\n", "a\n\nb\n", { added: 0, removed: 1 }],
    ["same\n", "same\n", { added: 0, removed: 0, firstLine: undefined, hunks: [] }],
  ])("counts from %j to %j", (before, after, counts) => {
    expect(compareTexts(before, after)).toMatchObject(counts);
  });

  test("is always right: the hunks, written and read again, make one text of the other", () => {
    fc.assert(
      fc.property(someText, someText, (before, after) => {
        fc.pre(before !== after);
        const [file, ...others] = parsePatch(diffOf(before, after));
        expect(others).toEqual([]);
        expect(applyHunks(before, file!.hunks)).toEqual({ ok: true, text: after });
      }),
      { numRuns: 2_000 },
    );
  });

  test("is right also beyond what is compared line by line, soon, and the same each time", () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `${at % 7}-${at}\n`).join("");
    const after = Array.from({ length: 15_000 }, (_, at) => `${at % 11}-${at}\n`).join("");
    const started = performance.now();
    const first = compareTexts(before, after);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(applyHunks(before, first.hunks!)).toEqual({ ok: true, text: after });
    expect(compareTexts(before, after)).toEqual(first);
  });

  test("only counts what is too large to show", () => {
    const before = `same\n${"\n".repeat(4_000_000)}`;
    const started = performance.now();
    expect(compareTexts(before, "same\nx\ny\n")).toEqual({
      hunks: undefined,
      added: 2,
      removed: 4_000_000,
      firstLine: 2,
    });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("finds a small change in a large text to the line", () => {
    const lines = Array.from({ length: 300_000 }, (_, at) => `${at}\n`);
    const { added, removed, firstLine } = compareTexts(lines.join(""), lines.with(200_000, "new\n").join(""));
    expect({ added, removed, firstLine }).toEqual({ added: 1, removed: 1, firstLine: 200_001 });
  });

  test("does not take long for lines that are long and much alike", () => {
    const line = (end: number) => `${"x".repeat(2_000)}${end}\n`;
    const before = Array.from({ length: 900 }, (_, at) => line(at)).join("");
    const after = Array.from({ length: 900 }, (_, at) => line(at + 5_000)).join("");
    const started = performance.now();
    compareTexts(before, after);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("tells a diff in words that is too large to show, by its hash", () => {
    const text = (word: string) => `${word}${"y".repeat(600_000)}\n`;
    const diff = diffOf(text("a"), text("b"));
    expect(diff).toMatch(
      /^diff --git a\/f b\/f\n--- a\/f\n\+\+\+ b\/f\nThe change is too large to show: 1 line out, 1 line in\. SHA-256 of the new text: [0-9a-f]{64}\n$/,
    );
    expect(diffOf(text("a"), text("c"))).not.toBe(diff);
  });
});

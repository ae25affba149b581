import { describe, expect, test } from "vitest";
import { applyHunks } from "../../../src/tool/change/apply-hunks.js";
import { misfitWords } from "../../../src/tool/change/misfit-words.js";
import { parsePatch } from "../../../src/tool/change/parse-patch.js";

const apply = (text: string, hunks: string) => applyHunks(text, parsePatch(`--- a/x\n+++ b/x\n${hunks}`)[0]!.hunks);

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}\n`).join("");

describe("a hunk", () => {
  test.each([
    ["where it says", "1\n2\n3\n", "@@ -2 +2 @@\n-2\n+two\n", "1\ntwo\n3\n"],
    ["further down than it says", numbered(9), "@@ -2 +2 @@\n-7\n+seven\n", numbered(9).replace("7", "seven")],
    ["further up than it says", numbered(9), "@@ -8,2 +8,2 @@\n 2\n-3\n+three\n", numbered(9).replace("3", "three")],
    [
      "after one that was moved",
      numbered(9),
      "@@ -1 +1 @@\n-3\n+x\n@@ -3 +3 @@\n-5\n+y\n",
      "1\n2\nx\n4\ny\n6\n7\n8\n9\n",
    ],
    ["without old lines", "1\n2\n", "@@ -1,0 +2 @@\n+x\n", "1\nx\n2\n"],
    ["into nothing", "", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"],
    ["at the end without a line break", "1\n2", "@@ -2 +2 @@\n-2\n\\ No newline\n+3\n\\ No newline\n", "1\n3"],
    ["twice where lines repeat, by its number", "a\na\na\n", "@@ -2 +2 @@\n-a\n+b\n", "a\nb\na\n"],
  ])("fits %s", (_, text, hunks, after) => {
    expect(apply(text, hunks)).toEqual({ ok: true, text: after });
  });

  test.each([
    [
      "another line",
      "1\n2\n",
      "@@ -1,2 +1 @@\n 1\n-3\n",
      'does not match: line 2 is "2", not "3"; read the file again',
    ],
    ["white space", "1\n\t2\n", "@@ -2 +2 @@\n-  2\n+3\n", 'line 2 differs in white space from "2"'],
    ["no line", "1\n", "@@ -1,2 +1 @@\n 1\n-2\n", 'there is no line 2 that is "2"'],
    ["a last line without a break", "1\n2", "@@ -2 +2 @@\n-2\n+3\n", "line 2 is the last one and has no line break"],
    ["a last line with a break", "2\n", "@@ -1 +1 @@\n-2\n\\ No newline\n+3\n", "line 1 does end with a line break"],
    ["several places", "a\nb\nb\n", "@@ -1 +1 @@\n-b\n+c\n", "fits in several places (lines 2, 3)"],
    ["a place before the last hunk", numbered(9), "@@ -5 +4,0 @@\n-5\n@@ -1 +0,0 @@\n-1\n", "does not match"],
    ["the end", "1\n", "@@ -7,0 +8 @@\n+x\n", "is beyond the end: the file has 1 lines"],
    ["an unfinished line in the middle", "1\n2\n", "@@ -1 +1 @@\n-1\n+x\n\\ No newline\n", "does not match"],
  ])("does not fit for %s", (_, text, hunks, words) => {
    const applied = apply(text, hunks);
    expect(applied.ok ? "" : misfitWords(applied.why)).toContain(words);
  });

  test("is looked for in a time that does not grow with its length", () => {
    const text = "\n".repeat(500_000);
    const old = " \n".repeat(100_000);
    const started = performance.now();
    expect(apply(text, `@@ -1,100001 +1,100000 @@\n${old}-x\n`)).toMatchObject({ ok: false, why: { kind: "differs" } });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("is not looked for without end: too many that are misplaced are refused", () => {
    const lines = (first: number) => `@@ -1 +0,0 @@\n-${first}\n`;
    const hunks = Array.from({ length: 400 }, (_, at) => lines(1_000 + at * at)).join("");
    const text = numbered(500_000);
    expect(apply(text, hunks)).toMatchObject({ ok: false, why: { kind: "too_long" } });
  });
});

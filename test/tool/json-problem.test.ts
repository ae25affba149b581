import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findJsonProblem } from "../../src/tool/json-problem.js";

describe("findJsonProblem", () => {
  test.each([
    ['{"a": x}', 1, 7, /^a value/, '"x"'],
    ['{"a": 1,}', 1, 9, /^a field name/, '"}"'],
    ["{'a': 1}", 1, 2, /^a field name/, `"'"`],
    ['{"a" 1}', 1, 6, /^a colon/, '"1"'],
    ['{"a": [1 2]}', 1, 10, /^a comma or "]"/, '"2"'],
    ['{"a": 1', 1, 8, /^a comma or "}"/, "the end of the text"],
    ['{"a": "b', 1, 9, /^the closing quote/, "the end of the text"],
    ['{"a": "b\nc"}', 1, 9, /one line/, "U+000A"],
    ['{"a": "\\x"}', 1, 8, /^an escape/, '"\\"'],
    ['{"a": "\\u12g4"}', 1, 8, /^an escape/, '"\\"'],
    ['{\n  "a": 1\n} {}', 3, 3, /^nothing more/, '"{"'],
    ['{\n"a": 01}', 2, 7, /^a comma/, '"1"'],
    ["", 1, 1, /^a value/, "the end of the text"],
    ["\u202e", 1, 1, /^a value/, "U+202E"],
    ["\ud800", 1, 1, /^a value/, "U+D800"],
    ["😀", 1, 1, /^a value/, '"😀"'],
    ["-", 1, 1, /^a value/, '"-"'],
  ])("finds it in %j", (json, line, column, expected, found) => {
    expect(findJsonProblem(json)).toEqual({ line, column, expected: expect.stringMatching(expected), found });
  });

  test("agrees with JSON.parse about every text", () => {
    const soup = fc
      .array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", "\\u", "0", "-", "1.5e3", "a", "\n", " ", "null"))
      .map((pieces) => pieces.join(""));
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", '"', "}", "\\"))
      .map(
        ([json, at, piece]) => json.slice(0, at % (json.length + 1)) + piece + json.slice((at % (json.length + 1)) + 1),
      );
    fc.assert(
      fc.property(fc.oneof(soup, damaged, fc.json(), fc.string({ unit: "binary" })), (json) => {
        expect(findJsonProblem(json) === undefined).toBe(isJson(json));
      }),
      { numRuns: 3_000 },
    );
  });

  test("takes a text of many megabytes", () => {
    expect(findJsonProblem(`["${"x".repeat(8_000_000)}`)).toMatchObject({ line: 1, column: 8_000_003 });
    expect(findJsonProblem(`[${"\n".repeat(2_000_000)}`)).toMatchObject({ line: 2_000_001, column: 1 });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

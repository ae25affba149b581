import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutToUtf8Bytes, splitToUtf8Bytes, utf8Bytes } from "../../src/thread/text.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: loneSurrogates() }),
);
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

describe("cutToUtf8Bytes", () => {
  test.each([
    ["", 0, ""],
    ["abc", 3, "abc"],
    ["abc", 2, "ab"],
    ["aé", 2, "a"],
    ["aé", 3, "aé"],
    ["€€", 5, "€"],
    ["a😀b", 4, "a"],
    ["a😀b", 5, "a😀"],
    ["😀", 3, ""],
    ["abc", 0, ""],
    ["abc", -1, ""],
    ["a\uD83D", 3, "a"], // A lone half is encoded as the three bytes of U+FFFD.
    ["a\uD83D", 4, "a\uD83D"],
  ])("%j in %d bytes is %j", (text, maxBytes, expected) => {
    expect(cutToUtf8Bytes(text, maxBytes)).toBe(expected);
  });

  test("is the longest beginning that fits and breaks no code point", () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, maxBytes) => {
        const cut = cutToUtf8Bytes(text, maxBytes);
        expect(text.startsWith(cut)).toBe(true);
        expect(utf8Bytes(cut)).toBeLessThanOrEqual(maxBytes);
        if (isWellFormed(text)) expect(isWellFormed(cut)).toBe(true);
        const next = [...text.slice(cut.length)][0];
        if (next !== undefined) expect(utf8Bytes(cut) + utf8Bytes(next)).toBeGreaterThan(maxBytes);
      }),
    );
  });
});

describe("splitToUtf8Bytes", () => {
  test("gives pieces that fit, break no code point and add up to the text", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 4, max: 40 }), (text, maxBytes) => {
        const pieces = splitToUtf8Bytes(text, maxBytes);
        expect(pieces.join("")).toBe(text);
        for (const piece of pieces) {
          expect(piece).not.toBe("");
          expect(utf8Bytes(piece)).toBeLessThanOrEqual(maxBytes);
          if (isWellFormed(text)) expect(isWellFormed(piece)).toBe(true);
        }
      }),
    );
  });

  test("no text gives no pieces", () => {
    expect(splitToUtf8Bytes("", 4)).toEqual([]);
  });

  test.each([3, 0, -1, Number.NaN])("a bound of %d bytes is refused, for a code point may not fit", (maxBytes) => {
    expect(() => splitToUtf8Bytes("abc", maxBytes)).toThrow("use 4 or more");
  });
});

function loneSurrogates(): fc.Arbitrary<string> {
  return fc.constantFrom("\uD83D", "\uDE00", "a", "€");
}

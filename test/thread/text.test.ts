import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitToUtf8Bytes, utf8Bytes } from "../../src/thread/text.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: loneSurrogates() }),
);
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

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

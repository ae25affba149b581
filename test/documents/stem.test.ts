import { expect, test } from "vitest";
import { stem } from "../../src/documents/index/stem.js";
import { queryTerms, termsOf } from "../../src/documents/index/terms.js";

/** From Porter's paper, and its vocabulary. */
test.each([
  ["caresses", "caress"],
  ["ponies", "poni"],
  ["cats", "cat"],
  ["feed", "feed"],
  ["agreed", "agre"],
  ["plastered", "plaster"],
  ["motoring", "motor"],
  ["sing", "sing"],
  ["conflated", "conflat"],
  ["sized", "size"],
  ["hopping", "hop"],
  ["falling", "fall"],
  ["filing", "file"],
  ["happy", "happi"],
  ["relational", "relat"],
  ["conditional", "condit"],
  ["digitizer", "digit"],
  ["vietnamization", "vietnam"],
  ["operator", "oper"],
  ["decisiveness", "decis"],
  ["sensibiliti", "sensibl"],
  ["triplicate", "triplic"],
  ["formative", "form"],
  ["electrical", "electr"],
  ["goodness", "good"],
  ["revival", "reviv"],
  ["adjustable", "adjust"],
  ["replacement", "replac"],
  ["adoption", "adopt"],
  ["effective", "effect"],
  ["probate", "probat"],
  ["rate", "rate"],
  ["cease", "ceas"],
  ["controll", "control"],
  ["roll", "roll"],
  ["sky", "sky"],
  ["is", "is"],
  ["e1042s", "e1042s"],
])("%s becomes %s", (word, expected) => {
  expect(stem(word)).toBe(expected);
});

test("terms are folded: case, accents, ligatures, widths", () => {
  expect(termsOf("Café ÉCOLE ﬁne Ｗｉｄｅ Straße Ørsted")).toEqual(termsOf("cafe ecole fine wide strasse orsted"));
});

test("terms of scripts without spaces are characters and pairs; a query asks for pairs", () => {
  expect(termsOf("東京都A")).toEqual(["東", "京", "都", "東京", "京都", "a"]);
  expect(queryTerms("東京都").map(({ term }) => term)).toEqual(["東京", "京都"]);
  expect(queryTerms("東").map(({ term }) => term)).toEqual(["東"]);
  expect(termsOf("한국어")).toContain("한국");
});

test("marks of other scripts stay in their words", () => {
  expect(termsOf("हिन्दी")).toHaveLength(1);
});

test("words that say nothing only count when there are no others", () => {
  expect(queryTerms("what is the refund").map(({ term }) => term)).toEqual(["refund"]);
  expect(queryTerms("what is it").map(({ term }) => term)).toEqual(["what", "is", "it"]);
});

test("a query of a thousand words is searched with some of them", () => {
  expect(queryTerms(Array.from({ length: 300 }, (_, n) => `w${n}`).join(" ")).length).toBeLessThanOrEqual(32);
});

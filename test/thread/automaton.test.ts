// Many words in one pass: found where a plain search finds them, in any pieces, whether or not text is skipped.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Automaton, noWord } from "../../src/thread/redact/automaton.js";

const unit = fc.constantFrom("a", "b", "-", ".", "é", "\\", "$", "[");
const word = fc.array(unit, { minLength: 1, maxLength: 12 }).map((units) => units.join(""));
const words = fc.oneof(
  fc.uniqueArray(word, { maxLength: 6 }),
  // Too many to be looked for at once.
  fc.uniqueArray(word, { minLength: 70, maxLength: 80 }),
);

/** Where words end, by the longest that does: as the scans use it. */
function endsIn(automaton: Automaton, pieces: readonly string[]): string[] {
  const ends: string[] = [];
  let node = 0;
  let before = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at++) {
      if (node === 0) {
        at = automaton.skip(piece, at);
        if (at >= piece.length) break;
      }
      node = automaton.step(node, piece.charCodeAt(at));
      const found = automaton.word(node);
      if (found !== noWord) ends.push(`${before + at + 1}: ${found}`);
    }
    before += piece.length;
  }
  return ends;
}

function plainEnds(words: readonly string[], text: string): string[] {
  return Array.from({ length: text.length }, (_, at) => at + 1).flatMap((end) => {
    const ending = words.filter((word) => text.slice(0, end).endsWith(word)).sort((a, b) => b.length - a.length);
    return ending.length > 0 ? [`${end}: ${words.indexOf(ending[0]!)}`] : [];
  });
}

test("finds the words that a plain search finds, however the text is cut", () => {
  fc.assert(
    fc.property(words, fc.array(fc.array(unit, { maxLength: 30 }), { maxLength: 6 }), (words, given) => {
      const pieces = given.map((units) => units.join(""));
      expect(endsIn(new Automaton(words), pieces)).toEqual(plainEnds(words, pieces.join("")));
    }),
    { numRuns: 500 },
  );
});

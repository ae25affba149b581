import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Automaton, noWord } from "../../../src/thread/redact/automaton.js";

/** For each place of the text: the depth and the longest word that ends there. */
function walk(words: readonly string[], text: string): { depth: number; word: string | undefined }[] {
  const automaton = new Automaton(words);
  let node = 0;
  return Array.from({ length: text.length }, (_, at) => {
    node = automaton.step(node, text.charCodeAt(at));
    const word = automaton.word(node);
    return { depth: automaton.depth(node), word: word === noWord ? undefined : words[word] };
  });
}

function walkByHand(words: readonly string[], text: string): { depth: number; word: string | undefined }[] {
  return Array.from({ length: text.length }, (_, at) => {
    const ends = Array.from({ length: at + 1 }, (_, from) => text.slice(from, at + 1));
    return {
      depth: ends.find((end) => words.some((word) => word.startsWith(end)))?.length ?? 0,
      word: ends.find((end) => words.includes(end)),
    };
  });
}

describe("Automaton", () => {
  test("knows the longest beginning and the longest word at every place", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "\uD83D"), maxLength: 60 });
    const word = fc.string({ unit: fc.constantFrom("a", "b", "\uD83D"), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.uniqueArray(word, { maxLength: 12 }), text, (words, text) => {
        expect(walk(words, text)).toEqual(walkByHand(words, text));
      }),
      { numRuns: 300 },
    );
  });

  test("works the same where the words outgrow the table", () => {
    // 300 columns and 60,000 nodes: most of them have no row.
    let state = 1;
    const next = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % 300;
    };
    const words = Array.from({ length: 600 }, () =>
      String.fromCharCode(...Array.from({ length: 100 }, () => 0x400 + next())),
    );
    const text = words.map((word, n) => word.slice(1 + (n % 50)) + word).join("");
    const found = walk(words, text).flatMap(({ word }) => (word === undefined ? [] : [words.indexOf(word)]));
    expect(found).toEqual(words.map((_, n) => n));
  });

  test("no words: nothing is ever found", () => {
    expect(walk([], "abc")).toEqual(walkByHand([], "abc"));
  });
});

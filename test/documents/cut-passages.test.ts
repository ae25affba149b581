import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutPassages } from "../../src/documents/reading/cut-passages.js";
import { linesOf } from "../../src/documents/reading/document-text.js";

const cut = (text: string, { hasHeadings = true, pageStarts = [] as number[] } = {}) =>
  cutPassages({ lines: linesOf(text), pageStarts, hasHeadings }, 1_000_000);

const paragraph = (units: number, word = "word"): string =>
  `${word} `
    .repeat(units)
    .slice(0, units - 1)
    .trimEnd();

describe("passages", () => {
  test("know the headings above them, and begin with them", () => {
    const passages = cut("# Handbook\n\n## Refunds\n\nFirst.\n\n### Late\nSecond.\n\n## Holidays\nThird.\n");
    expect(passages).toEqual([
      {
        firstLine: 1,
        lastLine: 5,
        page: undefined,
        headings: ["Handbook", "Refunds"],
        text: "# Handbook\n\n## Refunds\n\nFirst.",
      },
      {
        firstLine: 7,
        lastLine: 8,
        page: undefined,
        headings: ["Handbook", "Refunds", "Late"],
        text: "### Late\nSecond.",
      },
      { firstLine: 10, lastLine: 11, page: undefined, headings: ["Handbook", "Holidays"], text: "## Holidays\nThird." },
    ]);
  });

  test("know underlined headings, and take marks and links off titles", () => {
    const passages = cut(
      "The *big* `book`\n===\n\n[Refunds](https://a.example/x)\n---\n\nText.\n\n## Closed ##\nMore.",
    );
    expect(passages.map(({ headings }) => headings)).toEqual([
      ["The big book", "Refunds"],
      ["The big book", "Closed"],
    ]);
  });

  test("take no code, table or list for a heading", () => {
    const text = "Intro\n\n```sh\n# not a heading\n```\n\n| a |\n---\n\n- item\n---\n\n#hashtag\n";
    expect(cut(text)).toMatchObject([{ headings: [], firstLine: 1, lastLine: 13 }]);
  });

  test("of plain text have no headings", () => {
    expect(cut("# a comment\nx = 1\n", { hasHeadings: false })).toMatchObject([{ headings: [], lastLine: 2 }]);
  });

  test("end with a paragraph when they are large enough", () => {
    const text = [paragraph(600), paragraph(600), paragraph(600)].join("\n\n");
    expect(cut(text).map(({ firstLine, lastLine }) => [firstLine, lastLine])).toEqual([
      [1, 3],
      [5, 5],
    ]);
  });

  test("are cut between lines where a paragraph is too long", () => {
    const text = Array.from({ length: 40 }, (_, n) => `${n} ${paragraph(100)}`).join("\n");
    const passages = cut(text);
    expect(passages.length).toBeGreaterThan(2);
    expect(passages.map(({ text }) => text).join("\n")).toBe(text);
  });

  test("are cut within a line only where it is huge, behind a sentence, never within a character", () => {
    const sentences = `${paragraph(900)}. ${paragraph(900, "more")}.`;
    expect(cut(sentences).map(({ text }) => text.length)).toEqual([901, 900]);
    const faces = "🙂".repeat(2_000);
    const passages = cut(faces);
    expect(passages.map(({ text }) => text).join("")).toBe(faces);
    for (const { text, firstLine, lastLine } of passages) {
      expect(text).not.toMatch(/\p{Surrogate}/u);
      expect([firstLine, lastLine]).toEqual([1, 1]);
    }
  });

  test("do not go on over pages", () => {
    const passages = cut("one\ntwo\nthree\nfour", { pageStarts: [0, 2, 3], hasHeadings: false });
    expect(passages.map(({ page, text }) => [page, text])).toEqual([
      [1, "one\ntwo"],
      [2, "three"],
      [3, "four"],
    ]);
  });

  test("are no more than they may be", () => {
    const lines = linesOf("# a\nb\n".repeat(20));
    expect(() => cutPassages({ lines, pageStarts: [], hasHeadings: true }, 10)).toThrow(RangeError);
  });

  test("lines are counted as file tools count them", () => {
    expect(linesOf("a\r\nb\rc\n\nd\n")).toEqual(["a", "b\rc", "", "d"]);
  });
});

describe("whatever the text", () => {
  const line = fc.oneof(
    fc.constantFrom("", " ", "# A", "## B", "```", "---", "===", "- item", "| a | b |", "x".repeat(1_600)),
    fc.string({ unit: "binary", maxLength: 200 }).map((text) => text.replaceAll("\n", "")),
    fc.lorem({ maxCount: 60 }),
  );

  test("every line that is not blank is in a passage, in order, and a citation can be opened", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.boolean(), (given, hasHeadings) => {
        const lines = linesOf(given.join("\n"));
        const passages = cutPassages({ lines, pageStarts: [], hasHeadings }, 1_000_000);
        let at = 0;
        for (const { firstLine, lastLine, text } of passages) {
          expect(text.length).toBeLessThanOrEqual(1_502);
          expect(firstLine).toBeGreaterThanOrEqual(at === 0 ? 1 : at);
          const cited = lines.slice(firstLine - 1, lastLine);
          if (firstLine === lastLine) expect(cited[0]).toContain(text);
          else expect(text.split("\n").map((part) => part.trim())).toEqual(cited.map((part) => part.trim()));
          at = lastLine;
        }
        const covered = new Set(passages.flatMap(({ firstLine, lastLine }) => range(firstLine, lastLine)));
        lines.forEach((text, index) => {
          if (text.trim() !== "") expect(covered.has(index + 1), `line ${index + 1}`).toBe(true);
        });
      }),
      { numRuns: 300 },
    );
  });
});

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

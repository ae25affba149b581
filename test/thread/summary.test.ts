// T5: summaries are one line, at most 200 UTF-16 units, cut on a grapheme, without control, bidi or hidden characters.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { limits } from "../../src/thread/limits.js";
import { cleanSummary, outcomeWords } from "../../src/thread/summary.js";

const family = "👨‍👩‍👧‍👦";

describe("T5: what a summary keeps and takes out", () => {
  test.each([
    ["plain words stay", "Ran npm test (exit code 0)", "Ran npm test (exit code 0)"],
    ["nothing stays nothing", "", ""],
    ["a blank text is nothing", " \n\t ", ""],
    ["line breaks of every sort become one space", "a\r\n\n\tb\u2028c\u2029d\x85e\vf\fg", "a b c d e f g"],
    ["spaces of every sort are squeezed and trimmed", "  a \u00A0\u3000\u2003 b  ", "a b"],
    ["control characters go", "a\x00b\x08c\x7Fd\x9Ce", "abcde"],
    ["colours go whole", "\x1b[1;31mred\x1b[0m and \x9b32mgreen\x9b0m", "red and green"],
    ["a terminal title goes whole", "a\x1b]0;evil title\x07b", "ab"],
    ["a hyperlink leaves its text", "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\ now", "here now"],
    ["a device string goes whole", "a\x1bPq#0;2\x1b\\b\x90x\x9cc", "abc"],
    ["other escapes go whole", "a\x1b(Bb\x1b7c\x1bcd", "abcd"],
    ["an escape that is cut off goes as far as it goes", "a\x1b[1;3", "a"],
    ["an escape character at the end goes", "a\x1b", "a"],
    ["an unfinished title ends at the line", "a\x1b]0;title\nb", "a b"],
    ["bidi controls go", "a\u202Ab\u202Ec\u2066d\u2069e\u200Ef\u200Fg\u061Ch", "abcdefgh"],
    ["hidden characters go", "a\u200Bb\uFEFFc\u2060d\u2064e\u00ADf\u034Fg\u3164h\u180Ei", "abcdefghi"],
    ["tags go", "a\u{E0001}\u{E0068}\u{E0069}\u{E007F}b", "ab"],
    ["lone surrogates become U+FFFD", "a\uD83Db\uDE00c", "a\uFFFDb\uFFFDc"],
    ["a joiner inside an emoji stays", `${family} 👩🏽‍💻 🏳️‍🌈`, `${family} 👩🏽‍💻 🏳️‍🌈`],
    ["a joiner elsewhere goes", "a\u200Db 👩\u200D b\u200D👩", "ab 👩 b👩"],
    ["joiners in a row go", "👩\u200D\u200D💻", "👩💻"],
    ["a non-joiner stays where a script needs it", "می\u200Cخواهم", "می\u200Cخواهم"],
    ["a joiner stays where a script needs it", "ශ්\u200Dරී", "ශ්\u200Dරී"],
    ["a non-joiner elsewhere goes", "a\u200Cb می\u200C x", "ab می x"],
    ["a variation selector behind its base stays", "❤️ 1️⃣ 葛\u{E0100}", "❤️ 1️⃣ 葛\u{E0100}"],
    ["a variation selector without a base goes", "\uFE0Fa \uFE0Fb", "a b"],
    ["a chain of variation selectors carries nothing", "😀\uFE0F\uFE01\u{E0120}\u{E0130}!", "😀\uFE0F!"],
    ["combining marks stay", "e\u0301 नमस्ते", "e\u0301 नमस्ते"],
  ])("%s", (_name, text, expected) => {
    expect(cleanSummary(text)).toBe(expected);
  });
});

describe("T5: the cut", () => {
  test("200 units stay whole; 201 are cut to 199 and an ellipsis", () => {
    expect(cleanSummary("x".repeat(200))).toBe("x".repeat(200));
    expect(cleanSummary("x".repeat(201))).toBe(`${"x".repeat(199)}…`);
  });

  test("falls before a grapheme that does not fit whole", () => {
    const text = `${"x".repeat(195)}${family}tail`;
    expect(cleanSummary(text)).toBe(`${"x".repeat(195)}…`);
    expect(cleanSummary(`${"x".repeat(198)}e\u0301e\u0301`)).toBe(`${"x".repeat(198)}…`);
    expect(cleanSummary("🇩🇪".repeat(60))).toBe(`${"🇩🇪".repeat(49)}…`);
  });

  test("leaves no space and no joiner before the ellipsis", () => {
    expect(cleanSummary(`${"x".repeat(198)} yyyy`)).toBe(`${"x".repeat(198)}…`);
    expect(cleanSummary(`${"م".repeat(198)}\u200C${"م".repeat(10)}`)).toBe(`${"م".repeat(198)}…`);
  });

  test("counts what is left after cleaning, not what was sent", () => {
    expect(cleanSummary(`${"\x1b[0m".repeat(100)}done`)).toBe("done");
  });

  test("a grapheme that is too large by itself leaves the ellipsis", () => {
    expect(cleanSummary(`a${"\u0301".repeat(500)}`)).toBe("…");
  });

  test.each([
    [0, ""],
    [1, "…"],
    [2, "a…"],
    [3, "abc"],
  ])("a bound of %d units gives %j", (maxUnits, expected) => {
    expect(cleanSummary("abc", maxUnits)).toBe(expected);
  });

  test("a text that is longer than what is looked at counts as cut", () => {
    expect(cleanSummary(`Done${"\n".repeat(10_000)}`)).toBe("Done…");
    expect(cleanSummary("\0".repeat(10_000))).toBe("");
    expect(cleanSummary(`ab${"\x1b[0m".repeat(10_000)}`)).toBe("a…");
  });

  test("only a bounded beginning is read", () => {
    const beginning = "word ".repeat(1000);
    expect(cleanSummary(`${beginning}${"\x1b[31m👩‍💻".repeat(100_000)}`)).toBe(cleanSummary(`${beginning}!`));
    let read = 0;
    cleanSummary("x".repeat(1_000_000), limits.summaryUnits, (line) => {
      read = line.length;
      return line;
    });
    expect(read).toBe(16 * limits.summaryUnits);
  });
});

describe("T5: the redactor it is given", () => {
  const redact = (line: string): string => line.replaceAll("hunter2hunter2", "[redacted]");

  test("sees a secret that a colour code was hidden in", () => {
    expect(cleanSummary("key \x1b[31mhunter2\x1b[0mhunter2 used", 200, redact)).toBe("key [redacted] used");
  });

  test("sees a secret that the cut goes through", () => {
    expect(cleanSummary(`${"x".repeat(190)} hunter2hunter2`, 200, redact)).toBe(`${"x".repeat(190)} [redacte…`);
  });

  test("cannot bring back what was cleaned", () => {
    expect(cleanSummary("a hunter2hunter2", 200, (line) => line.replace("hunter2hunter2", "\x1b[31m\n"))).toBe("a");
  });
});

const nasty = fc.constantFrom(
  ..."\x1b[ \x1b] \x1b\\ \x9b \x07 m 3 ; A \u200D \u200C \uFE0F \u{E0100} \u{E0041} \u202E \u2066 \u200B \uFEFF 👩 💻 🏽 🇩 🇪 ❤ e \u0301 \u0600 ක ් ර م ب ن क ् ष 한 ᄀ ᅡ \u202F \u2028 \uD83D \uDE00 …".split(
    " ",
  ),
  " ",
  "\n",
  "\t",
  "\u3000",
);
const anyText = fc.oneof(
  fc.string({ unit: nasty, maxLength: 400, size: "max" }),
  fc.string({ unit: "binary", maxLength: 400, size: "max" }),
  fc.string({ unit: "grapheme", maxLength: 400, size: "max" }),
);
const runs = { numRuns: 500 };

describe("T5 holds for any text", () => {
  test("cleaning twice is cleaning once", () => {
    fc.assert(
      fc.property(anyText, fc.nat(220), (text, maxUnits) => {
        const once = cleanSummary(text, maxUnits);
        expect(cleanSummary(once, maxUnits)).toBe(once);
      }),
      runs,
    );
  });

  test("the bound holds, on one line, without anything forbidden", () => {
    const never = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u200b\ufeff\u2060-\u2064]/u;
    fc.assert(
      fc.property(anyText, fc.nat(220), (text, maxUnits) => {
        const summary = cleanSummary(text, maxUnits);
        expect(summary.length).toBeLessThanOrEqual(maxUnits);
        expect(summary).not.toMatch(never);
        expect(summary).not.toMatch(/\p{Surrogate}|[\u{E0000}-\u{E007F}]/u);
        expect(summary).not.toMatch(/ {2}|^ | $/);
      }),
      runs,
    );
  });

  test("a cut summary is a row of whole graphemes of the uncut one", () => {
    const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
    fc.assert(
      fc.property(anyText, fc.integer({ min: 20, max: 60 }), (text, maxUnits) => {
        const whole = cleanSummary(text, 10_000);
        const summary = cleanSummary(text, maxUnits);
        if (whole.length <= maxUnits && text.length <= 16 * maxUnits) {
          expect(summary).toBe(whole);
          return;
        }
        const borders = new Set([0]);
        for (const { index, segment } of segmenter.segment(whole)) {
          borders.add(index);
          // A space or a joiner at a grapheme's end has nothing to do before an ellipsis.
          borders.add(index + segment.replace(/(?: |\u200C|\u200D)+$/, "").length);
        }
        const kept = summary.slice(0, -1);
        expect(whole.startsWith(kept)).toBe(true);
        expect(summary).toBe(whole === "" ? "" : `${kept}…`);
        expect(borders.has(kept.length)).toBe(true);
      }),
      runs,
    );
  });
});

describe("outcomeWords", () => {
  const outcomes = Object.values(ToolCallOutcome).filter((value) => typeof value === "number");

  test.each(outcomes)("outcome %d has words that are a summary themselves", (outcome) => {
    expect(outcomeWords(outcome)).not.toBe("");
    expect(cleanSummary(outcomeWords(outcome))).toBe(outcomeWords(outcome));
  });

  test("only an unset outcome shares its words with another: a reader shows it as a failure", () => {
    expect(new Set(outcomes.map(outcomeWords)).size).toBe(outcomes.length - 1);
    expect(outcomeWords(ToolCallOutcome.UNSPECIFIED)).toBe(outcomeWords(ToolCallOutcome.FAILED));
  });

  test("an outcome of a newer writer still has words", () => {
    expect(outcomeWords(99 as ToolCallOutcome)).toBe("Ended");
  });
});

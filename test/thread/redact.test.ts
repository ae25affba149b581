// Secrets never reach storage (T5 for summaries; the same redactor guards deltas and bodies).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, minSecretUnits, redacted, unusableSecrets } from "../../src/thread/redact.js";
import { cutAtRandom, examples, harmless } from "./redact/examples.js";

const shapesOnly = createRedactor({ secrets: [] });

describe("known values", () => {
  const hide = (secrets: string[], text: string): string => createRedactor({ secrets }).text(text);

  test.each([
    ["in the middle", ["hunter2hunter2"], "key=hunter2hunter2;", "key=[redacted];"],
    ["twice, and side by side under one mark", ["12345678"], "12345678 a 1234567812345678", "[redacted] a [redacted]"],
    ["inside a word", ["12345678"], "x12345678x", "x[redacted]x"],
    [
      "with every special character of a pattern",
      [`a.*+?^\${}()|[]\\b`],
      `<a.*+?^\${}()|[]\\b> abcdefgh`,
      "<[redacted]> abcdefgh",
    ],
    ["overlapping", ["abcdefgh", "efghijkl"], "-abcdefghijkl-", "-[redacted]-"],
    [
      "one inside another",
      ["cdefghij", "abcdefghijkl"],
      "abcdefghijkl cdefghij abcdefghijk",
      "[redacted] [redacted] ab[redacted]k",
    ],
    ["behind a false beginning", ["aaaaaaab"], "aaaaaaaaaaab", "aaaa[redacted]"],
    ["with its letters as they are", ["Hunter2Hunter2"], "hunter2hunter2", "hunter2hunter2"],
    ["inside a JSON string", ['quo"te\\and\nline'], JSON.stringify('x quo"te\\and\nline'), '"x [redacted]"'],
    ["inside a URL", ["p@ss w/rd?"], `?key=${encodeURIComponent("p@ss w/rd?")}&x`, "?key=[redacted]&x"],
    ["beyond ASCII", ["pässwörd😀"], "x pässwörd😀 y", "x [redacted] y"],
    ["as bytes", ["pässwörd"], Buffer.from("x pässwörd y").toString("latin1"), "x [redacted] y"],
    ["without the space around it in a file", [" hunter2hunter2\n"], "hunter2hunter2", "[redacted]"],
    ["a beginning alone is left", ["hunter2hunter2"], "hunter2hunter", "hunter2hunter"],
  ])("%s", (_name, secrets, text, expected) => {
    expect(hide(secrets, text)).toBe(expected);
  });

  test("values that are too short, or a part of the mark, are left out and named by their place", () => {
    const secrets = ["1234567", "12345678", "", "   1234567   ", "redacted", "[redacted]"];
    expect(unusableSecrets(secrets)).toEqual([0, 2, 3, 4, 5]);
    expect(hide(secrets, "1234567 12345678 redacted")).toBe("1234567 [redacted] redacted");
  });
});

describe("known shapes", () => {
  describe.each(examples)("$name", ({ before, secret, after }) => {
    const surroundings = [
      ["alone", "", ""],
      ["in a sentence", "Use ", " now."],
      ["in an assignment", "KEY=", "\n"],
      ["in quotes", '{"key":"', '"}'],
      ["behind an escaped line break", '"a\\n', '\\n"'],
      ["behind an escaped character", '"\\u003e', '\\u003c"'],
      ["in a query", "?a=1%26", "&b=2"],
      ["in colour", "\x1b[1;31m", "\x1b[0m"],
    ];
    test.each(surroundings)("%s", (_where, opening, closing) => {
      // An unfinished private key ends where the text does.
      const end = after === "" && before.startsWith("-----") ? "" : closing;
      expect(shapesOnly.text(opening + before + secret + after + end)).toBe(opening + before + redacted + after + end);
    });
  });

  test.each(harmless)("left as it is: %s", (text) => {
    expect(shapesOnly.text(text)).toBe(text);
  });

  test("several in one text", () => {
    const text = examples.slice(0, 20).map(({ before, secret, after }) => `${before}${secret}${after}`);
    const expected = examples.slice(0, 20).map(({ before, after }) => `${before}${redacted}${after}`);
    expect(shapesOnly.text(text.join("\n"))).toBe(expected.join("\n"));
  });

  test("a text that was redacted is left as it is", () => {
    for (const { before, secret, after } of examples) {
      const once = shapesOnly.text(before + secret + after);
      expect(shapesOnly.text(once)).toBe(once);
    }
  });
});

describe("a text that may have been cut off", () => {
  const redactor = createRedactor({ secrets: ["hunter2hunter2"] });

  test.each([
    ["a secret at its end is hidden from eight units on", "env: hunter2hunter", "env: [redacted]"],
    ["seven stay", "env: hunter2", "env: hunter2"],
    ["a password without its end is hidden", "postgres://me:hunter", "postgres://me:[redacted]"],
    ["a secret inside is hidden as ever", "a hunter2hunter2 b", "a [redacted] b"],
  ])("%s", (_name, text, expected) => {
    expect(redactor.cutText(text)).toBe(expected);
  });

  test("is redacted like the first piece of a stream, whatever it is and wherever it is cut", () => {
    const texts = fc.constantFrom(
      ...examples.map(({ before, secret, after }) => before + secret + after),
      "env: hunter2hunter2, and more",
      ...harmless,
    );
    fc.assert(
      fc.property(texts, fc.nat(80), (text, length) => {
        const cut = text.slice(0, length);
        expect(redactor.cutText(cut)).toBe(redactor.stream().push(cut));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a text in pieces", () => {
  const redactor = createRedactor({ secrets: ["hunter2hunter2"] });
  const push = (pieces: readonly string[]): string[] => {
    const stream = redactor.stream();
    return pieces.map((piece) => stream.push(piece));
  };

  test.each([
    ["whole in one piece", ["a hunter2hunter2 b"], ["a [redacted] b"]],
    ["cut early: the beginning shows, the rest does not", ["a hunter2", "hunter2 b"], ["a hunter2", "[redacted] b"]],
    ["cut late: all is hidden under one mark", ["a hunter2h", "unter2 b"], ["a [redacted]", " b"]],
    [
      "over many pieces: the mark comes once",
      ["a hunter2h", "un", "te", "r2", " b"],
      ["a [redacted]", "", "", "", " b"],
    ],
    ["seven units at the end stay", ["a hunter2", "b"], ["a hunter2", "b"]],
    ["eight units at the end are hidden, even when harmless", ["a hunter2h", "b"], ["a [redacted]", "b"]],
    ["empty pieces change nothing", ["a hunter2h", "", "unter2 b", ""], ["a [redacted]", "", " b", ""]],
    [
      "a word that begins like a key stays",
      ["use sk-learn", " and Bearer", " tokens"],
      ["use sk-learn", " and Bearer", " tokens"],
    ],
    ["a port stays", ["http://localhost:80", "80/"], ["http://localhost:80", "80/"]],
    ["a password is hidden from its first letter", ["x://me:h", "unter2@h/"], ["x://me:[redacted]", "@h/"]],
    ["a lead that is cut is found", ["a gh", `p_${"a1B2".repeat(9)} b`], ["a gh", "[redacted] b"]],
    ["what stands before a lead is remembered", ["ta", `sk-${"a1B2".repeat(9)} b`], ["ta", `sk-${"a1B2".repeat(9)} b`]],
    ["an escape before a lead is remembered", ["\\", "n", `ghp_${"a1B2".repeat(9)} b`], ["\\", "n", "[redacted] b"]],
  ])("%s", (_name, pieces, expected) => {
    expect(push(pieces)).toEqual(expected);
  });

  test("streams and forks do not disturb each other", () => {
    const stream = redactor.stream();
    stream.push("a hunter2h");
    const fork = stream.fork();
    expect(fork.push("un")).toBe("");
    expect(fork.push("harmless")).toBe("harmless");
    expect(stream.push("unter2 b")).toBe(" b");
    expect(redactor.stream().push("unter2 b")).toBe("unter2 b");
  });

  test("a fork carries an unfinished shape", () => {
    const stream = redactor.stream();
    stream.push("Bearer a1B2c3");
    const fork = stream.fork();
    expect(fork.push("D4e5f6 x")).toBe("[redacted] x");
    expect(stream.push(" x")).toBe(" x");
    expect(fork.push(" y")).toBe(" y");
  });

  test("at most 7 leading units of a known value get through, wherever it is cut", () => {
    const secret = fc.string({ unit: fc.constantFrom("a", "b", "c", "d"), minLength: minSecretUnits, maxLength: 40 });
    const filler = fc.string({ unit: fc.constantFrom("x", "y", " ", "é"), maxLength: 10 });
    const cut = fc
      .record({
        secrets: fc.array(secret, { minLength: 1, maxLength: 4 }),
        fillers: fc.array(filler, { minLength: 5, maxLength: 5 }),
      })
      .chain(({ secrets, fillers }) => {
        const text = secrets.map((secret, index) => fillers[index] + secret).join("-") + fillers[4];
        return fc.record({ secrets: fc.constant(secrets), pieces: cutAtRandom(text) });
      });
    fc.assert(
      fc.property(cut, ({ secrets, pieces }) => {
        const stream = createRedactor({ secrets }).stream();
        const joined = pieces.map((piece) => stream.push(piece)).join("");
        for (const secret of secrets) {
          for (const run of runsOf(secret, minSecretUnits)) expect(joined).not.toContain(run);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each(examples)("at most 8 leading units get through, wherever it is cut: $name", ({ before, secret, after }) => {
    const text = `é ${before}${secret}${after} é`;
    fc.assert(
      fc.property(cutAtRandom(text), (pieces) => {
        const stream = shapesOnly.stream();
        const joined = pieces.map((piece) => stream.push(piece)).join("");
        // Five digits may be a port: they can all get through, and then there is no mark.
        const shown = joined === text ? secret : joined.split(redacted)[0]!.slice(`é ${before}`.length);
        expect(secret.startsWith(shown)).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(8);
        if (secret.length < 1000) for (const run of runsOf(secret, 9)) expect(joined).not.toContain(run);
      }),
      { numRuns: 50 },
    );
  });

  test.each(examples)("one unit at a time: $name", ({ before, secret, after }) => {
    const stream = shapesOnly.stream();
    const joined = [...before, ...secret, ...after].map((piece) => stream.push(piece)).join("");
    const shown = joined.includes(redacted) ? joined.slice(before.length, joined.indexOf(redacted)) : secret;
    expect(joined.startsWith(before)).toBe(true);
    expect(secret.startsWith(shown)).toBe(true);
    expect(shown.length).toBeLessThanOrEqual(8);
  });

  test("a harmless text changes only where a candidate stands at a piece's end", () => {
    const text = fc.constantFrom(...harmless);
    fc.assert(
      fc.property(text.chain(cutAtRandom), (pieces) => {
        const stream = shapesOnly.stream();
        for (const piece of pieces) {
          const out = stream.push(piece);
          if (out === piece) continue;
          // All that is missing is missing at the end; the mark is left out where it goes on from before.
          const kept = out.endsWith(redacted) ? out.slice(0, -redacted.length) : out;
          expect(piece.startsWith(kept) || piece.endsWith(kept)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a text without a candidate is the same in any pieces", () => {
    const words = fc.array(
      fc.constantFrom("make ", "test: ", "ok 12\n", "ünï ", "sk", "-", "a@b ", "{}", "\\n", "😀", "%20", "\x1b[0m"),
    );
    // By chance the words make what looks like a key.
    const texts = words.map((all) => all.join("")).filter((text) => !/sk-[\w-]{4}/.test(text));
    fc.assert(
      fc.property(texts.chain(cutAtRandom), (pieces) => {
        expect(push(pieces)).toEqual(pieces);
      }),
      { numRuns: 300 },
    );
  });
});

function runsOf(text: string, units: number): Set<string> {
  return new Set(Array.from({ length: text.length - units + 1 }, (_, at) => text.slice(at, at + units)));
}

// The one-pass machine against the slow and obvious way, and its cost on the worst texts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, redacted } from "../../../src/thread/redact.js";
import { cutAtRandom } from "./examples.js";
import { redactByHand, secretsIn } from "./reference.js";

const redactor = createRedactor({ secrets: [] });

/** Parts of secrets and of what is nearly one, in any order. */
const temptation = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ..."sk- sk-ant- sk-proj- ghp_ github_ pat_ github_pat_ AKIA xoxb- AIza sk_live_ npm_ eyJ . . :// :// : : @ @ Bearer bearer Authorization basic Basic -----BEGIN RSA PRIVATE KEY----- -----END ----- - _ = \\n %3D".split(
          " ",
        ),
        " ",
        " ",
        "\n",
        "\x1b[0m",
        "-----BEGIN PRIVATE KEY-----",
      ),
      fc.string({ unit: fc.constantFrom(..."aB1c2D"), minLength: 1, maxLength: 20 }),
      fc.string({ unit: fc.constantFrom(..."ABC234"), minLength: 15, maxLength: 17 }),
      fc.string({ unit: fc.constantFrom(..."abc_-"), minLength: 1, maxLength: 40 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""))
  // The reference knows no private key without an end.
  .filter((text) => !/PRIVATE KEY-----(?:(?!-----)[\s\S])*$/.test(text));

describe("the machine", () => {
  test("hides what the slow way hides, no more and no less", () => {
    fc.assert(
      fc.property(temptation, (text) => {
        expect(redactor.text(text)).toBe(redactByHand(text));
      }),
      { numRuns: 3000 },
    );
  });

  test("in pieces it hides all of that but 8 leading units of each", () => {
    fc.assert(
      fc.property(
        temptation.chain((text) => fc.record({ text: fc.constant(text), pieces: cutAtRandom(text) })),
        ({ text, pieces }) => {
          const stream = redactor.stream();
          const joined = pieces.map((piece) => stream.push(piece)).join("");
          const secrets = secretsIn(text);
          const shown = (out: string): number => out.replaceAll(redacted, "").length;
          expect(shown(joined)).toBeLessThanOrEqual(shown(redactByHand(text)) + 8 * secrets.length);
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe("the cost grows with the text, not faster", () => {
  const units = 1 << 18;
  const factor = 4;
  // A quadratic scan would take 16 times as long. The margin is for a busy machine.
  const mostGrowth = factor * 2.5;

  const letters = "a".repeat(64);
  const nested = createRedactor({ secrets: Array.from({ length: 50 }, (_, n) => "a".repeat(8 + n)) });
  const near = createRedactor({ secrets: [`${letters}b`, `${letters}c`] });
  const fill = (part: string) => (length: number) => part.repeat(Math.ceil(length / part.length)).slice(0, length);

  const worst: [name: string, redactor: typeof redactor, text: (length: number) => string][] = [
    ["overlapping values", nested, fill("a")],
    ["values that never end", near, fill(`${letters}a`)],
    ["leads without end", redactor, fill("sk-")],
    ["nested leads", redactor, fill("sk-ant-sk-proj-ghp_npm_eyJ-xoxb-")],
    ["token parts", redactor, fill("eyJaaaaaaaa.")],
    ["one token", redactor, (length) => `eyJaaaaaaa.${fill("a")(length)}`],
    ["URLs", redactor, fill("://a:b")],
    ["one URL of many @", redactor, (length) => `x://a:${fill("b@")(length)}`],
    ["bearers", redactor, fill("Bearer ")],
    ["headers", redactor, fill("Authorization: Basic ")],
    ["private keys", redactor, fill("-----BEGIN PRIVATE KEY-----")],
    [
      "dashes in a private key",
      redactor,
      (length) => `BEGIN PRIVATE KEY-----${fill(`${"a1".repeat(20)}----`)(length)}`,
    ],
    ["escapes", redactor, fill("\\u00%2\x1b[0;")],
  ];

  test.each(worst)("%s", (_name, redactor, text) => {
    // Short texts first: there a scan that grows faster fails before it takes for ever.
    for (const length of [units / 16, units]) {
      const small = text(length);
      const large = text(length * factor);
      expectRatioBelow(mostGrowth, [() => redactor.text(small), () => redactor.text(large)]);
    }
  });

  test("one unit at a time", () => {
    const text = fill("sk-ant-Bearer eyJa.://a:b@")(units / 4);
    const run = (length: number) => () => {
      const stream = redactor.stream();
      for (let at = 0; at < length; at++) stream.push(text[at]!);
    };
    expectRatioBelow(mostGrowth, [run(text.length / factor), run(text.length)]);
  });

  test("a thousand times as many values do not cost a hundred times as much", () => {
    const values = (count: number) =>
      Array.from({ length: count }, (_, n) => `${(n * 2654435761) % 99991}-${"value".repeat(4)}-${n}`);
    const few = createRedactor({ secrets: values(2) });
    const many = createRedactor({ secrets: values(2000) });
    const text = fill("12345-valuevalue 67890-valuevaluevaluevalue-1 ")(units);
    expectRatioBelow(100, [() => few.text(text), () => many.text(text)]);
  });
});

const mostRounds = 10;

/** Compares the best times of the two. What a run costs more than the best one is noise, so there are several rounds. */
function expectRatioBelow(bound: number, [base, other]: [() => void, () => void]): void {
  const best = { base: Number.POSITIVE_INFINITY, other: Number.POSITIVE_INFINITY };
  base(); // Compiled by now: a slow first run would flatter the ratio.
  for (let round = 0; round < mostRounds; round++) {
    best.base = Math.min(best.base, timeOf(base));
    best.other = Math.min(best.other, timeOf(other));
    if (best.other / best.base < bound) break;
  }
  expect(best.other / best.base).toBeLessThan(bound);
}

/** In CPU time: what others do to the machine does not count. */
function timeOf(run: () => void): number {
  const begin = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begin);
  return Math.max(1, user + system);
}

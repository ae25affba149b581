import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepestNesting, type FieldText, JsonTextReader } from "../../src/loop/json-text-reader.js";

const fields = ["message", "question", 'odd "key" \n😀'];

describe("what is told, and when", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["text comes with the piece that brings it", ['{"message":"a', "b", "c", '"}'], ["a", "b", "c", ""]],
    ["an escape waits for its letter", ['{"message":"a\\', 'nb"}'], ["a", "\nb"]],
    ["a unit escape waits for its last digit", ['{"message":"\\u0', "0e", '9"}'], ["", "", "é"]],
    ["a raw pair in two pieces stays a pair", ['{"message":"a\uD83D', '\uDE00b"}'], ["a", "😀b"]],
    ["an escaped pair in two pieces stays a pair", ['{"message":"\\ud83d', "\\ude0", '0"}'], ["", "", "😀"]],
    ["half raw and half escaped is a pair", ['{"message":"\uD83D', '\\uDE00"}'], ["", "😀"]],
    ["a high surrogate that stays alone", ['{"message":"\uD83D', "x", "\uD83D", '"}'], ["", "\uFFFDx", "", "\uFFFD"]],
    ["two high surrogates before a low one", ['{"message":"\uD83D\uD83D', '\uDE00"}'], ["\uFFFD", "😀"]],
    ["a low surrogate alone does not wait", ['{"message":"\uDE00', '"}'], ["\uFFFD", ""]],
    ["a key in pieces and with escapes", ['{"mes', "s\\u006", '1ge"', ' : "a"}'], ["", "", "", "a"]],
    ["every short escape", ['{"message":"\\"\\\\\\/\\b\\f\\n\\r\\t"}'], ['"\\/\b\f\n\r\t']],
    ["an empty text is nothing to tell", ['{"message":""}'], [""]],
    ["empty pieces", ["", '{"message":"', "", 'a"}', ""], ["", "", "", "a", ""]],
  ])("%s", (_name, pieces, told) => {
    const reader = new JsonTextReader(fields);
    expect(pieces.map((piece) => textOf(reader.push(piece), "message"))).toEqual(told);
  });

  test.each([
    ["another field", '{"other":"no"}'],
    ["a field of the same name further in", '{"other":{"message":"no"}}'],
    ["the same inside a list", '{"other":[{"message":"no"},"message","no"]}'],
    ["a list or an object as the value", '{"message":["no"],"question":{"message":"no"}}'],
    ["numbers and words as values", '{"message":1,"question":true,"message":null}'],
    ["a key that only begins like a field", '{"message2":"no","messag":"no","MESSAGE":"no"}'],
    ["a list at the top", '[{"message":"no"}]'],
    ["a text at the top", '"message"'],
    ["nothing at all", ""],
  ])("%s is not told", (_name, json) => {
    expect(read([json])).toEqual([]);
  });

  test("texts come in the order of the input, an entry a value, and a second value of a key is told too", () => {
    expect(read(['{"message":"a","question":"b","message":"c"}'])).toEqual([
      { field: "message", text: "a" },
      { field: "question", text: "b" },
      { field: "message", text: "c" },
    ]);
  });

  test("a reader without fields tells nothing, and takes a set too", () => {
    expect(new JsonTextReader([]).push('{"":"a","message":"b"}')).toEqual([]);
    expect(new JsonTextReader(new Set([""])).push('{"":"a"}')).toEqual([{ field: "", text: "a" }]);
  });
});

describe("broken input", () => {
  test.each([
    ["a bare line break in a text", '{"message":"a\nb","question":"c"}', "a"],
    ["an escape that JSON does not know", '{"message":"a\\xb"}', "a"],
    ["a unit escape that is no number", '{"message":"a\\u00g0b"}', "a"],
    ["no comma", '{"message":"a" "question":"c","message":"d"}', "a"],
    ["a comma too many", '{"message":"a",,"message":"d"}', "a"],
    ["a comma before the end", '{"message":"a",}', "a"],
    ["a bracket that closes another", '{"other":[1},"message":"a"}', ""],
    ["a brace that a bracket closes", '{"other":{"a":1],"message":"a"}', ""],
    ["a brace in an empty list", '{"other":[},"message":"a"}', ""],
    ["a word that is none", '{"other":nul,"message":"a"}', ""],
    ["a number that is none", '{"other":01,"message":"a"}', ""],
    ["something after the end", '{"message":"a"},{"message":"b"}', "a"],
    ["a key without quotes", '{message:"a"}', ""],
    ["a comment", '{/**/"message":"a"}', ""],
    ["a byte order mark", '\uFEFF{"message":"a"}', ""],
    ["a half surrogate before the break", '{"message":"a\uD83D\n', "a"],
  ])("%s: silent from there on", (_name, json, told) => {
    for (const pieces of [[json], json.split("")]) {
      const reader = new JsonTextReader(fields);
      expect(pieces.map((piece) => textOf(reader.push(piece), "message")).join("")).toBe(told);
      expect(reader.push('{"message":"b"}')).toEqual([]);
      expect(reader.push('"')).toEqual([]);
    }
  });

  test("nesting has a bound, and beyond it there is silence", () => {
    const nested = (depth: number) => `{"other":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)},"message":"a"}`;
    expect(read([nested(deepestNesting)])).toEqual([{ field: "message", text: "a" }]);
    expect(read([nested(deepestNesting + 1)])).toEqual([]);
    expect(read([`{"other":${"[".repeat(1_000_000)}`])).toEqual([]);
  });
});

/** A unit as JSON may write it: as it is, as a short escape or as `\uXXXX` in either case. */
function written([unit, style]: readonly [string, number]): string {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
  if (style === 0) return `\\u${hex}`;
  if (style === 1) return `\\u${hex.toUpperCase()}`;
  if (unit === "/" && style === 2) return "\\/";
  return /[\uD800-\uDFFF]/.test(unit) ? unit : JSON.stringify(unit).slice(1, -1);
}

const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\r", "\t"), maxLength: 2 });
const style = fc.nat(5);
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\uD83D", "\uDE00", "a", '"', "\\", "/", "\n", "u", "\0") }),
);
const writtenText = (text: fc.Arbitrary<string>) =>
  text.chain((value) =>
    fc.array(style, { minLength: value.length, maxLength: value.length }).map(
      (styles) =>
        `"${value
          .split("")
          .map((unit, index) => written([unit, styles[index]!]))
          .join("")}"`,
    ),
  );
const key = fc.oneof(fc.constantFrom(...fields), fc.constantFrom("other", "", "__proto__"), anyText);

const json = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    { weight: 4, arbitrary: writtenText(anyText) },
    { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom("true", "false", "null", "0", "-0.0e+0", "12E-3", "7e7") },
    { weight: 2, arbitrary: tie("list") },
    { weight: 2, arbitrary: tie("object") },
  ),
  list: fc
    .tuple(space, fc.array(tie("value"), { maxLength: 4 }))
    .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}]`),
  object: fc
    .array(fc.tuple(writtenText(key), tie("value"), space), { maxLength: 4 })
    .map((members) => `{${members.map(([name, value, gap]) => `${gap}${name}${gap}:${value}${gap}`).join(",")}}`),
})).value;

/** The members of the outermost object, each as it is written. */
const members = fc.array(fc.tuple(writtenText(key), json), { maxLength: 8 });
const document = fc
  .tuple(members, space)
  .map(
    ([list, gap]) =>
      `${gap}{${gap}${list.map(([name, value]) => `${name}${gap}:${gap}${value}`).join(`${gap},${gap}`)}${gap}}${gap}`,
  );
/** Where a text is cut, as shares of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

describe("as properties", () => {
  test("the texts, joined, are what JSON.parse gives, however they are written and cut", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(writtenText(key), json), { maxLength: 8, selector: ([name]) => JSON.parse(name) }),
        cuts,
        space,
        (list, places, gap) => {
          const text = `{${list.map(([name, value]) => `${name}${gap}:${value}`).join(`,${gap}`)}}`;
          const parsed = JSON.parse(text);
          const told = read(cutAt(text, places));
          for (const field of fields) {
            const value = Object.hasOwn(parsed, field) ? parsed[field] : undefined;
            expect(textOf(told, field)).toBe(typeof value === "string" ? wellFormed(value) : "");
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("with keys that come twice, the values of a field follow each other", () => {
    fc.assert(
      fc.property(members, cuts, (list, places) => {
        const text = `{${list.map(([name, value]) => `${name}:${value}`).join(",")}}`;
        const told = read(cutAt(text, places));
        for (const field of fields) {
          const values = list.filter(([name]) => JSON.parse(name) === field).map(([, value]) => JSON.parse(value));
          expect(textOf(told, field)).toBe(
            values
              .filter((value) => typeof value === "string")
              .map(wellFormed)
              .join(""),
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  test("each prefix of a document tells what the document tells, as far as it goes, unit by unit as in one piece", () => {
    fc.assert(
      fc.property(document, fc.double({ min: 0, max: 1, noNaN: true }), (text, share) => {
        const prefix = text.slice(0, Math.floor(share * text.length));
        for (const field of fields) {
          const told = textOf(read([prefix]), field);
          expect(textOf(read(prefix.split("")), field)).toBe(told);
          expect(textOf(read([text]), field).startsWith(told)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("input that was damaged tells the same however it is cut, and nothing throws", () => {
    const damage = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2), anyText);
    fc.assert(
      fc.property(document, damage, cuts, (text, [share, removed, added], places) => {
        const at = Math.floor(share * text.length);
        const damaged = text.slice(0, at) + added + text.slice(at + removed);
        for (const field of fields)
          expect(textOf(read(cutAt(damaged, places)), field)).toBe(textOf(read([damaged]), field));
      }),
      { numRuns: 1_000 },
    );
  });

  test("what follows a value is told exactly when JSON.parse takes the whole", () => {
    const fragment = fc.constantFrom(
      ...[
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E",
        "true",
        "null",
        "fals",
        "e",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        '"',
        '"a"',
        "\\",
        " ",
      ],
    );
    fc.assert(
      fc.property(fc.string({ unit: fragment, minLength: 1, maxLength: 6 }), (value) => {
        const text = `{"other":${value},"message":"told"}`;
        expect(textOf(read([text]), "message").endsWith("told")).toBe(isJson(text) && "message" in JSON.parse(text));
      }),
      { numRuns: 20_000 },
    );
  });
});

describe("linear time", () => {
  const mebibyte = 1024 * 1024;
  test.each([
    ["one text", `{"message":"${"a".repeat(mebibyte)}"}`],
    ["escapes", `{"message":"${"\\ud83d\\ude00".repeat(mebibyte / 12)}"}`],
    ["lone surrogates", `{"message":"${"\uD83D".repeat(mebibyte)}"}`],
    ["a long key", `{"${"a".repeat(mebibyte)}":"","message":"b"}`],
    ["many keys", `{${'"message":"a",'.repeat(mebibyte / 14)}"message":"b"}`],
    ["other values", `{"other":[${'{"message":[1.5e3,null]},'.repeat(mebibyte / 25)}0],"message":"b"}`],
  ])("1 MiB of %s, unit by unit and in one piece, looks at each unit a few times at most", (_name, text) => {
    for (const pieces of [text.split(""), [text]]) {
      const { unitsTouched, told } = counted(() => read(pieces));
      expect(told.length).toBeGreaterThan(0);
      expect(unitsTouched).toBeGreaterThanOrEqual(text.length);
      expect(unitsTouched).toBeLessThanOrEqual(8 * text.length);
    }
  });
});

function read(pieces: readonly string[]): FieldText[] {
  const reader = new JsonTextReader(fields);
  return pieces.flatMap((piece) => reader.push(piece));
}

const textOf = (told: readonly FieldText[], field: string): string =>
  told
    .filter((entry) => entry.field === field)
    .map((entry) => entry.text)
    .join("");

function cutAt(text: string, shares: readonly number[]): string[] {
  const places = [0, ...shares.map((share) => Math.floor(share * text.length)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\uFFFD");

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** How many units of text the reader reads, copies or searches: what its methods of strings are called on, or give. */
function counted(run: () => readonly FieldText[]): { unitsTouched: number; told: readonly FieldText[] } {
  const { charCodeAt, slice, replace } = String.prototype;
  let unitsTouched = 0;
  String.prototype.charCodeAt = function (this: string, at) {
    unitsTouched++;
    return charCodeAt.call(this, at);
  };
  String.prototype.slice = function (this: string, ...range) {
    const part = slice.apply(this, range);
    unitsTouched += part.length;
    return part;
  };
  String.prototype.replace = function (this: string, ...given: Parameters<typeof replace>) {
    unitsTouched += this.length;
    return replace.apply(this, given);
  } as typeof replace;
  try {
    const told = run();
    return { unitsTouched, told };
  } finally {
    Object.assign(String.prototype, { charCodeAt, slice, replace });
  }
}

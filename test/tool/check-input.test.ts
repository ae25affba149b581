import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkInput, inputLimits } from "../../src/tool/check-input.js";

const anything = { input: z.looseObject({}) };
const search = {
  input: z.object({
    query: z.string().min(1).max(5),
    options: z.object({ depth: z.number().int().min(1).max(9) }).optional(),
    tags: z.array(z.string()).min(1).max(2).optional(),
    mode: z.enum(["fast", "full"]).optional(),
    limit: z.union([z.string(), z.number()]).optional(),
    strict: z.strictObject({ on: z.boolean() }).optional(),
  }),
};

const refusal = (text: string, tool: Parameters<typeof checkInput>[0] = search) => {
  const checked = checkInput(tool, text);
  if (checked.ok) throw new Error("it was taken");
  return checked;
};

describe("checkInput takes", () => {
  test("what fits, with defaults filled in and unknown fields left out", () => {
    const tool = { input: z.object({ path: z.string().default(".") }) };
    expect(checkInput(tool, '{"extra": 1}')).toEqual({ ok: true, input: { path: "." } });
  });

  test.each(["", " ", "\n\t "])("no text (%j) as an input without fields", (text) => {
    expect(checkInput(anything, text)).toEqual({ ok: true, input: {} });
    expect(refusal(text).message).toBe("query: is missing, must be a text");
  });

  test("nesting and size up to the bounds", () => {
    const deep = inputLimits.depth - 1;
    expect(checkInput(anything, `{"a":${"[".repeat(deep)}${"]".repeat(deep)}}`).ok).toBe(true);
    const rest = inputLimits.bytes - '{"a":""}'.length;
    expect(checkInput(anything, `{"a":"${"[".repeat(rest)}"}`).ok).toBe(true);
  });
});

describe("checkInput refuses", () => {
  test.each([
    [
      '{"query": x}',
      'The input is not JSON at line 1, column 11: expected a value (a text in double quotes, a number, true, false, null, "{" or "["), found "x"; send one JSON object',
    ],
    [
      '{"query": "a"',
      'The input is not JSON at line 1, column 14: expected a comma or "}", found the end of the text; send one JSON object',
    ],
  ])("%s as no JSON, and says where", (text, message) => {
    expect(refusal(text)).toEqual({ ok: false, kind: "invalid_json", message });
  });

  test.each([
    ["[]", "The input: must be an object, not a list"],
    ["null", "The input: must be an object, not null"],
    ["{}", "query: is missing, must be a text"],
    ['{"query": 1}', "query: must be a text, not a number"],
    ['{"query": ""}', "query: must have at least 1 character"],
    ['{"query": "abcdef"}', "query: must have at most 5 characters"],
    ['{"query": "a", "options": {"depth": "3"}}', "options.depth: must be a number, not a text"],
    ['{"query": "a", "options": {"depth": 1.5}}', "options.depth: must be a whole number, not a fraction"],
    ['{"query": "a", "options": {"depth": 10}}', "options.depth: must be at most 9"],
    ['{"query": "a", "options": {}}', "options.depth: is missing, must be a number"],
    ['{"query": "a", "tags": []}', "tags: must have at least 1 item"],
    ['{"query": "a", "tags": ["b", true]}', "tags[1]: must be a text, not true"],
    ['{"query": "a", "mode": "slow"}', 'mode: must be "fast" or "full"'],
    ['{"query": "a", "mode": 1}', 'mode: must be "fast" or "full", not a number'],
    ['{"query": "a", "limit": false}', "limit: must be a text or a number, not false"],
    ['{"query": "a", "strict": {"on": true, "off": 1}}', "strict: has unknown fields (off); leave them out"],
    [
      '{"options": {"depth": "3"}, "tags": [1, 2], "mode": 1}',
      "query: is missing, must be a text; options.depth: must be a number, not a text; tags[0]: must be a text, not a number; and 2 more",
    ],
  ])("%s, and names the field and the rule", (text, message) => {
    expect(refusal(text)).toEqual({ ok: false, kind: "invalid_input", message });
  });

  test("in the words of the schema's author, as one line", () => {
    const tool = { input: z.object({ id: z.string().regex(/^x/, "must start\nwith x") }) };
    expect(refusal('{"id": "y"}', tool).message).toBe("id: must start with x");
  });

  test.each([
    ["async", z.object({ a: z.string().refine(async () => true) })],
    [
      "throwing",
      z.object({
        a: z.string().refine(() => {
          throw new Error("broken");
        }),
      }),
    ],
  ])("everything when the schema is %s, and does not throw", (_, input) => {
    expect(refusal('{"a": "b"}', { input })).toMatchObject({
      kind: "invalid_input",
      message: expect.stringMatching(/^The input: cannot be checked, because the tool's schema fails/),
    });
  });

  test.each([
    ["opened and closed", (levels: number) => "[".repeat(levels) + "]".repeat(levels)],
    ["only opened", (levels: number) => "[".repeat(levels)],
    ["as objects", (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`],
  ])("10,000 levels and millions of them, %s", (_, nested) => {
    for (const levels of [inputLimits.depth + 1, 10_000, 3_000_000])
      expect(refusal(nested(levels), anything)).toMatchObject({
        kind: "invalid_input",
        message: "The input: must have at most 128 levels of lists and objects; make it flatter",
      });
  });

  test("more bytes than the bound, in whatever characters", () => {
    const kinds = ["x".repeat(inputLimits.bytes + 1), "€".repeat(inputLimits.bytes / 3 + 1)];
    for (const text of kinds)
      expect(refusal(text, anything)).toMatchObject({
        kind: "invalid_input",
        message: expect.stringMatching(/must have at most 33554432 bytes/),
      });
  });

  test("more values than the bound, and tells few of many problems", () => {
    const tool = { input: z.object({ list: z.array(z.string()) }) };
    const list = (count: number) => `{"list":[${Array(count).fill("1").join()}]}`;
    expect(refusal(list(inputLimits.values + 1), tool).message).toMatch(/at most 250000 values/);
    expect(refusal(list(200_000), tool).message).toMatch(/^list\[0\]: .+; and 199997 more$/);
  });

  test.each(['{"__proto__": {"admin": true}}', '{"a": [{"\\u005f_proto__": 1}]}', '{"_\\u005Fpr\\u006fto__": null}'])(
    "a field called __proto__: %s",
    (text) => {
      for (const tool of [anything, { input: z.record(z.string(), z.any()) }, { input: z.any() }])
        expect(refusal(text, tool).message).toBe('The input: must have no field called "__proto__"; leave it out');
      expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
    },
  );

  test("the word __proto__ only as a field", () => {
    expect(checkInput(anything, '{"a": "__proto__ \\u00e9"}')).toEqual({ ok: true, input: { a: "__proto__ é" } });
  });
});

describe("checkInput, whatever the text,", () => {
  const texts = fc.oneof(
    fc.json(),
    fc.string({ unit: "binary" }),
    fc.json().map((json) => json.slice(0, -1)),
    fc.object({ withNullPrototype: true }).map((value) => JSON.stringify(value)),
    fc
      .dictionary(fc.constantFrom("query", "options", "tags", "mode", "limit", "strict"), fc.jsonValue())
      .map((value) => JSON.stringify(value)),
  );

  test("answers with what fits the schema, or with one line", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const checked = checkInput(search, text);
        if (checked.ok) expect(search.input.safeParse(JSON.parse(text)).success).toBe(true);
        else expect(checked.message).toMatch(/^[^\p{Cc}\u2028\u2029]{1,500}$/u);
      }),
      { numRuns: 2_000 },
    );
  });

  test("quotes nothing of a text that is no JSON but one character", () => {
    const secret = "sk-verysecretverysecretverysecret";
    for (const text of [`{"a": ${secret}}`, `{"${secret}`, `{"a": "${secret}" "b"}`, secret, `{"a": "${secret}\n"}`]) {
      const { kind, message } = refusal(text);
      expect(kind).toBe("invalid_json");
      for (let at = 0; at + 4 <= secret.length; at++) expect(message).not.toContain(secret.slice(at, at + 4));
    }
  });

  test("keeps its messages short when names are long", () => {
    const tool = { input: z.strictObject({ a: z.record(z.string(), z.number()) }) };
    const name = `\u001b[31m${"n".repeat(1_000_000)}\n`;
    const { message } = refusal(JSON.stringify({ a: { [name]: "x" }, [name]: 1 }), tool);
    expect(message).toMatch(/^a\.n{60,80}…: must be a number, not a text; The input: has unknown fields \(n+…\)/);
    expect(message.length).toBeLessThanOrEqual(500);
  });
});

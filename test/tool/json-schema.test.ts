// Schemas of strangers: what they say is checked, and none of them can stop the server.
import { expect, test } from "vitest";
import { schemaType } from "../../src/tool/json-schema.js";

const fits = (schema: Readonly<Record<string, unknown>>, value: unknown): boolean =>
  schemaType(schema).safeParse(value).success;

/** Each refers to the next one twice: 2 to the power of `levels` looks. */
const doubling = (levels: number) => ({
  type: "object",
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, at === levels - 1 ? { required: ["a"] } : { allOf: [next, next] }];
    }),
  ),
});

test("what a schema says is checked, through references too", () => {
  expect(fits(doubling(8), { a: 1 })).toBe(true);
  expect(fits(doubling(8), {})).toBe(false);
});

test("a schema that asks for more looks than there is time for allows everything", () => {
  expect(fits(doubling(40), { a: 1 })).toBe(true);
});

test("the looks of one value are not those of the next", () => {
  const type = schemaType(doubling(14));
  for (let round = 0; round < 8; round++) expect(type.safeParse({}).success).toBe(false);
});

test("items are not compared with one another: that takes the square of their number", () => {
  const items = Array.from({ length: 200_000 }, (_, at) => at);
  expect(fits({ type: "array", uniqueItems: true }, items)).toBe(true);
});

test("properties may be called like keywords", () => {
  const schema = { type: "object", properties: { uniqueItems: { type: "string" }, pattern: { type: "string" } } };
  expect(fits(schema, { uniqueItems: "yes", pattern: "a" })).toBe(true);
  expect(fits(schema, { uniqueItems: 1 })).toBe(false);
});

test("a schema that cannot be read allows everything", () => {
  expect(fits({ type: "object", properties: { "\ud800": {} } }, { a: 1 })).toBe(true);
});

// Inputs that a tool must refuse, and inputs that it must cope with, made from its schema and an input that is right.
import type { JsonSchema } from "../../src/tool/registry.js";

export interface Variant {
  readonly what: string;
  /** As a model would write it. */
  readonly text: string;
}

export type Example = Readonly<Record<string, unknown>>;

type Path = readonly (string | number)[];

interface Field {
  readonly path: Path;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** A text that is too long is made only up to here. */
const longestText = 2_000_000;
const longestList = 20_000;

/** What no tool may run with. */
export function wrongInputs(schema: JsonSchema, example: Example): Variant[] {
  const fields = [...fieldsOf(schema, example)];
  return [
    ...["null", "[]", "7", '"text"', "true", "{", '{"a": 1,}', `${JSON.stringify(example)}x`].map(asIs),
    { what: "a prototype", text: `{"__proto__": {}, ${JSON.stringify(example).slice(1)}` },
    { what: "a thousand levels", text: "[".repeat(1_000) + "]".repeat(1_000) },
    ...fields
      .filter(({ isRequired }) => isRequired)
      .map(({ path }) => changed(`without ${path.join(".")}`, example, { path, value: undefined })),
    ...fields.flatMap(({ path, schema }) =>
      wrongValues(schema, valueAt(example, path)).map(([what, value]) =>
        changed(`${path.join(".")}: ${what}`, example, { path, value }),
      ),
    ),
  ];
}

const asIs = (text: string): Variant => ({ what: text.slice(0, 40), text });

/** Each text of the input in turn is the given one. */
export const withText = (schema: JsonSchema, example: Example, text: string): Variant[] =>
  [...fieldsOf(schema, example)]
    .filter(({ schema }) => allows(schema, "a text"))
    .map(({ path }) => changed(path.join("."), example, { path, value: text }));

/** The farthest that the schema allows: it may still be refused, by a rule that no schema can show. */
export const edgeInputs = (schema: JsonSchema, example: Example): Variant[] =>
  [...fieldsOf(schema, example)].flatMap(({ path, schema: field }) =>
    edgeValues(field, valueAt(example, path)).map(([what, value]) =>
      changed(`${path.join(".")}: ${what}`, example, { path, value }),
    ),
  );

/** The fields, also those inside lists and objects that the example holds. */
function* fieldsOf(schema: JsonSchema, example: unknown, path: Path = []): Generator<Field> {
  for (const option of optionsOf(schema)) {
    const properties = (option["properties"] ?? {}) as Record<string, JsonSchema>;
    for (const [name, inner] of Object.entries(properties)) {
      const isRequired = ((option["required"] as string[] | undefined) ?? []).includes(name);
      yield { path: [...path, name], schema: inner, isRequired };
      const value = (example as Example | undefined)?.[name];
      if (typeof value === "object" && value !== null) yield* fieldsOf(inner, value, [...path, name]);
    }
    const items = option["items"] as JsonSchema | undefined;
    if (items === undefined || !Array.isArray(example) || example.length === 0) continue;
    yield { path: [...path, 0], schema: items, isRequired: false };
    yield* fieldsOf(items, example[0], [...path, 0]);
  }
}

const optionsOf = (schema: JsonSchema): readonly JsonSchema[] =>
  ((schema["anyOf"] ?? schema["oneOf"]) as readonly JsonSchema[] | undefined)?.flatMap(optionsOf) ?? [schema];

const values: readonly (readonly [what: string, value: unknown])[] = [
  ["null", null],
  ["true", true],
  ["a number", 7],
  ["a fraction", 0.5],
  ["a text", "some text"],
  ["a list", []],
  ["an object", {}],
];

function wrongValues(schema: JsonSchema, right: unknown): (readonly [what: string, value: unknown])[] {
  const wrong = values.filter(([, value]) => !allows(schema, value));
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema as Record<string, number | undefined>;
  const item = Array.isArray(right) ? (right[0] as unknown) : "a";
  return [
    ...wrong,
    ...(minimum === undefined ? [] : ([["too small", minimum - 1]] as const)),
    ...(maximum === undefined ? [] : ([["too large", maximum + 1]] as const)),
    ...(minLength === undefined || minLength === 0 ? [] : ([["too short", "a".repeat(minLength - 1)]] as const)),
    ...(maxLength === undefined || maxLength > longestText ? [] : ([["too long", "a".repeat(maxLength + 1)]] as const)),
    ...(minItems === undefined || minItems === 0
      ? []
      : ([["too few", Array(minItems - 1).fill(item) as unknown[]]] as const)),
    ...(maxItems === undefined || maxItems > longestList
      ? []
      : ([["too many", Array(maxItems + 1).fill(item) as unknown[]]] as const)),
  ];
}

function edgeValues(schema: JsonSchema, right: unknown): (readonly [what: string, value: unknown])[] {
  const { minimum, maximum, maxLength, maxItems } = schema as Record<string, number | undefined>;
  const item = Array.isArray(right) ? (right[0] as unknown) : "a";
  const listed = (schema["enum"] ?? (schema["type"] === "boolean" ? [true, false] : [])) as readonly unknown[];
  return [
    ...listed.map((value) => [String(value), value] as const),
    ...(minimum === undefined ? [] : ([["the smallest", minimum]] as const)),
    ...(maximum === undefined ? [] : ([["the largest", maximum]] as const)),
    ...(maxLength === undefined || maxLength > longestText ? [] : ([["the longest", "a".repeat(maxLength)]] as const)),
    ...(maxItems === undefined || maxItems > longestList
      ? []
      : ([["the most", Array(maxItems).fill(item) as unknown[]]] as const)),
  ];
}

/** By its type alone. */
function allows(schema: JsonSchema, value: unknown): boolean {
  return optionsOf(schema).some((option) => {
    if (Array.isArray(option["enum"])) return option["enum"].includes(value);
    if ("const" in option) return option["const"] === value;
    const types = [option["type"]].flat() as (string | undefined)[];
    return types.some((type) => type === undefined || isOfType(type, value));
  });
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

const valueAt = (example: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, part) => (value as Record<string | number, unknown> | undefined)?.[part], example);

function changed(what: string, example: Example, { path, value }: { path: Path; value: unknown }): Variant {
  const copy = structuredClone(example) as Record<string | number, unknown>;
  const holder = valueAt(copy, path.slice(0, -1)) as Record<string | number, unknown>;
  if (value === undefined) delete holder[path.at(-1)!];
  else holder[path.at(-1)!] = value;
  return { what, text: JSON.stringify(copy) };
}

// What is wrong with a value that a schema refuses, in words that both a person and a model can act on:
// "options.depth: must be a number, not a text; and 2 more". Words that the schema's author chose are kept.
import { z } from "zod";
import { cleanSummary } from "../thread/summary.js";

type Issue = z.core.$ZodRawIssue;

/** How many problems are told; the others are counted. */
const shownProblems = 3;
const shownValues = 10;
const shownPathUnits = 80;
/** A whole message, in UTF-16 units. */
const messageUnits = 500;

export type SchemaCheck<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly message: string };

/**
 * The value as the schema makes it, or what is wrong with it: one line. `whole` is what the value itself is called. Never throws:
 * a schema that cannot decide refuses.
 */
export function checkAgainst<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
): SchemaCheck<z.output<Schema>> {
  try {
    const checked = z.safeParse(schema, value, context);
    if (checked.success) return { ok: true, value: checked.data };
    return { ok: false, message: listed(checked.error.issues, whole) };
  } catch (reason) {
    const why = reason instanceof Error ? reason.message : "unknown error";
    return { ok: false, message: line(`${whole}: cannot be checked, because the tool's schema fails (${why})`) };
  }
}

// `async` is what zod itself adds to a copy of it. An object that gets a new field after a spread has a shape of its own in V8, and
// whatever looks at it afterwards is slow.
const context = { error: (issue: Issue) => wordsOf(issue), async: false };

function listed(issues: readonly z.core.$ZodIssue[], whole: string): string {
  const told = issues.slice(0, shownProblems).map(({ path, message }) => `${dotted(path, whole)}: ${message}`);
  const rest = issues.length - told.length;
  return line([...told, ...(rest === 0 ? [] : [`and ${rest} more`])].join("; "));
}

const line = (text: string): string => cleanSummary(text, messageUnits);

/** `options[0].depth`, as people write a path. */
function dotted(path: readonly PropertyKey[], whole: string): string {
  const text = path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index === 0 ? "" : "."}${cut(String(part))}`))
    .join("");
  return text === "" ? whole : cut(text);
}

const cut = (text: string): string => (text.length <= shownPathUnits ? text : `${text.slice(0, shownPathUnits)}…`);

/** For issues whose author gave no words. Undefined: zod's own. */
function wordsOf(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return mustBe(typeWords(issue.expected), issue.input);
    case "invalid_value":
      return issue.values.some((value) => typeof value === typeof issue.input)
        ? `must be ${anyOf(issue.values)}`
        : mustBe(anyOf(issue.values), issue.input);
    case "too_small":
      return `must ${sizeWords(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)}`;
    case "too_big":
      return `must ${sizeWords(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_format":
      return issue.format === "regex" ? `must match the pattern ${issue.pattern}` : `must be a valid ${issue.format}`;
    case "unrecognized_keys":
      return `has unknown fields (${issue.keys.slice(0, shownProblems).map(cut).join(", ")}); leave them out`;
    case "invalid_union":
      return unionWords(issue);
    case "invalid_key":
      return "has a field name that is not allowed";
    case "custom":
      return "is not allowed here";
    default:
      return undefined;
  }
}

function mustBe(rule: string, input: unknown): string {
  return input === undefined ? `is missing, must be ${rule}` : `must be ${rule}, not ${valueWords(input)}`;
}

/** Alternatives that only want another type are told together; others fit too many ways to be told in a line. */
function unionWords(issue: Extract<Issue, { code: "invalid_union" }>): string {
  if (issue.discriminator !== undefined && issue.options !== undefined)
    return `must be ${anyOf(issue.options as readonly z.core.util.Primitive[])}`;
  const types = issue.errors.map(([first, ...more]) =>
    first?.code === "invalid_type" && first.path.length === 0 && more.length === 0
      ? typeWords(first.expected)
      : undefined,
  );
  if (types.length === 0 || types.includes(undefined)) return "fits none of the forms that are allowed here";
  return mustBe([...new Set(types)].join(" or "), issue.input);
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  undefined: "left out",
  never: "left out",
  nonoptional: "given",
};

const typeWords = (expected: string): string => typeNames[expected] ?? expected;

function valueWords(value: unknown): string {
  if (value === null || typeof value === "boolean" || Number.isNaN(value)) return String(value);
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  if (Array.isArray(value)) return "a list";
  return typeNames[typeof value] ?? typeof value;
}

function anyOf(values: readonly z.core.util.Primitive[]): string {
  const told = values
    .slice(0, shownValues)
    .map((value) => (typeof value === "string" ? `"${cut(value)}"` : String(value)));
  return [...told, ...(values.length > told.length ? ["…"] : [])].join(" or ");
}

function sizeWords(origin: string, bound: string, size: number | bigint): string {
  if (origin === "string") return `have ${bound} ${size} ${size === 1 ? "character" : "characters"}`;
  if (["array", "set", "map"].includes(origin)) return `have ${bound} ${size} ${size === 1 ? "item" : "items"}`;
  return `be ${bound} ${size}`;
}

// JSON Schemas that strangers wrote (MCP servers, clients), as types that inputs and results are checked against. They are read
// and never compiled to code, and nothing in them may take for ever on some value, which would stop the server: patterns are never
// run, and a few schemas that refer to each other twice are given up. Whoever wrote them checks them again.
import { type Schema, Validator } from "@cfworker/json-schema";
import { z } from "zod";
import type { JsonSchema } from "./tool.js";

/** Contract: an input that the type refuses, the schema refuses. A schema that cannot be used allows everything. */
export function schemaType(schema: JsonSchema): z.ZodType {
  const looks = new Looks();
  const validator = validatorOf(bounded(schema, looks) as Schema);
  return z.unknown().superRefine((value, context) => {
    looks.begin();
    const problem = validator && problemOf(validator, value);
    if (problem) context.addIssue({ code: "custom", ...problem });
  });
}

/** Undefined for one that cannot be read, such as one with half a character in a name. */
function validatorOf(schema: Schema): Validator | undefined {
  try {
    return new Validator(schema, "2020-12");
  } catch {
    return undefined;
  }
}

interface Problem {
  readonly path: string[];
  readonly message: string;
}

/** The innermost one that was found first: what stands around it only says that something inside is wrong. */
function problemOf(validator: Validator, value: unknown): Problem | undefined {
  try {
    const { valid, errors } = validator.validate(value);
    if (valid) return undefined;
    const [inner = { instanceLocation: "#", error: "does not fit its schema" }] = errors
      .filter(({ keyword }) => !containers.has(keyword))
      .concat(errors);
    return { path: pathOf(inner.instanceLocation), message: inner.error.replace(/\.$/, "") };
  } catch {
    // A reference that leads nowhere, an unknown type, too many looks: not the input's fault.
    return undefined;
  }
}

const containers: ReadonlySet<string> = new Set(["properties", "items", "$ref", "allOf", "additionalProperties"]);

/** `#/a/0` → a, 0. */
const pathOf = (location: string): string[] =>
  location
    .split("/")
    .slice(1)
    .map((part) => decoded(part).replaceAll("~1", "/").replaceAll("~0", "~"));

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Schemas inside one another. What is deeper is taken as allowing everything. */
const deepest = 64;

/** For one value: half a second or so. Forty small schemas can ask for more than there is time. */
const mostLooks = 200_000;

/** How often schemas were looked at for one value. */
class Looks {
  #left = 0;

  begin(): void {
    this.#left = mostLooks;
  }

  /** The validator reads every keyword of a schema each time that it comes to it: this one counts. */
  count(schema: object): object {
    const { $recursiveAnchor: value } = schema as JsonSchema;
    const get = (): unknown => {
      if (--this.#left < 0) throw new Error("the schema asks for too much");
      return value;
    };
    return Object.defineProperty(schema, "$recursiveAnchor", { get, enumerable: false });
  }
}

function bounded(schema: unknown, looks: Looks, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  if (depth > deepest) return {};
  if (Array.isArray(schema)) return schema.map((inner) => bounded(inner, looks, depth + 1));
  const named = "patternProperties" in schema;
  return looks.count(
    Object.fromEntries(
      Object.entries(schema)
        .filter(([key, value]) => !isEndless(key, value) && !(named && closing.has(key)))
        .map(([key, value]) => [key, literal.has(key) ? value : bounded(value, looks, depth + 1)]),
    ),
  );
}

/** A property may be called `pattern`, too: its value is then a schema. */
const isEndless = (key: string, value: unknown): boolean =>
  (key === "pattern" && typeof value === "string") ||
  (key === "uniqueItems" && typeof value === "boolean") ||
  (key === "format" && typeof value === "string") ||
  key === "patternProperties";

/** What they say of other properties holds only beside the patterns. */
const closing: ReadonlySet<string> = new Set(["additionalProperties", "unevaluatedProperties"]);
const literal: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

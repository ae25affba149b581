// The tools that agents are offered, by name, each with the JSON Schema that models and clients see. What could not work is
// refused here, at the start, and not when a model first tries it.
import { z } from "zod";
import { HeddleError } from "../thread/errors.js";
import type { JsonSchema, ToolDefinition } from "./tool.js";

export type { JsonSchema };

interface Entry {
  readonly tool: ToolDefinition;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
}

export class ToolRegistry {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #list: readonly ToolDefinition[];
  readonly #names: ReadonlySet<string>;

  /** Contract: `invalid_config` when two tools have one name, or a schema cannot be shown to a model. */
  constructor(tools: readonly ToolDefinition[]) {
    const entries = new Map<string, Entry>();
    for (const tool of tools.toSorted(byName)) {
      const other = entries.get(tool.name)?.tool;
      if (other !== undefined) throw refused(`Two tools are called "${tool.name}": ${both(other, tool)}; rename one`);
      entries.set(tool.name, entryOf(tool));
    }
    this.#entries = entries;
    this.#list = Object.freeze([...entries.values()].map(({ tool }) => tool));
    this.#names = new Set(entries.keys());
  }

  get(name: string): ToolDefinition | undefined {
    return this.#entries.get(name)?.tool;
  }

  /** In order of their names. */
  list(): readonly ToolDefinition[] {
    return this.#list;
  }

  names(): ReadonlySet<string> {
    return this.#names;
  }

  /** What the model must write. Contract: the name is one of `names()`. */
  inputSchema(name: string): JsonSchema {
    return this.#entry(name).inputSchema;
  }

  /** What the result looks like. Contract: the name is one of `names()`. */
  outputSchema(name: string): JsonSchema {
    return this.#entry(name).outputSchema;
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new HeddleError("internal", "a schema was asked for of a tool that is not offered");
    return entry;
  }
}

const byName = (a: ToolDefinition, b: ToolDefinition): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

const both = (one: ToolDefinition, other: ToolDefinition): string =>
  [one, other].map(({ title, kind }) => `"${title}" (${kind})`).join(" and ");

/** Runs that may not use all tools have a registry each: what was worked out of a tool is kept with it. */
const known = new WeakMap<ToolDefinition, Entry>();

function entryOf(tool: ToolDefinition): Entry {
  const entry = known.get(tool) ?? newEntry(tool);
  known.set(tool, entry);
  return entry;
}

function newEntry(tool: ToolDefinition): Entry {
  const inputSchema = jsonSchemaOf(tool, "input");
  if (inputSchema["type"] !== "object")
    throw refused(`The tool "${tool.name}": input must be an object; wrap it as z.object({ … })`);
  const properties = (inputSchema["properties"] ?? {}) as JsonSchema;
  const unknown = tool.textFields?.find(({ field }) => !Object.hasOwn(properties, field));
  if (unknown !== undefined)
    throw refused(`The tool "${tool.name}": textFields names "${unknown.field}", which is no field of its input`);
  return { tool, inputSchema, outputSchema: jsonSchemaOf(tool, "output") };
}

function jsonSchemaOf(tool: ToolDefinition, io: "input" | "output"): JsonSchema {
  if (tool.schemas) return tool.schemas[io];
  try {
    return deepFreeze(z.toJSONSchema(tool[io], { target: "draft-2020-12", io }) as JsonSchema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "unknown error";
    throw refused(
      `The tool "${tool.name}": ${io} has no JSON Schema (${why}); use texts, numbers, lists and objects`,
      cause,
    );
  }
}

const refused = (message: string, cause?: unknown): HeddleError =>
  new HeddleError("invalid_config", message, { detail: { field: "agent.tools" }, cause });

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value); // Before its children: a schema may hold itself.
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

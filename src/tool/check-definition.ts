// Is a value a tool? Asked of what an author defines and of what an operator's module exports: types are gone by then.
import type { Kind, Phase, Policy, ToolDefinition } from "./tool.js";

const nameShape = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const longestTimeoutMs = 24 * 3_600_000;
const longestShownUnits = 80;

const kinds: Record<Kind, true> = {
  read: true,
  edit: true,
  delete: true,
  move: true,
  search: true,
  execute: true,
  think: true,
  fetch: true,
  other: true,
};

const phases: Record<Phase, true> = { searching: true, interpreting: true, connecting: true, waiting: true };
const policies: Record<Policy, true> = { allow: true, ask: true, deny: true };

/** What keeps the value from being a tool, and what is right instead: one line. Undefined when nothing does. */
export function definitionProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null)
    return `A tool must be an object made with defineTool, not ${shown(value)}`;
  const tool = value as Partial<Record<keyof ToolDefinition, unknown>>;
  if (typeof tool.name !== "string" || !nameShape.test(tool.name))
    return `The tool name ${shown(tool.name)} must be 1 to 64 characters of a-z 0-9 _ -, the first a letter or a digit`;
  const broken = Object.entries(rules).find(([key, { holds }]) => !holds(tool[key as keyof typeof rules]));
  return broken && `The tool "${tool.name}": ${broken[0]} must be ${broken[1].is}`;
}

interface Rule {
  readonly is: string;
  holds(value: unknown): boolean;
}

const text: Rule = { is: "text that is not empty", holds: (value) => typeof value === "string" && /\S/.test(value) };

// By shape and not by class: a module may bring a copy of zod of its own.
const schema: Rule = {
  is: "a schema of zod 4",
  holds: (value) => isObject(value) && isObject(value["_zod"]) && typeof value["_zod"]["run"] === "function",
};

const method: Rule = { is: "a function", holds: (value) => typeof value === "function" };
const orNothing = ({ is, holds }: Rule): Rule => ({ is, holds: (value) => value === undefined || holds(value) });

const yesOrNo: Rule = { is: "true or false", holds: (value) => typeof value === "boolean" };

function oneOf(values: Readonly<Record<string, true>>): Rule {
  return {
    is: `one of ${Object.keys(values).join(", ")}`,
    holds: (value) => typeof value === "string" && Object.hasOwn(values, value),
  };
}

/** In the order in which they are told. */
const rules: Record<Exclude<keyof ToolDefinition, "name">, Rule> = {
  title: text,
  description: text,
  kind: oneOf(kinds),
  input: schema,
  output: schema,
  schemas: orNothing({
    is: "two JSON Schemas, { input, output }",
    holds: (value) => isObject(value) && isObject(value["input"]) && isObject(value["output"]),
  }),
  origin: orNothing({
    is: '{ kind: "mcp", serverLabel, toolName } or { kind: "client", name }',
    holds: (value) => isObject(value) && ["mcp", "client"].includes(value["kind"] as string),
  }),
  textFields: orNothing({
    is: 'a list of { field, purpose: "speech" or "code" }',
    holds: (value) => Array.isArray(value) && value.every(isTextField),
  }),
  timeoutMs: orNothing({
    is: `a whole number from 1 to ${longestTimeoutMs}`,
    holds: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= longestTimeoutMs,
  }),
  policy: orNothing(oneOf(policies)),
  phase: orNothing(oneOf(phases)),
  isolation: orNothing(text),
  onlyLooks: orNothing(yesOrNo),
  delegates: orNothing(yesOrNo),
  describe: method,
  run: method,
  preview: orNothing(method),
  toModel: orNothing(method),
};

const isTextField = (value: unknown): boolean =>
  isObject(value) && typeof value["field"] === "string" && ["speech", "code"].includes(value["purpose"] as string);

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Cut before it is quoted: what stands in a message is short, and one line. */
function shown(value: unknown): string {
  if (typeof value !== "string") return value === null ? "null" : typeof value;
  return JSON.stringify(value.length > longestShownUnits ? `${value.slice(0, longestShownUnits)}…` : value);
}

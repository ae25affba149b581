// A tool that a client runs, as the loop sees it: described and checked like any other, and never run here.
import { z } from "zod";
import { type ClientTool, ToolKind, ToolPolicy } from "../../thread/schema.js";
import { cleanSummary } from "../../thread/summary.js";
import { firstWords } from "../first-words.js";
import { schemaType } from "../json-schema.js";
import type { JsonSchema, Kind, Policy, ToolDefinition } from "../tool.js";

/** Contract: the declaration was checked (check-client-tool.ts). `clientName`: what whoever offers it calls itself; may be empty. */
export function clientTool(declared: ClientTool, clientName: string): ToolDefinition {
  const { name, description, summaryTemplate } = declared;
  const title = cleanSummary(declared.title) || name;
  const input = parsedSchema(declared.inputSchemaJson) ?? anyObject;
  const output = parsedSchema(declared.outputSchemaJson) ?? {};
  const policy = policies[declared.policy];
  return {
    name,
    title,
    description: description || title,
    kind: kinds[declared.kind] ?? "other",
    input: schemaType(input),
    output: z.unknown(),
    schemas: { input, output },
    origin: { kind: "client", name: clientName },
    ...(policy && { policy }),
    describe: (input) => (summaryTemplate ? filledIn(summaryTemplate, input) : `${title}${firstWords(input)}`),
    run: () => Promise.reject(new Error("a client runs this tool")),
  };
}

const anyObject: JsonSchema = { type: "object" };

/** Undefined for what is no object: it was refused when it was declared. */
export function parsedSchema(json: string): JsonSchema | undefined {
  try {
    const schema: unknown = json === "" ? undefined : JSON.parse(json);
    return typeof schema === "object" && schema !== null && !Array.isArray(schema) ? (schema as JsonSchema) : undefined;
  } catch {
    return undefined;
  }
}

/** `Open {url}` with the input's `url`. What is no text or number is left out. */
const filledIn = (template: string, input: unknown): string =>
  template.replace(/\{([\w-]{1,64})\}/g, (_, field: string) => {
    const value = isObject(input) && Object.hasOwn(input, field) ? input[field] : undefined;
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  });

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const kinds: Readonly<Partial<Record<ToolKind, Kind>>> = {
  [ToolKind.READ]: "read",
  [ToolKind.EDIT]: "edit",
  [ToolKind.DELETE]: "delete",
  [ToolKind.MOVE]: "move",
  [ToolKind.SEARCH]: "search",
  [ToolKind.EXECUTE]: "execute",
  [ToolKind.THINK]: "think",
  [ToolKind.FETCH]: "fetch",
};

const policies: Readonly<Partial<Record<ToolPolicy, Policy>>> = {
  [ToolPolicy.ALLOW]: "allow",
  [ToolPolicy.ASK]: "ask",
  [ToolPolicy.DENY]: "deny",
};

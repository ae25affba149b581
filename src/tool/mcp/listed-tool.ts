// One entry of a server's list: whether it can be a tool at all. What cannot is left out, and said.
import { utf8Bytes } from "../../thread/text.js";
import type { JsonSchema } from "../tool.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";

export interface ListedTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /** Of `structuredContent`. */
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations?: unknown;
}

const longestName = 256;

/** The tool, or why it cannot be used: words that name it. */
export function listedTool(entry: unknown): ListedTool | string {
  if (!isObject(entry) || typeof entry["name"] !== "string" || entry["name"].trim() === "")
    return "a tool without a name";
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = entry;
  const named = (why: string): string => `${oneLine(name as string).slice(0, longestName)}: ${why}`;
  if ((name as string).length > longestName) return named("its name is too long");
  if (!isObject(inputSchema)) return named("it has no input schema");
  if ((inputSchema["type"] ?? "object") !== "object") return named("its input is no object");
  if (isTooLarge(inputSchema) || isTooLarge(outputSchema)) return named("its schemas are too large");
  if (isObject(execution) && execution["taskSupport"] === "required") return named("it can only be run as a task");
  return {
    name: name as string,
    title,
    description: typeof description === "string" ? description.slice(0, bounds.descriptionUnits) : "",
    inputSchema: { ...inputSchema, type: "object" },
    outputSchema: isObject(outputSchema) ? outputSchema : undefined,
    annotations,
  };
}

const isTooLarge = (schema: unknown): boolean =>
  schema !== undefined && utf8Bytes(JSON.stringify(schema)) > bounds.schemaBytes;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// A call that the demo would make, and whether the request lets it.
import type { ModelRequest, ModelTool } from "../model.js";

export interface PlannedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The request lets the tool be used, and that takes what the demo would write: another one may have the same name. */
export function isOffered({ tools, toolChoice }: ModelRequest, { tool, input }: PlannedCall): boolean {
  if (toolChoice.type === "none") return false;
  const offered = tools.find(({ name }) => name === tool);
  return offered !== undefined && takes(offered, input);
}

function takes({ inputSchema }: ModelTool, input: PlannedCall["input"]): boolean {
  const { properties = {}, required = [], additionalProperties = true } = inputSchema as ObjectSchema;
  return (
    required.every((field) => field in input) &&
    Object.entries(input).every(([field, value]) => {
      const schema = properties[field];
      if (schema === undefined) return additionalProperties !== false;
      return schema.type === undefined || schema.type === (Array.isArray(value) ? "array" : typeof value);
    })
  );
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

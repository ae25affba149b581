// Whether what a client declares can be a tool. What cannot is refused whole, with the field that is wrong.
import { invalidField } from "../../thread/errors.js";
import { limits } from "../../thread/limits.js";
import { type ClientTool, ToolKind, ToolPolicy } from "../../thread/schema.js";
import { utf8Bytes } from "../../thread/text.js";
import { parsedSchema } from "./client-tool.js";

const nameShape = /^[a-zA-Z0-9_-]{1,64}$/;

/** Throws `invalid_field`. `field`: where the list stands in the request. */
export function checkClientTools(tools: readonly ClientTool[], field: string): void {
  const { perOffer } = limits.clientTools;
  if (tools.length > perOffer) throw invalidField(field, `may have at most ${perOffer} entries`);
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const fault = faultOf(tool);
    if (fault) throw invalidField(`${field}[${index}].${fault.field}`, fault.rule);
    if (names.has(tool.name)) throw invalidField(`${field}[${index}].name`, "must not be there twice");
    names.add(tool.name);
  }
}

interface Fault {
  readonly field: string;
  readonly rule: string;
}

function faultOf(tool: ClientTool): Fault | undefined {
  const { descriptionBytes, schemaBytes, templateUnits } = limits.clientTools;
  if (!nameShape.test(tool.name)) return { field: "name", rule: "must be 1 to 64 characters of a-z A-Z 0-9 _ -" };
  if (tool.name.startsWith("mcp__")) return { field: "name", rule: "must not begin with mcp__" };
  if (utf8Bytes(tool.description) > descriptionBytes)
    return { field: "description", rule: `may have at most ${descriptionBytes} bytes` };
  if (ToolKind[tool.kind] === undefined) return { field: "kind", rule: "must be a value that this server knows" };
  if (ToolPolicy[tool.policy] === undefined) return { field: "policy", rule: "must be a value that this server knows" };
  if (tool.summaryTemplate.length > templateUnits)
    return { field: "summary_template", rule: `may have at most ${templateUnits} UTF-16 units` };
  return (
    schemaFault("input_schema_json", tool.inputSchemaJson, schemaBytes) ??
    schemaFault("output_schema_json", tool.outputSchemaJson, schemaBytes) ??
    inputTypeFault(tool.inputSchemaJson)
  );
}

function schemaFault(field: string, json: string, most: number): Fault | undefined {
  if (json === "") return undefined;
  if (utf8Bytes(json) > most) return { field, rule: `may have at most ${most} bytes` };
  return parsedSchema(json) ? undefined : { field, rule: "must be a JSON Schema: the JSON text of an object" };
}

/** What no model's provider takes. */
function inputTypeFault(json: string): Fault | undefined {
  const type = parsedSchema(json)?.["type"] ?? "object";
  return type === "object" ? undefined : { field: "input_schema_json", rule: 'must have "type": "object"' };
}

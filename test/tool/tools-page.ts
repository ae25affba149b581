// The part of docs/tools.md that is drawn from the definitions: a table of the built-in tools, between two marks.
import { policyOf } from "../../src/tool/policy.js";
import { type JsonSchema, ToolRegistry } from "../../src/tool/registry.js";
import type { ToolDefinition } from "../../src/tool/tool.js";

const begin =
  "<!-- Drawn from src/tool/builtin by `UPDATE_GOLDEN=1 npx vitest run test/tool/tools-page.test.ts`: do not edit to the next mark. -->";
const end = "<!-- The end of what is drawn. -->";

/** The page with everything that people wrote, and the table drawn again. */
export function drawToolsPage(page: string, tools: readonly ToolDefinition[]): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error("docs/tools.md has lost the marks around its table");
  return `${page.slice(0, from)}${begin}\n\n${drawTable(tools)}\n\n${page.slice(to)}`;
}

function drawTable(tools: readonly ToolDefinition[]): string {
  const registry = new ToolRegistry(tools);
  const rows = registry.list().map((tool) => {
    const takes = fieldsOf(registry.inputSchema(tool.name)).join("<br>");
    const policy = policyOf(tool, { policy: {}, trusted: false });
    return `| \`${tool.name}\` | ${plain(tool.title)} | ${tool.kind} | ${policy} | ${plain(tool.description)} | ${takes} |`;
  });
  return [
    "| name | title | kind | policy | what it does | what it takes |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

/** `path`, `limit?`: a word about each. */
function fieldsOf(schema: JsonSchema): string[] {
  const required = (schema["required"] ?? []) as string[];
  return Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description }]) => `\`${name}${required.includes(name) ? "" : "?"}\`: ${plain(description as string)}`,
  );
}

/** Shown as it is, in one cell. */
const plain = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[|*_<\\]/g, (mark) => (mark === "<" ? "&lt;" : `\\${mark}`));

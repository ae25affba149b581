// The tools that a caller names: naming one is the caller's consent that it runs.

import type { BroughtServer } from "../../brought-servers.js";
import { mcpPrefix, toolNames } from "../../responses.js";
import { ownLabel } from "./call-shapes.js";
import { wrong } from "./errors.js";
import type { RequestedTool } from "./request-shape.js";

/** A tool that was named, and the names that the loop knows it by; `*` stands for all that begin so. */
export interface NamedTool {
  readonly tool: RequestedTool;
  readonly names: readonly string[];
}

export interface AskedTools {
  readonly named: readonly NamedTool[];
  readonly allowed: string[];
  readonly approved: string[];
  readonly guarded: string[];
  readonly functions: { name: string; description: string; inputSchemaJson: string }[];
  readonly servers: BroughtServer[];
}

const hosted = ["web_search", "file_search", "code_interpreter"] as const;

/** A hosted tool by any of its names. */
export const hostedName = (type: string): (typeof hosted)[number] | "" =>
  hosted.find((name) => type.startsWith(name)) ?? "";

export function toolsOf(
  tools: readonly RequestedTool[],
  offered: { readonly tools: readonly string[]; readonly servers: readonly string[] },
): AskedTools {
  const named: NamedTool[] = [];
  const asked: AskedTools = { named, allowed: [], approved: [], guarded: [], functions: [], servers: [] };
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]`;
    const before = asked.allowed.length;
    if (tool.type === "function") addFunction(asked, tool);
    else if (tool.type === "mcp") addServer(asked, tool, { param, offered: offered.tools, servers: offered.servers });
    else addHosted(asked, hostedName(tool.type), { param, offered: offered.tools });
    named.push({ tool, names: asked.allowed.slice(before) });
  }
  return asked;
}

function addFunction(asked: AskedTools, tool: Extract<RequestedTool, { type: "function" }>): void {
  asked.allowed.push(tool.name);
  const schema = { type: "object", ...tool.parameters };
  asked.functions.push({
    name: tool.name,
    description: tool.description ?? tool.name,
    inputSchemaJson: JSON.stringify(schema),
  });
}

interface Around {
  readonly param: string;
  readonly offered: readonly string[];
}

function addHosted(asked: AskedTools, name: string, { param, offered }: Around): void {
  if (!offered.includes(name)) throw wrong(param, `This server does not offer ${name}.`, "unsupported_tool");
  asked.allowed.push(name);
  asked.approved.push(name);
}

function addServer(
  asked: AskedTools,
  tool: McpTool,
  { param, offered, servers }: Around & { readonly servers: readonly string[] },
): void {
  const { server_label: label, server_url: url } = tool;
  const isOwn = isOwnServer(tool);
  if (isOwn && url)
    throw wrong(`${param}.server_label`, `'${ownLabel}' is this server itself: give another label to a server_url.`);
  if (!isOwn && !url && !servers.includes(label))
    throw wrong(`${param}.server_url`, `This server knows no MCP server ${label}: give its server_url.`);
  const names = Array.isArray(tool.allowed_tools) ? tool.allowed_tools : tool.allowed_tools?.tool_names;
  const own = offered.filter((name) => !hosted.some((other) => other === name));
  const all = isOwn ? own : [`${mcpPrefix(label)}*`];
  const unknown = isOwn ? names?.find((name) => !own.includes(name)) : undefined;
  if (unknown !== undefined) throw wrong(`${param}.allowed_tools`, `There is no tool ${unknown.slice(0, 64)}.`);
  asked.allowed.push(...(names ? knownNames(tool, names) : all));
  const approval = tool.require_approval ?? (isOwn ? undefined : "always");
  if (approval === "always") asked.guarded.push(...all);
  else if (approval === "never") asked.approved.push(...(isOwn ? [] : all));
  else if (approval) {
    asked.guarded.push(...knownNames(tool, approval.always?.tool_names ?? []));
    if (!isOwn) {
      // Whoever names those that need no yes is asked for all the others, whatever the server says of them.
      asked.guarded.push(...all);
      asked.approved.push(...knownNames(tool, approval.never?.tool_names ?? []));
    }
  }
  if (url) asked.servers.push({ label, url, headers: headersOf(tool) });
}

type McpTool = Extract<RequestedTool, { type: "mcp" }>;

const isOwnServer = ({ server_label }: McpTool): boolean => server_label === ownLabel;

/** By the names that the loop knows them by. */
const knownNames = (tool: McpTool, names: readonly string[]): readonly string[] =>
  isOwnServer(tool) ? names : [...toolNames(tool.server_label, names).values()];

/** Tools of a server by the server's own names. */
export const namesOf = ({ tool }: NamedTool, names: readonly string[]): readonly string[] =>
  tool.type === "mcp" ? knownNames(tool, names) : names;

const headersOf = ({ headers, authorization }: McpTool): Record<string, string> => ({
  ...headers,
  ...(authorization && { authorization: `Bearer ${authorization}` }),
});

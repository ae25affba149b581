// Whether a call goes ahead by itself. The configuration's word for a tool comes first, then its word for the tool's MCP server,
// then the tool's own, then its kind's: what only looks, thinks or talks is allowed; what changes things, starts programs or
// reaches out of the machine is asked for, unless the operator has said that the workspace may be trusted with it.
import { createHash } from "node:crypto";
import type { Kind, Policy, ToolDefinition } from "./tool.js";

export interface PolicySettings {
  /** By tool name; `mcp__label__*` stands for all tools of an MCP server. */
  readonly policy: Readonly<Record<string, Policy>>;
  /** The workspace may be changed, and commands run in it, without asking. */
  readonly trusted: boolean;
}

const byKind: Readonly<Record<Kind, Policy>> = {
  read: "allow",
  search: "allow",
  think: "allow",
  other: "allow",
  edit: "ask",
  move: "ask",
  delete: "ask",
  execute: "ask",
  fetch: "ask",
};

/** Kinds that work on the workspace: trust in it covers them. */
const ofWorkspace: ReadonlySet<Kind> = new Set(["edit", "move", "delete", "execute"]);

export function policyOf(
  tool: Pick<ToolDefinition, "name" | "kind" | "policy" | "origin">,
  settings: PolicySettings,
): Policy {
  const configured = configuredPolicy(tool, settings);
  if (configured) return configured;
  const { kind, policy, origin } = tool;
  const own = policy ?? byKind[kind];
  // What runs elsewhere does not work on this workspace.
  return own === "ask" && settings.trusted && !origin && ofWorkspace.has(kind) ? "allow" : own;
}

/** What the configuration says of a tool, by its name or by its server's. */
export function configuredPolicy(
  { name, origin }: Pick<ToolDefinition, "name" | "origin">,
  { policy }: PolicySettings,
): Policy | undefined {
  if (Object.hasOwn(policy, name)) return policy[name];
  if (origin?.kind !== "mcp") return undefined;
  const all = `${mcpPrefix(origin.serverLabel)}*`;
  return Object.hasOwn(policy, all) ? policy[all] : undefined;
}

/** What the names of a server's tools begin with: short enough to leave room for the tool's own. */
export function mcpPrefix(serverLabel: string): string {
  const plain = serverLabel.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (plain.length <= longestLabel) return `mcp__${plain}__`;
  const hash = createHash("sha256").update(serverLabel).digest("hex").slice(0, hashUnits);
  return `mcp__${plain.slice(0, longestLabel - hashUnits - 1)}_${hash}__`;
}

const longestLabel = 32;
const hashUnits = 8;

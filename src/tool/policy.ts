// Whether a call goes ahead by itself. The configuration's word for a tool comes first, then the tool's own, then its kind's:
// what only looks, thinks or talks is allowed; what changes things, starts programs or reaches out of the machine is asked
// for, unless the operator has said that the workspace may be trusted with it.
import type { Kind, Policy, ToolDefinition } from "./tool.js";

export interface PolicySettings {
  /** By tool name. */
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
  { name, kind, policy }: Pick<ToolDefinition, "name" | "kind" | "policy">,
  settings: PolicySettings,
): Policy {
  const configured = Object.hasOwn(settings.policy, name) ? settings.policy[name] : undefined;
  if (configured) return configured;
  const own = policy ?? byKind[kind];
  return own === "ask" && settings.trusted && ofWorkspace.has(kind) ? "allow" : own;
}

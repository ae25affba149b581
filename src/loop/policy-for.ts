// What becomes of a tool's calls in one run: the server's word, and what its caller may say to it.
import { ApprovalMode } from "../thread/schema.js";
import type { Policy, ToolDefinition } from "../tool/tool.js";
import type { Run } from "./run.js";
import { isNamed } from "./tool-names.js";

/** The caller may be stricter than the server, and says yes beforehand where the configuration has not said otherwise. */
export function policyFor({ approvals, options }: Pick<Run, "approvals" | "options">, tool: ToolDefinition): Policy {
  const policy = approvals.policyOf(tool);
  if (policy === "deny") return policy;
  if (isGuarded(options, tool.name)) return "ask";
  return !approvals.isConfigured(tool) && isNamed(options.approvedTools, tool.name) ? "allow" : policy;
}

/** One that is approved by its own name is not meant by a `*` that guards the others. */
const isGuarded = ({ guardedTools, approvedTools }: Run["options"], name: string): boolean =>
  guardedTools.includes(name) || (isNamed(guardedTools, name) && !approvedTools.includes(name));

/** As things stand, a person is going to be asked. */
export const willAsk = (run: Pick<Run, "approvals" | "options">, tool: ToolDefinition): boolean =>
  policyFor(run, tool) === "ask" && run.options.approvalMode !== ApprovalMode.DENY;

// The tools as the API lists them: what each is, what becomes of its calls here, and how it is held in.
import { create } from "@bufbuild/protobuf";
import { type Tool, ToolPolicy, ToolSchema } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { type PolicySettings, policyOf } from "../tool/policy.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { Policy } from "../tool/tool.js";
import { wireKinds } from "./streamed-call.js";

/** In order of their names. */
export const listedTools = (registry: ToolRegistry, settings: PolicySettings): readonly Tool[] =>
  registry.list().map((tool) =>
    create(ToolSchema, {
      name: tool.name,
      title: tool.title,
      description: tool.description,
      kind: wireKinds[tool.kind],
      source: { source: { case: "builtIn", value: {} } },
      inputSchemaJson: JSON.stringify(registry.inputSchema(tool.name)),
      outputSchemaJson: JSON.stringify(registry.outputSchema(tool.name)),
      policy: wirePolicies[policyOf(tool, settings)],
      isolation: cleanSummary(tool.isolation ?? ""),
    }),
  );

const wirePolicies: Readonly<Record<Policy, ToolPolicy>> = {
  allow: ToolPolicy.ALLOW,
  ask: ToolPolicy.ASK,
  deny: ToolPolicy.DENY,
};

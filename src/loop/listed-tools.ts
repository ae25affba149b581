// The tools as the API lists them: what each is, what becomes of its calls here, and how it is held in.
import { create } from "@bufbuild/protobuf";
import { RunOptionsSchema, type Tool, ToolPolicy, ToolSchema } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { type PolicySettings, policyOf } from "../tool/policy.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { Policy } from "../tool/tool.js";
import { RunTools, type ThreadTools, type ToolSupply } from "./run-tools.js";
import { wireKinds, wireSource } from "./streamed-call.js";

/** Those that a run of the thread would have now: servers that were not asked yet are not asked. An empty id: of any thread. */
export function toolsOfThread(supply: ToolSupply, thread: ThreadTools, settings: PolicySettings): readonly Tool[] {
  const toolbox = new RunTools(supply, { thread, options: create(RunOptionsSchema), levelsBelow: 1 });
  for (const server of toolbox.servers()) if (server.offer) toolbox.use(server, server.offer);
  return listedTools(toolbox.registry, settings);
}

/** In order of their names. */
export const listedTools = (registry: ToolRegistry, settings: PolicySettings): readonly Tool[] =>
  registry.list().map((tool) =>
    create(ToolSchema, {
      name: tool.name,
      title: tool.title,
      description: tool.description,
      kind: wireKinds[tool.kind],
      source: wireSource(tool.origin),
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

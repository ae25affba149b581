// Builds an executor from the configuration: the built-in tools for files and commands, upon a workspace of its own.
import type { AgentConfig } from "./config.js";
import { Executor, type ExecutorParts } from "./executor/executor.js";
import { builtinTools } from "./tool/builtin/index.js";
import { ToolRegistry } from "./tool/registry.js";

/** What an executor can run. */
export const executorToolNames: readonly string[] = [
  "apply_patch",
  "delete_file",
  "edit_file",
  "gather",
  "git_diff",
  "glob_files",
  "grep_files",
  "list_directory",
  "move_file",
  "read_file",
  "run_command",
  "write_file",
];

export interface ExecutorSettings {
  readonly agent: AgentConfig;
  readonly workspace: string;
  /** Of `executorToolNames`. */
  readonly toolNames: readonly string[];
  /** Absolute paths that commands in a sandbox must not see. */
  readonly hidden: readonly string[];
}

/** Throws `invalid_config` when commands cannot be held in as they should be. */
export function composeExecutor(
  { agent, workspace, toolNames, hidden }: ExecutorSettings,
  rest: Omit<ExecutorParts, "tools" | "policy" | "settings">,
): Executor {
  const wanted = new Set(toolNames);
  const tools = builtinTools({ workspace, commands: { ...agent.commands, hidden } });
  const { toolTimeoutMs, quietMs, stopGraceMs } = agent;
  return new Executor({
    ...rest,
    tools: new ToolRegistry(tools.filter(({ name }) => wanted.has(name))),
    policy: agent,
    settings: { workspace, toolTimeoutMs, quietMs, stopGraceMs },
  });
}

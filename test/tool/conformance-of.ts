// The suite over one built-in tool. Those that start threads or programs take long, and have a file of their own.
import { describe } from "vitest";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { toolConformance } from "../conformance/tool.js";
import { hasGit } from "./command/support.js";
import type { ToolExample } from "./examples.js";

export const startsSomething: ReadonlySet<string> = new Set([
  "code_interpreter",
  "gather",
  "git_diff",
  "glob_files",
  "grep_files",
  "list_processes",
  "read_process_output",
  "run_command",
  "start_process",
  "stop_process",
  "web_fetch",
]);

const needsGit: ReadonlySet<string> = new Set(["gather", "git_diff"]);

/** A tool without an example is passed over: the test about examples names it. */
export function conformanceOf(tool: ToolDefinition, examples: Readonly<Record<string, ToolExample>>): void {
  const example = examples[tool.name];
  if (example === undefined) return;
  const isHere = !needsGit.has(tool.name) || hasGit();
  describe.skipIf(!isHere)(needsGit.has(tool.name) ? "with git (needs it)" : "everywhere", () =>
    toolConformance({ tool, ...example }),
  );
}

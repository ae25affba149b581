// A call of each built-in tool that succeeds in a sample workspace: what `toolConformance` starts from.
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolUnderTest } from "../conformance/tool.js";
import { commitAll } from "../support/git.js";

export type ToolExample = Omit<ToolUnderTest, "tool">;

/** Changes one file, makes another and deletes a third: abort may not leave some of it. */
const patch = `--- a/src/port.ts
+++ b/src/port.ts
@@ -1 +1 @@
-export const port = 8080;
+export const port = 9090;
--- /dev/null
+++ b/src/host.ts
@@ -0,0 +1 @@
+export const host = "127.0.0.1";
--- a/old.log
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
`;

/** Stands in the command line of a command that does not end. */
const mark = `heddle-endless-${randomUUID()}`;

export const examples: Readonly<Record<string, ToolExample>> = {
  clarify: { input: { question: "Which environment?", options: ["staging", "production"] } },
  inform_user: { input: { message: "Half of it is done." } },
  work_complete: { input: { summary: "All of it is done." } },
  think: { input: { thoughts: ["It may fail.", "It may not."] } },
  update_todos: {
    input: {
      items: [
        { content: "Read it", status: "completed" },
        { content: "Change it", status: "in_progress" },
      ],
    },
  },
  list_directory: { input: { path: "src" } },
  write_file: { input: { path: "docs/new.md", content: "# New\n" } },
  edit_file: { input: { path: "src/port.ts", old_text: "8080", new_text: "9090" } },
  apply_patch: { input: { patch } },
  move_file: { input: { from: "src/port.ts", to: "lib/port.ts" } },
  delete_file: { input: { path: "old.log" } },
  gather: { input: { command: "git status --short" }, prepare: commitAll },
  git_diff: {
    input: { revision: "HEAD" },
    prepare: async (workspace) => {
      await commitAll(workspace);
      await writeFile(join(workspace, "src/port.ts"), "export const port = 9090;\n");
    },
  },
  run_command: {
    input: { command: "grep -c port src/port.ts", timeout_seconds: 60, description: "Count" },
    endless: { input: { command: `sh -c 'echo ready; sleep 1000; : ${mark}' ${mark}` }, mark },
  },
};

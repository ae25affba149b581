// A call of each built-in tool that succeeds in a sample workspace: what `toolConformance` starts from.
import { execFile } from "node:child_process";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ToolUnderTest } from "../conformance/tool.js";
import { sampleId, startSample } from "./sample-processes.js";
import { endlessTask } from "./sample-sub-runs.js";
import { endlessWord, type SampleWeb } from "./sample-web.js";

export type ToolExample = Omit<ToolUnderTest, "tool">;

/** By name. A tool without one is a red test. */
export const examplesWith = (web: SampleWeb): Readonly<Record<string, ToolExample>> => ({
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
  read_file: { input: { path: "src/server.ts", offset: 1, limit: 10 } },
  glob_files: { input: { pattern: "**/*.ts", path: "." } },
  grep_files: {
    input: { pattern: "TODO", path: ".", glob: "*.ts" },
    endless: { input: { pattern: "^(a+)+$" }, prepare: slowToMatch },
  },
  write_file: { input: { path: "docs/new.md", content: "# New\n" } },
  edit_file: { input: { path: "src/port.ts", old_text: "8080", new_text: "9090" } },
  apply_patch: { input: { patch } },
  move_file: { input: { from: "src/port.ts", to: "lib/port.ts" } },
  delete_file: { input: { path: "old.log" } },
  gather: { input: { command: "git status --short" }, prepare: changedRepository },
  git_diff: { input: { revision: "HEAD", paths: ["src"] }, prepare: changedRepository },
  run_command: {
    input: { command: "printf 'hello\\n'", timeout_seconds: 60, description: "Says hello" },
    endless: { input: { command: `setsid sleep ${forEver} & sleep ${forEver} & echo begun; wait` }, mark: forEver },
  },
  start_process: { input: { command: "echo ready", description: "Says so" } },
  list_processes: { input: { include_ended: true }, prepare: startSample },
  read_process_output: { input: { process_id: sampleId, lines: 50, after: 0 }, prepare: startSample },
  stop_process: { input: { process_id: sampleId }, prepare: startSample },
  file_search: { input: { query: "late refunds", limit: 5 } },
  delegate_task: {
    input: { task: "review the plan", prompt: "Read plan.md, and say whether it is sound." },
    endless: { input: { task: "go on", prompt: endlessTask } },
  },
  code_interpreter: {
    input: { language: "javascript", code: 'console.log("hello"); writeFile("made.txt", "hello"); 6 * 7' },
    endless: { input: { language: "javascript", code: 'console.log("begun"); for (;;);' } },
  },
  web_search: {
    input: { query: "weaving" },
    endless: { input: { query: endlessWord }, begun: web.asked },
  },
  web_fetch: {
    input: { url: `${web.url}/weaving` },
    endless: { input: { url: `${web.url}/${endlessWord}` }, begun: web.asked },
  },
});

/** Seconds, and known from those of any other process. */
const forEver = `7${process.pid}.25`;

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

/** A line over which a regular expression that backtracks takes for ever. */
const slowToMatch = (workspace: string): Promise<void> =>
  appendFile(join(workspace, "slow.txt"), `${"a".repeat(60)}b\n`);

const run = promisify(execFile);

/** A repository with one commit, and a change since. */
async function changedRepository(workspace: string): Promise<void> {
  const env = { PATH: process.env["PATH"], HOME: workspace, GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=A", "-c", "user.email=a@b", ...args], { cwd: workspace, env });
  await git("init", "--quiet");
  await git("add", ".");
  await git("commit", "--quiet", "--message", "Begin");
  await appendFile(join(workspace, "src/port.ts"), "export const host = 1;\n");
}

// What the demo makes of words that ask for code, processes, documents and sub-agents, with tools that answer as the real ones do. The
// real ones are in test/e2e/sample-project.test.ts.
import { expect, test } from "vitest";
import type { ModelMessage, ModelRequest, ModelTool } from "../../src/model/model.js";
import { ask, callsOf, textOf } from "./demo-support.js";

const anything = { type: "object" };
const tools: readonly ModelTool[] = [
  ...["code_interpreter", "start_process", "list_processes", "read_process_output", "stop_process"],
  ...["file_search", "delegate_task", "grep_files", "list_directory", "inform_user"],
].map((name) => ({ name, description: "", inputSchema: anything }));

/** Every call with its input, and the last words. */
async function play(text: string, answers: Readonly<Record<string, string>>, given: Partial<ModelRequest> = {}) {
  const messages: ModelMessage[] = [{ role: "user", text }];
  const made: [string, unknown][] = [];
  for (;;) {
    const reply = await ask({ tools, ...given, messages });
    const calls = callsOf(reply);
    if (calls.length === 0) return { made, words: textOf(reply) };
    messages.push({ role: "assistant", text: textOf(reply), calls });
    for (const { id, name, input } of calls) {
      made.push([name, JSON.parse(input)]);
      const answer = answers[name] ?? "";
      messages.push({ role: "tool", callId: id, text: answer.replace(/^!/, ""), isError: answer.startsWith("!") });
    }
  }
}

test.each<[string, string, unknown]>([
  ["Run this Python: `print(2 ** 100)`", "code_interpreter", { language: "python", code: "print(2 ** 100)" }],
  [
    "Run some JavaScript ```js\n[1, 2].map(String)\n```",
    "code_interpreter",
    { language: "javascript", code: "[1, 2].map(String)" },
  ],
  ["Calculate 12 * (3 + 4)", "code_interpreter", { language: "python", code: "12 * (3 + 4)" }],
  ["Search my documents for `refund policy`", "file_search", { query: "refund policy" }],
  ["What do my documents say about late refunds?", "file_search", { query: "late refunds" }],
  ["Delegate: find the bug", "delegate_task", { task: "find the bug", prompt: "find the bug" }],
  ['Delegate "list the files"', "delegate_task", { task: "list the files", prompt: "list the files" }],
])("%j calls %s", async (text, tool, input) => {
  expect((await play(text, {})).made).toEqual([[tool, input]]);
});

test("a process is started, looked at, and left running", async () => {
  const { made, words } = await play("Start `npm run dev` in the background", {
    start_process: "Started process p3",
    read_process_output: "ready on 3000",
  });
  expect(made).toEqual([
    ["start_process", { command: "npm run dev" }],
    ["read_process_output", { process_id: "p3" }],
    ["list_processes", {}],
  ]);
  expect(words).toContain("ready on 3000");
  expect(words).toContain("stop p3");
});

test("it is stopped where the words say so", async () => {
  const { made } = await play("Run `sleep 9` in the background and stop it", { start_process: "Process p1 runs" });
  expect(made.at(-1)).toEqual(["stop_process", { process_id: "p1" }]);
});

test("one that does not start is told, and nothing else is called", async () => {
  const { made, words } = await play("Run `nope` in the background", { start_process: "!Command not found" });
  expect(made).toHaveLength(1);
  expect(words).toContain("start_process did not work: “Command not found”");
});

test("the tour goes on where something does not work, and says so", async () => {
  const { made, words } = await play("Take the tour", {
    code_interpreter: "!ZeroDivisionError",
    start_process: "!Command not found",
    file_search: "!No documents indexed",
    delegate_task: "two files",
  });
  expect(made.map(([name]) => name)).toEqual(["code_interpreter", "start_process", "file_search", "delegate_task"]);
  expect(words).toContain("heddle index DIR");
  expect(words).toContain("The sub-agent has a thread of its own");
  expect(words).toContain("code_interpreter did not work: “ZeroDivisionError”");
});

test("what is not offered is said to be missing", async () => {
  const reply = await ask({ tools: [], messages: [{ role: "user", text: "Delegate: find the bug" }] });
  expect(textOf(reply)).toContain("The tool delegate_task is not offered here.");
});

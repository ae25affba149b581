// The demo model on a copy of the sample project, as a stranger meets it: the built command, real tools, a log of its own.
import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readOffline } from "../../src/compose.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { ProcessOutcome, RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { readRecords } from "../loop/call-records.js";
import { checkLog } from "../loop/log-rules.js";
import { valuesOf } from "../support/agent.js";
import { storedEvents } from "../support/core.js";
import { newDataDir, removeDataDir } from "../support/server-process.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const sample = join(import.meta.dirname, "../../examples/sample-project");
const prompt = "Look around, find the bug, fix it and run the tests";
/** Enough for npm on a busy machine, twice. */
const patienceMs = 120_000;

let dir: string;
let project: string;
beforeEach(async () => {
  dir = await newDataDir();
  project = join(dir, "try");
  await cp(sample, project, { recursive: true });
  // What somebody who tried it in place has left there.
  await rm(join(project, ".heddle"), { recursive: true, force: true });
});
afterEach(() => removeDataDir(dir));

test("at least eight tools do their work, the bug is gone, and the log keeps every rule", {
  timeout: patienceMs,
}, async () => {
  expect((await run("npm", ["test"])).code).not.toBe(0);
  expect(await heddle("run", "--yes", "--json", prompt)).toMatchObject({ code: 0, stderr: "" });
  const events = await readLog();
  const succeeded = completed(events).filter(({ outcome }) => outcome === ToolCallOutcome.SUCCEEDED);
  const tools = new Set(succeeded.map(({ toolName }) => toolName));
  expect(tools.size).toBeGreaterThanOrEqual(8);
  for (const tool of ["grep_files", "read_file", "edit_file", "run_command", "work_complete"])
    expect(tools).toContain(tool);
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  expect(valuesOf(events, "toolCallApprovalResolved").map(({ resolvedBy }) => resolvedBy)).toEqual(
    Array.from({ length: 3 }, () => "heddle run --yes"),
  );
  expect((await run("npm", ["test"])).code).toBe(0);
});

test("where nobody can say yes, what needs one is denied, and nothing changes", { timeout: patienceMs }, async () => {
  const { code, stdout } = await heddle("run", prompt);
  expect(code).toBe(0);
  const events = await readLog();
  const denied = completed(events).filter(({ outcome }) => outcome === ToolCallOutcome.DENIED);
  expect(denied.map(({ toolName, summary }) => [toolName, summary])).toEqual([
    ["run_command", "Denied: nobody is here to say yes to run_command"],
    ["edit_file", "Denied: nobody is here to say yes to edit_file"],
  ]);
  expect(stdout).toContain("Nothing is changed. In src/shipping.js, line 9, I would have changed");
  expect(await filesOf(project)).toEqual(await filesOf(sample));
});

test("the tour runs code, leaves a process running and stops it, searches documents and delegates, all of it for real", {
  timeout: patienceMs,
}, async () => {
  expect(await heddle("index", ".")).toMatchObject({ code: 0, stderr: "" });
  expect(await heddle("run", "--yes", "--json", "Take the tour")).toMatchObject({ code: 0, stderr: "" });
  const [events, ofChild] = await readLogs();
  expect(completed(events!).filter(({ success }) => !success)).toEqual([]);
  expect(completed(events!).map(({ toolName }) => toolName)).toEqual([
    ...["code_interpreter", "code_interpreter", "code_interpreter", "start_process"],
    ...[expect.stringMatching(/^(?:read_process_output|list_processes)$/), expect.any(String)],
    ...["stop_process", "file_search", "delegate_task"],
  ]);
  const summaries = completed(events!).map(({ summary }) => summary);
  expect(summaries[0]).toMatch(/^Code ran in .+, 1 file produced$/);
  expect(summaries).toContain("Started process p1");
  expect(summaries).toContain("Stopped p1");
  expect(summaries.at(-2)).toMatch(/^Found \d+ passages? in \d+ documents?$/);
  expect(summaries.at(-1)).toMatch(/^Sub-agent finished \(2 tool calls, \d+ s\)$/);
  expect(valuesOf(events!, "processExited")).toMatchObject([{ processId: "p1", outcome: ProcessOutcome.STOPPED }]);
  expect(completed(ofChild!).map(({ toolName }) => toolName)).toEqual(["list_directory", "inform_user"]);
});

const heddle = (...args: string[]) => run(process.execPath, [command, ...args]);

/** In the project, without what the environment of the tests may say. */
function run(program: string, args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd: project, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** The only thread that there is, checked. */
async function readLog(): Promise<readonly ThreadEvent[]> {
  const logs = await readLogs();
  expect(logs).toHaveLength(1);
  return logs[0]!;
}

/** Of every thread, checked; those that nobody delegated a task to come first. */
async function readLogs(): Promise<(readonly ThreadEvent[])[]> {
  const offline = await readOffline(join(project, ".heddle"));
  try {
    const { threads } = await offline.threads.list({ pageSize: 10, after: "" });
    const logs: (readonly ThreadEvent[])[] = [];
    for (const { id } of threads.sort((a, b) => a.parentThreadId.length - b.parentThreadId.length)) {
      const events = await storedEvents(offline, id);
      checkLog(events, { records: await readRecords(offline, events) });
      logs.push(events);
    }
    return logs;
  } finally {
    await offline.close();
  }
}

const completed = (events: readonly ThreadEvent[]) => valuesOf(events, "toolCallComplete");

/** By path, without what a run leaves behind. */
async function filesOf(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => !path.startsWith(".heddle"));
  const texts = files.sort().map(async (path) => [path, await readFile(join(root, path), "utf8")] as const);
  return Object.fromEntries(await Promise.all(texts));
}

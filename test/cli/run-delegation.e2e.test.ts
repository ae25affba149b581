// The real command and a run that delegates: what a sub-agent needs a yes for is asked where the run is watched.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shortestGlanceMs } from "../../src/cli/read-line.js";
import { endChildren } from "../support/command-process.js";
import { newDataDir, removeDataDir } from "../support/server-process.js";
import { requireTool } from "../support/tools.js";
import { writeScriptedAgent } from "./scripted-agent.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const tools = join(import.meta.dirname, "../fixtures/engine/tools.mjs");
const hasScript = requireTool("script (bsdutils)", ["script", "--version"]);
const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], TERM: "xterm" };

const delegates = (prompt: string) => ({
  events: [{ toolCall: { name: "delegate_task", input: { task: `the ${prompt}`, prompt } } }],
});

/** Two levels down, a call that needs a yes. */
const turns = [
  { user: { exact: "go" }, replies: [delegates("middle"), { events: [{ text: "All done." }] }] },
  { user: { exact: "middle" }, replies: [delegates("deepest"), { events: [{ text: "The middle is done." }] }] },
  {
    user: { exact: "deepest" },
    replies: [
      { events: [{ toolCall: { name: "leave_trace", input: { work: "it", busyMs: 0 } } }] },
      { events: [{ text: "The deepest is done." }] },
    ],
  },
];

let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  dir = await newDataDir();
  writeScriptedAgent(dir, { turns }, tools);
});
afterEach(async () => {
  await endChildren(children);
  await removeDataDir(dir);
});

const own = () => ["--config", join(dir, "config.json"), "--data", join(dir, "data")];
const traces = () => (existsSync(join(dir, "work", "traces")) ? readFileSync(join(dir, "work", "traces"), "utf8") : "");

test.skipIf(!hasScript)(
  "on a terminal (needs script): the question of a sub-agent is asked, and answered",
  async () => {
    const line = [process.execPath, command, "run", "go", ...own()].map((each) => `'${each}'`).join(" ");
    const shell = `stty rows 30 cols 160; ${line}`;
    const child = spawn("script", ["-qec", shell, "/dev/null"], { cwd: dir, stdio: ["pipe", "pipe", "inherit"], env });
    children.push(child);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    while (!text.includes("Allow?")) await once(child.stdout, "data");
    await pause(shortestGlanceMs + 10);
    child.stdin.write("yes\r");
    if (child.exitCode === null) await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(text).toContain("A sub-agent: Leave a trace");
    expect(text).toContain("Waiting for a yes: Leaving a trace of it");
    expect(text).toMatch(/Sub-agent finished \(1 tool call, /);
    expect(traces()).toMatch(/\/it\n$/);
  },
);

describe("in a pipe", () => {
  async function plain(...args: string[]) {
    const child = spawn(process.execPath, [command, ...args], { cwd: dir, stdio: ["ignore", "pipe", "pipe"], env });
    children.push(child);
    const result = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        result[name] += text;
      });
    await once(child, "close");
    return { ...result, code: child.exitCode };
  }

  test("--yes is for sub-agents too", async () => {
    const { code, stdout, stderr } = await plain("run", "go", "--yes", ...own());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Delegating: the middle");
    expect(traces()).toMatch(/\/it\n$/);
    const threads = await plain("threads", "--data", join(dir, "data"));
    expect(threads.stdout.match(/↳ the (?:middle|deepest)/g)?.sort()).toEqual(["↳ the deepest", "↳ the middle"]);
  });

  test("nobody can be asked: what a sub-agent needs a yes for is denied, and it is said what to do", async () => {
    const { code, stderr } = await plain("run", "go", ...own());
    expect(code).toBe(0);
    expect(stderr).toMatch(/^heddle: calls that need a yes are denied, .*--yes.*agent\.trusted.*\n$/);
    expect(traces()).toBe("");
  });
});

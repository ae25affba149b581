// The real command on a real terminal: it asks before a call that needs a yes, and only what is typed after that is an answer.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shortestGlanceMs } from "../../src/cli/read-line.js";
import { endChildren } from "../support/command-process.js";
import { newDataDir, removeDataDir, startServerProcess } from "../support/server-process.js";
import { requireTool } from "../support/tools.js";
import { writeScriptedAgent } from "./scripted-agent.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const tools = join(import.meta.dirname, "../fixtures/engine/tools.mjs");
const hasScript = requireTool("script (bsdutils)", ["script", "--version"]);
const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], TERM: "xterm" };

/** One call that needs a yes, and an answer that says what the model was told of it. */
const replies = [
  { events: [{ toolCall: { name: "leave_trace", input: { work: "it", busyMs: 0 } } }] },
  { events: [{ text: "Done." }] },
];

let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  dir = await newDataDir();
  writeScriptedAgent(dir, { replies }, tools);
});
afterEach(async () => {
  await endChildren(children);
  await removeDataDir(dir);
});

const dataDir = () => join(dir, "data");
const own = () => ["--config", join(dir, "config.json"), "--data", dataDir()];
const traces = () => (existsSync(join(dir, "work", "traces")) ? readFileSync(join(dir, "work", "traces"), "utf8") : "");

/** On a terminal of its own; `state` is how the command leaves it. */
function onTerminal(...args: string[]) {
  const line = [process.execPath, command, ...args].map((each) => `'${each}'`).join(" ");
  const shell = `stty rows 30 cols 120; ${line}; code=$?; stty -a; exit $code`;
  const child = spawn("script", ["-qec", shell, "/dev/null"], { cwd: dir, stdio: ["pipe", "pipe", "inherit"], env });
  children.push(child);
  const run = {
    text: "",
    types: (keys: string) => void child.stdin.write(keys),
    async sees(text: string) {
      while (!run.text.includes(text)) await once(child.stdout, "data");
    },
    /** Not before a person could have read it: what is typed sooner does not count. */
    async answers(keys: string) {
      await run.sees("Allow?");
      await pause(shortestGlanceMs + 10);
      run.types(keys);
    },
    async ended() {
      if (child.exitCode === null) await once(child, "close");
      return child.exitCode;
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    run.text += text;
  });
  return run;
}

/** As a person found it: it shows what is typed, and Ctrl-C is a signal. */
const usual = /(?<!-)isig (?<!-)icanon .*(?<!-)echo /s;

describe.skipIf(!hasScript)("on a terminal (needs script)", () => {
  test("yes: the call runs, and it is recorded who said so", async () => {
    const run = onTerminal("run", "go", ...own());
    await run.answers("yes\r");
    expect(await run.ended()).toBe(0);
    expect(run.text).toContain('{"work":"it","busyMs":0}');
    expect(run.text).toMatch(/allowed by \S+ \(heddle run\)/);
    expect(run.text).toMatch(usual);
    expect(traces()).toMatch(/^\S+ \S+\/it\n$/);
  });

  test("what was typed before the question is no answer; no has a reason that the record keeps", async () => {
    const run = onTerminal("run", "go", ...own());
    run.types("y\ny\n");
    await run.answers("n keep it\r");
    expect(await run.ended()).toBe(0);
    expect(run.text).toContain("Denied: keep it");
    expect(traces()).toBe("");
  });

  test("Ctrl-C at the question calls the run off, and leaves the terminal as it was", async () => {
    const run = onTerminal("run", "go", ...own());
    await run.answers("\u0003");
    expect(await run.ended()).toBe(130);
    expect(run.text).toContain("calling the run off");
    expect(run.text).toMatch(/Cancelled/);
    expect(run.text).toMatch(usual);
    expect(traces()).toBe("");
  });

  test("somebody else answers on the same server, and the question goes away", async () => {
    const server = await startServerProcess({ dataDir: dataDir(), args: ["--config", join(dir, "config.json")] });
    try {
      const run = onTerminal("run", "go", "--server", server.url);
      await run.sees("Allow?");
      const waiting = await plain("approvals", "--json", "--server", server.url);
      const { id } = JSON.parse(waiting.stdout) as { id: string };
      const answered = await plain("approvals", "allow", id, "--server", server.url);
      expect(answered).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nAllowed: /) });
      expect(await run.ended()).toBe(0);
      expect(run.text).toMatch(/allowed by \S+ \(heddle approvals\)/);
      expect(traces()).toMatch(/\/it\n$/);
    } finally {
      await server.stop();
    }
  });
});

/** In pipes. */
async function plain(...args: string[]) {
  const child = spawn(process.execPath, [command, ...args], { cwd: dir, stdio: ["ignore", "pipe", "pipe"], env });
  children.push(child);
  const result = { code: null as number | null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  await once(child, "close");
  return { ...result, code: child.exitCode };
}

describe("in a pipe", () => {
  test("nobody can be asked: denied at once, and standard error says what to do", async () => {
    const { code, stdout, stderr } = await plain("run", "go", ...own());
    expect(code).toBe(0);
    expect(stdout).toContain("Denied: nobody is here to say yes to leave_trace");
    expect(stderr).toMatch(/^heddle: calls that need a yes are denied, .*--yes.*agent\.trusted.*\n$/);
    expect(traces()).toBe("");
  });

  test("--yes allows, and is recorded", async () => {
    const { code, stdout, stderr } = await plain("run", "go", "--yes", ...own());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/✓ approval +Leave a trace: allowed, by heddle run --yes\n/);
    expect(traces()).toMatch(/\/it\n$/);
  });
});

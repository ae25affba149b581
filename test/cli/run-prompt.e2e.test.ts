// The real command, built, with the demo model: on a server of its own, and on the one that holds the data directory.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useAgentServers } from "../fixtures/engine/agent-server.js";
import { collected, endChildren } from "../support/command-process.js";
import { newDataDir, removeDataDir, startServerProcess } from "../support/server-process.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const prompt = "Think, list the files and tell me.";
const short = "List the files.";
const children: ChildProcess[] = [];
const useServer = useAgentServers();

let dir: string;
beforeEach(async () => {
  dir = await newDataDir();
  mkdirSync(join(dir, "work"));
  writeFileSync(join(dir, "work", "needle.txt"), "x");
});
afterEach(async () => {
  await endChildren(children);
  await removeDataDir(dir);
});

const dataDir = () => join(dir, "data");

/** In the workspace, without what the environment of the tests may say. */
function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [command, ...args], {
    cwd: join(dir, "work"),
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  children.push(child);
  return collected(child);
}

async function result(run: ReturnType<typeof start>) {
  await run.ended;
  return { code: run.child.exitCode, stdout: run.stdout, stderr: run.stderr };
}

/** A model that names a tool and then says nothing more: the run ends only when somebody ends it. */
function hangingModel(): string {
  const path = join(dir, "hang.json");
  const events = [{ piece: { index: 0, name: "think", input: '{"thoughts": [' } }, { hang: true }];
  writeFileSync(path, JSON.stringify({ replies: [{ events }] }));
  return `scripted:${path}`;
}

async function startHanging() {
  const run = start(["run", prompt, "--json", "--data", dataDir(), "--model", hangingModel()]);
  while (!run.stdout.includes("toolCallInputDelta")) await once(run.child.stdout!, "data");
  return run;
}

const heddle = (...args: string[]) => result(start(args));

interface JsonEvent {
  readonly threadId: string;
  readonly sequence: string;
  readonly runStarted?: { readonly requestId: string };
  readonly toolCallCreated?: { readonly toolCallId: string; readonly toolName: string };
  readonly toolCallComplete?: { readonly toolCallId: string; readonly outcome: string; readonly summary: string };
  readonly runCompleted?: { readonly outcome: string };
}

const eventsOf = (stdout: string): JsonEvent[] =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("on a server of its own", () => {
  test("runs to the end with the current folder as the workspace, and leaves the thread behind", async () => {
    const { code, stdout, stderr } = await heddle("run", prompt, "--json", "--data", dataDir());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const events = eventsOf(stdout);
    expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index + 1));
    expect(events[0]!.runStarted?.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(events.at(-1)!.runCompleted?.outcome).toBe("RUN_OUTCOME_SUCCEEDED");
    const created = events.flatMap(({ toolCallCreated }) => toolCallCreated ?? []);
    const complete = events.flatMap(({ toolCallComplete }) => toolCallComplete ?? []);
    expect(created.map(({ toolName }) => toolName)).toEqual(["think", "list_directory", "inform_user"]);
    expect(complete.map(({ outcome }) => outcome)).toEqual(created.map(() => "TOOL_CALL_OUTCOME_SUCCEEDED"));
    expect(existsSync(join(dataDir(), "server.json"))).toBe(false);

    const threadId = events[0]!.threadId;
    const again = await heddle("follow", threadId, "--json", "--data", dataDir());
    expect(again.stdout).toBe(stdout);
    const listed = await heddle("call", created[1]!.toolCallId, "--data", dataDir());
    expect(listed.stdout).toContain("needle.txt");
    expect(listed.stdout).toMatch(/^ {2}model {6}what the model was told, /m);
    const more = await heddle("run", "List the files again.", "--json", "--thread", threadId, "--data", dataDir());
    expect(Number(eventsOf(more.stdout)[0]!.sequence)).toBe(events.length + 1);
  });

  test("prints plain lines in a pipe", async () => {
    const { code, stdout, stderr } = await heddle("run", prompt, "--data", dataDir());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/▶ run +started, demo:demo, thread [-0-9a-f]{36}\n/);
    expect(stdout).toMatch(/✓ succeeded +List directory: .*\n/);
    expect(stdout).toMatch(/^list_directory found 1 entry in the workspace: needle\.txt\./m);
    expect(stdout).toMatch(/✓ run +succeeded.*\n$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none.
    expect(stdout).not.toMatch(/\u001b/);
  });

  test("T1: a promise that a tool forgets ends nothing, and is told in a line", async () => {
    const call = { events: [{ toolCall: { name: "slip", input: {} } }] };
    const { dir } = await useServer({ script: { replies: [call, { events: [{ text: "Done." }] }] } });
    const settings = ["--config", join(dir, "config.json"), "--data", dataDir()];
    const { code, stdout, stderr } = await heddle("run", "Go", "--json", ...settings);
    const told = "a promise failed that nobody waits for, most likely a tool's: the floor is wet";
    expect({ code, stderr }).toEqual({ code: 0, stderr: `heddle: ${told}\n` });
    const complete = eventsOf(stdout).flatMap(({ toolCallComplete }) => toolCallComplete ?? []);
    expect(complete).toMatchObject([{ outcome: "TOOL_CALL_OUTCOME_SUCCEEDED", summary: "Did not fall" }]);
    const logged = await heddle("run", "Go", ...settings, "--log-level", "error");
    expect(logged.stderr).toMatch(/^\{"level":"error",.*"message":"the floor is wet","stack":".*tools\.mjs/);
  });

  test("T1: Ctrl-C calls the run off, shows how it ends, and gives 130", async () => {
    const run = await startHanging();
    run.child.kill("SIGINT");
    const { code, stdout, stderr } = await result(run);
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: "heddle: calling the run off; Ctrl-C again leaves at once\n",
    });
    const events = eventsOf(stdout);
    expect(events.at(-1)!.runCompleted?.outcome).toBe("RUN_OUTCOME_CANCELLED");
    const ids = (pick: (event: JsonEvent) => { toolCallId: string } | undefined) =>
      events.flatMap((event) => pick(event)?.toolCallId ?? []).sort();
    expect(ids(({ toolCallComplete }) => toolCallComplete)).toEqual(ids(({ toolCallCreated }) => toolCallCreated));
  });

  test("a second one on the same directory is told what to do", async () => {
    await startHanging();
    const advice = `keep "heddle serve --data ${dataDir()}" running and let runs share it\n`;
    const expected = /^heddle: .* is in use by process \d+ .*: wait for it to end, .*, or /;
    const config = join(dir, "heddle.json");
    writeFileSync(config, JSON.stringify({ data: dataDir() }));
    for (const named of [
      ["--data", dataDir()],
      ["--config", config],
    ]) {
      const { code, stderr } = await heddle("run", prompt, ...named);
      expect({ code, advice: stderr.replace(expected, "") }).toEqual({ code: 1, advice });
    }
  });

  test("what a tool or Node prints goes to standard error, and standard output holds events alone", async () => {
    const tool = join(dir, "chatty.mjs");
    const url = (path: string) => pathToFileURL(join(import.meta.dirname, "../..", path)).href;
    writeFileSync(
      tool,
      `import { defineTool } from "${url("dist/src/tool/index.js")}";
      import { z } from "${url("node_modules/zod/index.js")}";
      console.log("loading");
      export default defineTool({
        name: "chatty", title: "Chat", description: "Prints.", kind: "read",
        input: z.object({}), output: z.object({}), describe: () => "Chatting",
        run: async () => {
          console.log("from a tool");
          process.stdout.write("without an end");
          process.emitWarning("careful", "TestWarning");
          await new Promise(setImmediate);
          return { result: {}, summary: "Chatted" };
        },
      });`,
    );
    const script = join(dir, "script.json");
    const call = { events: [{ piece: { index: 0, name: "chatty", input: "{}" } }, { end: "tool_calls" }] };
    writeFileSync(script, JSON.stringify({ replies: [call, { events: [{ text: "Done." }] }] }));
    const config = join(dir, "heddle.json");
    writeFileSync(config, JSON.stringify({ agent: { model: `scripted:${script}`, tools: [tool] } }));
    const { code, stdout, stderr } = await heddle("run", "x", "--json", "--config", config, "--data", dataDir());
    const others = ["(node) TestWarning: careful", "from a tool", "loading", "without an end"];
    expect({
      code,
      others: stderr
        .replace(/node:\d+/, "node")
        .trim()
        .split("\n")
        .sort(),
    }).toEqual({ code: 0, others });
    const complete = eventsOf(stdout).flatMap(({ toolCallComplete }) => toolCallComplete ?? []);
    expect(complete.map(({ summary }) => summary)).toEqual(["Chatted"]);
  });

  test("a model without its key is refused before anything is opened", async () => {
    const { code, stdout, stderr } = await heddle("run", "x", "--model", "openai:gpt-4o-mini", "--data", dataDir());
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("OPENAI_API_KEY");
    expect(existsSync(dataDir())).toBe(false);
  });
});

describe("on the server that holds the data directory", () => {
  const env = { HEDDLE_TOKEN: "0123456789abcdef-test" };

  async function serve() {
    const workspace = join(dir, "theirs");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "haystack.txt"), "x");
    return startServerProcess({ dataDir: dataDir(), env, args: ["--workspace", workspace] });
  }

  test("attaches to it by itself, as to one that is named, and works where it works", async () => {
    const server = await serve();
    try {
      const found = { code: 0, stderr: "", stdout: expect.stringContaining("haystack.txt") };
      expect(await result(start(["run", short, "--data", dataDir()], env))).toMatchObject(found);
      expect(await result(start(["run", short, "--server", server.url], env))).toMatchObject(found);
    } finally {
      await server.stop();
    }
    expect(existsSync(join(dataDir(), "server.json"))).toBe(false);
  });

  test.each([
    ["without its token", [], {}, 5, "HEDDLE_TOKEN"],
    ["with a workspace that is not its own", ["--workspace", "."], env, 2, "Leave --workspace out"],
    ["with settings of a file", ["--config", "heddle.json"], env, 2, "Leave --config out"],
    ["with a log level", ["--log-level", "info"], env, 2, "Leave --log-level out"],
    [
      "with a model that it does not offer",
      ["--model", "openai:x"],
      env,
      2,
      "offers only demo:demo: start it with --model",
    ],
  ])("%s it is refused with what to do", async (_, flags, variables, code, text) => {
    const server = await serve();
    try {
      const refused = { code, stdout: "", stderr: expect.stringContaining(text) };
      writeFileSync(join(dir, "work", "heddle.json"), "{}");
      expect(await result(start(["run", short, "--data", dataDir(), ...flags], variables))).toMatchObject(refused);
      const left = await result(start(["threads", "--json", "--server", server.url], env));
      expect(left).toMatchObject({ code: 0, stdout: "" }); // A run that is refused leaves no thread behind.
    } finally {
      await server.stop();
    }
  });

  test.each([
    ["", true],
    [" on another port", false],
  ])("S1: goes on through a kill and a restart of it%s", async (_, isSame) => {
    let server = await startServerProcess({ dataDir: dataDir() });
    try {
      const run = start(["run", prompt, "--json", "--data", dataDir()]);
      while (!run.stdout.includes("toolCallCreated")) await once(run.child.stdout!, "data");
      await server.kill();
      server = await startServerProcess({ dataDir: dataDir(), port: isSame ? server.port : 0 });
      const { stdout } = await result(run);
      const events = eventsOf(stdout);
      expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index + 1));
      expect(events.at(-1)!.runCompleted).toBeDefined();
    } finally {
      await server.stop();
    }
  });

  test("an address that a killed server left is not believed", async () => {
    const server = await startServerProcess({ dataDir: dataDir() });
    await server.kill();
    expect(existsSync(join(dataDir(), "server.json"))).toBe(true);
    expect(await heddle("run", short, "--data", dataDir())).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("needle.txt"),
    });
  });
});

// A real server in a process of its own, over its standard input and output.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { canSeeLeftovers, leavesNothing, processesWith } from "../../support/left-behind.js";
import { oddFile, oddServer } from "../../support/mcp/servers.js";
import { callContext, failure, program, useServers } from "./support.js";

const connect = useServers();
const odd = (env: Record<string, string> = {}) => program(oddServer(env, directory));
const directory = await mkdtemp(join(tmpdir(), "heddle-mcp-"));
afterAll(() => rm(directory, { recursive: true }));

/** What the server was told, as it wrote it down. */
const toldBy = (file: string) => readFile(file, "utf8").catch(() => "");

describe("discovery", () => {
  test("takes a hundred tools over many pages, each once", async () => {
    const { server, tool } = connect(odd({ ODD_TOOLS: "100", ODD_PAGE: "7" }));
    const { tools, json } = await server.discover(new AbortController().signal);
    expect(tools.filter(({ name }) => name.includes("tool-"))).toHaveLength(100);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    expect((JSON.parse(json) as unknown[]).length).toBe(tools.length + 2);
    expect((await (await tool("tool-99")).run({}, callContext())).summary).toBe("tool 99");
  });

  test("hears of tools that come later", async () => {
    const { server, call, tool } = connect(odd());
    await call("grow");
    await vi.waitFor(() => expect(server.offer?.json).toContain('"late"'), { timeout: 10_000 });
    expect((await (await tool("late")).run({}, callContext())).summary).toBe("late");
  });
});

describe("a call", () => {
  test("gives what the server gives, all of it", async () => {
    const { call, tool } = connect(odd());
    const outcome = await call("everything");
    expect(outcome.summary).toBe("All of it (and 6 more parts)");
    expect(outcome.content?.map(({ id }) => id)).toEqual(["image-1", "audio-2", "resource-3"]);
    expect((await tool("everything")).toModel!(outcome.result)).toBe(
      [
        "All of it\nand more",
        "[image image/png 3 bytes image-1]",
        "[audio audio/wav 3 bytes audio-2]",
        "[resource test:///a text/plain]\ninside",
        "[resource test:///b image/gif 3 bytes resource-3]",
        "[resource_link c test:///c]",
        "[text, for the user only]",
      ].join("\n"),
    );
  });

  test("passes progress on, the last of it too, and lives as long as it makes some", async () => {
    const { call } = connect(odd(), { idleTimeoutMs: 1_000 });
    const context = callContext();
    expect((await call("steps", { steps: 6, everyMs: 300 }, context)).summary).toBe("6 steps");
    expect(vi.mocked(context.progress).mock.calls).toEqual(
      Array.from({ length: 6 }, (_, index) => [index + 1, 6, `Step ${index + 1}`]),
    );
  });

  test("bears a flood of progress, and passes on what rises", async () => {
    const { call } = connect(odd());
    const context = callContext();
    expect((await call("flood", {}, context)).summary).toBe("flooded");
    const heard = vi.mocked(context.progress).mock.calls.map(([progress]) => progress);
    expect(heard.at(-1)).toBe(5_000);
    expect(heard.every((at, index) => index === 0 || at > heard[index - 1]!)).toBe(true);
  });

  test("that says nothing for too long is given up, and the server is told", async () => {
    const told = join(directory, "idle");
    const { call, server } = connect(odd({ ODD_TOLD: told }), { idleTimeoutMs: 300 });
    expect(await failure(call("hang"))).toMatchObject({
      kind: "idle_timeout",
      ending: "timed_out",
      message: expect.stringContaining("said nothing for 0.3 s"),
    });
    await vi.waitFor(async () => expect(await toldBy(told)).toContain("called off: Nothing was heard for 300 ms"), {
      timeout: 10_000,
    });
    expect(server.status.state).toBe("ready");
  });

  test("that is called off rejects with the reason of its signal, and the server is told it", async () => {
    const told = join(directory, "cancel");
    const { call, server } = connect(odd({ ODD_TOLD: told }));
    const stop = new AbortController();
    const running = call("hang", {}, { signal: stop.signal });
    await vi.waitFor(async () => expect(await toldBy(told)).toContain("hang began"), { timeout: 10_000 });
    const reason = new Error("Cancelled: no longer needed");
    stop.abort(reason);
    await expect(running).rejects.toBe(reason);
    await vi.waitFor(async () => expect(await toldBy(told)).toContain("called off: Cancelled: no longer needed"), {
      timeout: 10_000,
    });
    expect((await call("echo", { text: "still there" })).summary).toBe("still there");
    expect(server.status.state).toBe("ready");
  });

  test("that ends later than its signal is told nothing: the answer was there", async () => {
    const told = join(directory, "after");
    const { call } = connect(odd({ ODD_TOLD: told }));
    const stop = new AbortController();
    await call("echo", { text: "a" }, { signal: stop.signal });
    stop.abort(new Error("late"));
    await call("echo", { text: "b" });
    expect(await toldBy(told)).toBe("called echo\ncalled echo\n");
  });

  test.each([
    ["a result that says it is an error", "fail", { summary: "The disk is full", isError: true }],
    [
      "a result that does not fit",
      "misfit",
      { isError: true, errorKind: "output_schema_violation", result: { structuredContent: { count: "many" } } },
    ],
    ["one that fits", "fits", { summary: '{"count":2}', result: { structuredContent: { count: 2 } } }],
  ])("with %s", async (_, name, expected) => {
    const outcome = await connect(odd()).call(name);
    expect(outcome).toMatchObject(expected);
    if (!("isError" in expected)) expect(outcome.isError).toBeUndefined();
  });

  test("that the server refuses has failed with its code", async () => {
    expect(await failure(connect(odd()).call("refuse"))).toMatchObject({
      message: "MCP server odd: No such thing",
      kind: "protocol_error",
      code: "-32602",
      ending: "failed",
    });
  });

  test("in which the server asks for a person or a model is told why it gets neither", async () => {
    const { call } = connect(odd());
    expect((await call("elicit")).summary).toContain("Heddle declines elicitation: it asks nobody");
    expect((await call("sample")).summary).toContain("Heddle declines sampling");
  });

  test("that prints garbage on its output goes on", async () => {
    const { call, log } = connect(odd());
    expect((await call("garbage")).summary).toBe("said");
    expect((await call("echo", { text: "fine" })).summary).toBe("fine");
    expect(log.map(({ message }) => message)).toContain("Hello, I am no JSON");
  });

  test("may log, and what it says there and prints as an error goes to the log with its label", async () => {
    const { call, log } = connect(odd());
    await call("log");
    await call("blab");
    await vi.waitFor(() =>
      expect(log).toEqual(
        expect.arrayContaining([
          { level: "warn", message: "mind the step", facts: { mcpServer: "odd", from: "warning" } },
          { level: "info", message: "stderr: nothing", facts: { mcpServer: "odd", from: "stderr" } },
        ]),
      ),
    );
  });
});

describe("a server that dies", () => {
  test("X1: in the middle of a call: interrupted, the outcome is unknown, and nothing is sent again", async () => {
    const told = join(directory, "die");
    const { call, server } = connect(odd({ ODD_TOLD: told }));
    expect(await failure(call("die"))).toMatchObject({
      kind: "connection_lost",
      ending: "interrupted",
      message: expect.stringMatching(/its process has ended with code 7.*whether the call had an effect is not known/),
    });
    expect(server.status).toMatchObject({ state: "down", reason: "its process has ended with code 7" });
    expect((await call("echo", { text: "back" })).summary).toBe("back");
    expect(await toldBy(told)).toBe("called die\ncalled echo\n");
  });

  test("takes the calls beside it along, and no others", async () => {
    const told = join(directory, "beside");
    const { call } = connect(odd({ ODD_TOLD: told }));
    const hanging = failure(call("hang"));
    await vi.waitFor(async () => expect(await toldBy(told)).toContain("hang began"), { timeout: 10_000 });
    const dead = failure(call("die"));
    expect((await Promise.all([hanging, dead])).map(({ ending }) => ending)).toEqual(["interrupted", "interrupted"]);
  });

  test("before it has said anything is told with its last words", async () => {
    const { server } = connect(
      program({ command: process.execPath, args: ["-e", "console.error('no key');process.exit(3)"] }),
    );
    const { message } = await failure(server.discover(new AbortController().signal));
    expect(message).toBe("MCP server odd: its process has ended with code 3 (no key)");
  });

  test("or was never there", async () => {
    const { server } = connect(program({ command: "no-such-program", args: [] }));
    expect(await failure(server.discover(new AbortController().signal))).toMatchObject({
      message: expect.stringContaining("there is no program no-such-program"),
      kind: "connection_failed",
      code: "ENOENT",
    });
  });

  test("or says nothing at all is given up in time, and ended", async () => {
    const mark = "setInterval(() => {}, 86398)";
    const { server } = connect(program({ command: process.execPath, args: ["-e", mark] }), { startTimeoutMs: 500 });
    expect((await failure(server.discover(new AbortController().signal))).message).toContain(
      "did not answer within 0.5 s",
    );
    expect(processesWith(mark)).toEqual([]);
  });
});

describe.skipIf(!canSeeLeftovers)("what a server is given, and leaves (needs /proc)", () => {
  test("X2: nothing is started before somebody needs it, and nothing is left of it and of what it started", async () => {
    const { server, servers, call } = connect(odd());
    await leavesNothing(async () => {
      expect(server.status.state).toBe("idle");
      expect(processesWith(directory)).toEqual([]);
      const { summary } = await call("spawn");
      const pid = Number(/\d+/.exec(summary)![0]);
      expect(processesWith("86399")).toContain(pid);
      await servers.close();
      expect(processesWith("86399")).toEqual([]);
    });
    expect(processesWith(directory)).toEqual([]);
  });

  test("its environment holds what it was given, and no key of ours", async () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-not-for-you");
    const script = "process.stderr.write(JSON.stringify(process.env));process.exit(1)";
    const { server } = connect(program({ command: process.execPath, args: ["-e", script], env: { MINE: "yes" } }));
    const { message } = await failure(server.discover(new AbortController().signal));
    vi.unstubAllEnvs();
    expect(message).toContain("code 1");
    expect(message).not.toContain("sk-not-for-you");
  });

  test("is killed when it does not care that its input has ended", async () => {
    const stubborn = "process.on('SIGTERM',()=>{});setInterval(()=>{},86397);";
    const args = ["--import", `data:text/javascript,${encodeURIComponent(stubborn)}`, oddFile];
    const { call, servers } = connect(program({ command: process.execPath, args }));
    await call("echo", { text: "a" });
    expect(processesWith("86397")).toHaveLength(1);
    await servers.close();
    expect(processesWith("86397")).toEqual([]);
  });
});

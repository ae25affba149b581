// heddle executor at a terminal and in a pipe: what it says, what it asks, and how it ends. The server's verbs are the real ones.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { threadService } from "../../src/projection/connect/thread-service.js";
import { toolCallService } from "../../src/projection/connect/tool-call-service.js";
import { toolService } from "../../src/projection/connect/tool-service.js";
import { called, isCase, replies, said, send, until, valuesOf } from "../support/agent.js";
import { type Core, type CoreOptions, useCores } from "../support/core.js";
import { type FakeIo, fakeIo, fakeServer, heddle } from "./support.js";

const openCore = useCores();
let workspace: string;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "heddle-executor-"));
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

const serve = (core: Core) =>
  fakeServer(
    threadService(core.threads),
    toolCallService(core.toolCalls, core.executorCalls),
    toolService(core.toolCalls, core.toolOffers),
  );

/** The command, and how to wait until it has printed something. */
function start(url: string, args: readonly string[], io: FakeIo = fakeIo()) {
  const ended = heddle(["executor", "--server", url, "--workspace", workspace, "--name", "mine", ...args], io);
  const says = (text: string | RegExp) =>
    vi.waitFor(() => expect(io.stdout.text).toMatch(text), { timeout: 20_000, interval: 20 });
  return { ended, io, says, interrupt: () => io.signal("SIGINT") };
}

const writes = (): CoreOptions => ({
  model: replies(called({ name: "write_file", input: { path: "a.txt", content: "hello\n" } }), said("Done.")),
});

describe("at a terminal", () => {
  test("asks with what would happen here; a yes writes the file, and Ctrl-C ends it with 130", async () => {
    const core = openCore(writes());
    await using server = await serve(core);
    const executor = start(server.url, [], fakeIo({ isTTY: true, columns: 100, rows: 40, env: { NO_COLOR: "1" } }));
    await executor.says(/mine runs 12 tools in .* for all threads of http/);
    const { threadId } = await send(core);
    await executor.says(/Allow\?/);
    expect(executor.io.stdout.text).toContain("Write file: Writing a.txt");
    expect(executor.io.stdout.text).toContain("+hello");
    // What is typed too soon after the question is no answer to it.
    await vi.waitFor(
      async () => {
        executor.io.stdin.types("y\n");
        expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("hello\n");
      },
      { timeout: 20_000, interval: 100 },
    );
    await until(core, threadId, isCase("runCompleted"));
    await executor.says(/✓ Write file: .*a\.txt/);
    executor.interrupt();
    expect(await executor.ended).toMatchObject({ code: 130, stderr: "" });
    await vi.waitFor(() => expect(core.feeds.lasting.size).toBe(0), { timeout: 20_000 });
  });

  test("a no and its reason", async () => {
    const core = openCore(writes());
    await using server = await serve(core);
    const executor = start(server.url, [], fakeIo({ isTTY: true, columns: 100, rows: 40, env: { NO_COLOR: "1" } }));
    await executor.says(/mine runs/);
    const { threadId } = await send(core);
    await executor.says(/Allow\?/);
    const typing = setInterval(() => executor.io.stdin.types("n, not this one\n"), 100);
    const events = await until(core, threadId, isCase("runCompleted"));
    clearInterval(typing);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ summary: "Denied: not this one" }]);
    executor.interrupt();
    await executor.ended;
  });
});

describe("in a pipe", () => {
  test("what needs a yes is left, and that is said once", async () => {
    const twice = called(
      { name: "write_file", input: { path: "a.txt", content: "" } },
      { name: "write_file", input: { path: "b.txt", content: "" } },
    );
    const core = openCore({ model: replies(twice) });
    await using server = await serve(core);
    const executor = start(server.url, []);
    await executor.says(/mine runs/);
    await send(core);
    await executor.says(/nobody can be asked here/);
    expect(executor.io.stdout.text.match(/nobody can be asked here/g)).toHaveLength(1);
    executor.interrupt();
    expect(await executor.ended).toMatchObject({ code: 130 });
  });

  test("lines of JSON, a network that is cut, and calls that come after it", async () => {
    const core = openCore(writes());
    await using server = await serve(core);
    const executor = start(server.url, ["--json", "--yes"]);
    await executor.says(/"kind":"offered"/);
    server.cut();
    await vi.waitFor(() => expect(executor.io.stdout.text.match(/"kind":"offered"/g)).toHaveLength(2), {
      timeout: 20_000,
    });
    const { threadId } = await send(core);
    await until(core, threadId, isCase("runCompleted"));
    await executor.says(/"kind":"ended"/);
    const lines = executor.io.stdout.text.trim().split("\n");
    const kinds = lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toContain("away");
    expect(kinds.filter((kind) => kind !== "away")).toEqual(["offered", "offered", "started", "ended"]);
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({
      outcome: "SUCCEEDED",
      call: { toolName: "write_file", threadId },
    });
    executor.interrupt();
    expect(await executor.ended).toMatchObject({ code: 130 });
  });
});

describe("what it refuses", () => {
  test.each([
    [["--tools", "read_file,web_search"], /has no tool called "web_search"/],
    [["--tools", ","], /name at least one tool/],
    [["--concurrency", "0"], /whole number from 1/],
    [["--concurrency", "1000"], /from 1 to 64/],
    [["--lease", "700"], /from 1 to 600/],
    [["--name", ""], /one line/],
    [["--thread", "nonsense"], /not the id of a thread/],
  ])("%j is a wrong command line", async (args, message) => {
    const { code, stderr } = await heddle(["executor", "--server", "http://127.0.0.1:9", ...args]);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });

  test("a folder that is not there, a server that is not there", async () => {
    const noFolder = await heddle(["executor", "--workspace", join(workspace, "none")]);
    expect(noFolder).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no directory") });
    const noServer = await heddle(["executor", "--workspace", workspace, "--server", "http://127.0.0.1:9"]);
    expect(noServer).toMatchObject({ code: 4, stderr: expect.stringContaining("cannot reach the server") });
  });
});

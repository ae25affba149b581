// How a server is reached, lost and tried again, with a session that the test plays itself.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { McpServer } from "../../../src/tool/mcp/mcp-server.js";
import { ServerLog } from "../../../src/tool/mcp/server-log.js";
import { type McpSession, SessionError, type SessionEvents, type ToolPage } from "../../../src/tool/mcp/session.js";
import { callContext, failure } from "./support.js";

const never = new AbortController().signal;
const page = (...names: string[]): ToolPage => ({
  tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
  nextCursor: undefined,
});

function play(open: (events: SessionEvents, signal: AbortSignal) => Promise<Partial<McpSession>>) {
  const changes: string[] = [];
  const opened: SessionEvents[] = [];
  const logged: object[] = [];
  const server: McpServer = new McpServer({
    settings: { label: "a", startTimeoutMs: 5_000, idleTimeoutMs: 1_000, timeoutMs: 5_000, policy: undefined },
    open: async (events, signal) => {
      opened.push(events);
      const session = await open(events, signal);
      return {
        serverInfo: "A 1",
        hasTools: true,
        listTools: async () => page("one"),
        callTool: async () => ({ content: [] }),
        close: async () => {},
        ...session,
      };
    },
    log: new ServerLog("a", (level, facts, message) => void logged.push({ level, message, ...facts })),
    clean: (text) => text.replaceAll("secret", "[redacted]"),
    onChange: () => void changes.push(server.status.state),
    policyNames: ["mcp__a__one", "mcp__a__*", "mcp__a__onne", "mcp__b__x", "think"],
    random: () => 0.5,
  });
  return { server, changes, opened, logged };
}

const unreachable = () => new SessionError({ kind: "unreachable", code: "ECONNREFUSED" }, "nobody is there");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

describe("discovery", () => {
  test("connects when somebody asks, and whoever asks at the same time shares it", async () => {
    const { server, opened, changes } = play(async () => ({}));
    expect(server.status).toEqual({ state: "idle" });
    expect(server.offer).toBeUndefined();
    const [one, other] = await Promise.all([server.discover(never), server.discover(never)]);
    expect(one).toBe(other);
    expect(one.tools.map(({ name }) => name)).toEqual(["mcp__a__one"]);
    expect(await server.discover(never)).toBe(one);
    expect(opened).toHaveLength(1);
    expect(changes).toEqual(["connecting", "ready"]);
    expect(server.status).toEqual({ state: "ready", serverInfo: "A 1" });
    await server.close();
  });

  test("whoever leaves does not end it for the others", async () => {
    let connect = (_: Partial<McpSession>): void => {};
    const { server } = play(() => new Promise((resolve) => (connect = resolve)));
    const left = new AbortController();
    const leaving = server.discover(left.signal);
    const staying = server.discover(never);
    left.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    connect({});
    expect((await staying).tools).toHaveLength(1);
    await server.close();
  });

  test("ends by itself when a server does not answer, and leaves nothing behind", async () => {
    let wasAborted = false;
    const { server } = play(
      (_, signal) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            wasAborted = true;
            reject(signal.reason);
          }),
        ),
    );
    const failed = failure(server.discover(never));
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await failed).message).toBe("MCP server a: it did not answer within 5 s");
    expect(wasAborted).toBe(true);
    expect(server.status).toMatchObject({ state: "down", reason: "it did not answer within 5 s" });
  });

  test("of a list without an end is given up", async () => {
    const close = vi.fn(async () => {});
    const { server } = play(async () => ({ close, listTools: async () => ({ ...page("one"), nextCursor: "more" }) }));
    expect((await failure(server.discover(never))).message).toBe(
      "MCP server a: its list of tools has more than 256 pages",
    );
    expect(close).toHaveBeenCalledOnce();
  });

  test("leaves out what can be no tool, and says so", async () => {
    const tools = [
      { name: "good", inputSchema: { type: "object" } },
      { name: "good", inputSchema: { type: "object" } },
      { name: "text", inputSchema: { type: "string" } },
      { name: "none" },
      { name: "large", inputSchema: { type: "object", description: "x".repeat(70_000) } },
      { name: "task", inputSchema: {}, execution: { taskSupport: "required" } },
      { inputSchema: {} },
      "?",
    ];
    const { server, logged } = play(async () => ({ listTools: async () => ({ tools, nextCursor: undefined }) }));
    const offer = await server.discover(never);
    expect(offer.tools.map(({ name }) => name)).toEqual(["mcp__a__good"]);
    const leftOut = logged.filter((line) => (line as { message: string }).message.endsWith("cannot be used"));
    expect(leftOut.map((line) => (line as { tool?: string }).tool)).toEqual([
      "text: its input is no object",
      "none: it has no input schema",
      "large: its schemas are too large",
      "task: it can only be run as a task",
      "a tool without a name",
      "a tool without a name",
      "good: it is there twice",
    ]);
    await server.close();
  });

  test("tells of a policy for a tool that is not there", async () => {
    const { server, logged } = play(async () => ({}));
    await server.discover(never);
    const slips = logged.filter((line) => (line as { message: string }).message.startsWith("agent.policy"));
    expect(slips).toMatchObject([{ tool: "mcp__a__onne", level: "warn" }]);
    await server.close();
  });

  test("takes secrets out of what a server says of itself", async () => {
    const tools = [{ name: "t", description: "my secret", inputSchema: { type: "object", description: "secret" } }];
    const { server } = play(async () => ({ listTools: async () => ({ tools, nextCursor: undefined }) }));
    const offer = await server.discover(never);
    expect(offer.json).not.toContain("secret");
    expect(offer.tools[0]!.description).toBe("my [redacted]");
    await server.close();
  });
});

describe("a server that is down", () => {
  test("rejects at once until it is due again, later and later", async () => {
    const { server, opened } = play(async () => Promise.reject(unreachable()));
    for (const [index, waitMs] of [1_000, 2_000, 4_000].entries()) {
      expect(await failure(server.discover(never))).toMatchObject({
        message: "MCP server a: nobody is there",
        kind: "connection_failed",
        code: "ECONNREFUSED",
      });
      expect(server.status).toEqual({ state: "down", reason: "nobody is there", retryAtMs: Date.now() + waitMs });
      const { message } = await failure(server.discover(never));
      expect(message).toBe(`MCP server a: nobody is there; it is tried again in ${waitMs / 1_000} s`);
      expect(opened).toHaveLength(index + 1);
      vi.advanceTimersByTime(waitMs);
    }
    for (let more = 0; more < 10; more++) {
      await failure(server.discover(never));
      vi.advanceTimersByTime(60_000);
    }
    await failure(server.discover(never));
    expect(server.status.retryAtMs).toBe(Date.now() + 60_000);
  });

  test("and hangs when it is tried again keeps nobody waiting for long; when it comes, it is there", async () => {
    let connect = (_: Partial<McpSession>): void => {};
    let tries = 0;
    const { server } = play(() =>
      tries++ === 0 ? Promise.reject(unreachable()) : new Promise((resolve) => (connect = resolve)),
    );
    await failure(server.discover(never));
    vi.advanceTimersByTime(1_000);
    const asked = failure(server.discover(never));
    await vi.advanceTimersByTimeAsync(2_000);
    const { message } = await asked;
    expect(message).toContain("it could not be had, and is still being tried again");
    expect(server.status.state).toBe("connecting");
    connect({});
    await vi.advanceTimersByTimeAsync(1);
    expect(server.offer?.tools).toHaveLength(1);
    await server.close();
  });

  test("says why without secrets", async () => {
    const { server } = play(async () => Promise.reject(new SessionError({ kind: "lost" }, "the secret is wrong")));
    await failure(server.discover(never));
    expect(server.status.reason).toBe("the [redacted] is wrong");
  });

  test("that was lost is tried again as soon as it is needed; one that is lost again soon, later", async () => {
    const { server, opened } = play(async () => ({}));
    await server.discover(never);
    opened.at(-1)!.onLost("it has ended");
    expect(server.offer).toBeUndefined();
    expect(server.status).toEqual({ state: "down", reason: "it has ended", retryAtMs: Date.now() });
    await server.discover(never);
    opened.at(-1)!.onLost("it has ended");
    expect((await failure(server.discover(never))).message).toContain("it is tried again in 1 s");
    vi.advanceTimersByTime(1_000);
    await server.discover(never);
    vi.advanceTimersByTime(10_000);
    opened.at(-1)!.onLost("it has ended");
    await server.discover(never);
    expect(opened).toHaveLength(4);
    await server.close();
  });
});

describe("a list that changes", () => {
  test("is read again once for many changes, and replaces the offer", async () => {
    let names = ["one"];
    const listTools = vi.fn(async () => page(...names));
    const { server, opened, changes } = play(async () => ({ listTools }));
    const before = await server.discover(never);
    names = ["one", "two"];
    for (let more = 0; more < 100; more++) opened[0]!.onToolsChanged();
    await vi.advanceTimersByTimeAsync(200);
    expect(listTools).toHaveBeenCalledTimes(2);
    expect(server.offer?.tools.map(({ name }) => name)).toEqual(["mcp__a__one", "mcp__a__two"]);
    expect(before.tools).toHaveLength(1);
    expect(changes).toEqual(["connecting", "ready", "ready"]);
    await server.close();
  });

  test("and holds much that can be no tool does not fill the log", async () => {
    let at = 0;
    const bad = () => Array.from({ length: 500 }, () => ({ name: `bad ${at++}` }));
    const { server, opened, logged } = play(async () => ({
      listTools: async () => ({ tools: bad(), nextCursor: undefined }),
    }));
    await server.discover(never);
    for (let round = 0; round < 3; round++) {
      opened[0]!.onToolsChanged();
      await vi.advanceTimersByTimeAsync(2_000);
    }
    expect(at).toBe(2_000);
    expect(logged.filter((line) => "tool" in line && String(line.tool).startsWith("bad"))).toHaveLength(600);
    await server.close();
  });

  test("while it is read for the first time is read once more", async () => {
    const listTools = vi.fn(async () => page("one"));
    const { server } = play(async (events) => {
      events.onToolsChanged();
      return { listTools };
    });
    await server.discover(never);
    await vi.advanceTimersByTimeAsync(200);
    expect(listTools).toHaveBeenCalledTimes(2);
    await server.close();
  });

  test("and cannot be read stays as it was", async () => {
    let isBroken = false;
    const { server, opened } = play(async () => ({
      listTools: async () => (isBroken ? Promise.reject(unreachable()) : page("one")),
    }));
    const offer = await server.discover(never);
    isBroken = true;
    opened[0]!.onToolsChanged();
    await vi.advanceTimersByTimeAsync(200);
    expect(server.offer).toBe(offer);
    await server.close();
  });
});

describe("a call", () => {
  const callOf = async (server: McpServer, context = callContext()) =>
    (await server.discover(never)).tools[0]!.run({}, context);

  test("of a session that is over is sent once more, in a new one: the server has refused it", async () => {
    let calls = 0;
    const { server, opened } = play(async () => ({
      callTool: async () => {
        if (calls++ === 0) throw new SessionError({ kind: "expired" }, "over");
        return { content: [{ type: "text", text: "done" }] };
      },
    }));
    expect(await callOf(server)).toMatchObject({ summary: "done" });
    expect([calls, opened.length]).toEqual([2, 2]);
    await server.close();
  });

  test("that is refused so twice has failed", async () => {
    const expired = () => Promise.reject(new SessionError({ kind: "expired" }, "over"));
    const callTool = vi.fn(expired);
    const { server } = play(async () => ({ callTool }));
    expect(await failure(callOf(server))).toMatchObject({ kind: "connection_failed", ending: "failed" });
    expect(callTool).toHaveBeenCalledTimes(2);
    await server.close();
  });

  test("whose connection breaks is never sent again", async () => {
    const callTool = vi.fn(() => Promise.reject(new SessionError({ kind: "lost" }, "gone")));
    const { server } = play(async () => ({ callTool }));
    expect(await failure(callOf(server))).toMatchObject({ kind: "connection_lost", ending: "interrupted" });
    expect(callTool).toHaveBeenCalledOnce();
    await server.close();
  });

  test("that others run beside keeps its connection when one of them finds the server gone", async () => {
    let end = (_: Record<string, unknown>): void => {};
    const close = vi.fn(async () => {});
    let calls = 0;
    const { server } = play(async () => ({
      close,
      callTool: () => (calls++ === 0 ? new Promise((resolve) => (end = resolve)) : Promise.reject(unreachable())),
    }));
    const running = callOf(server);
    await failure(callOf(server));
    expect(server.status.state).toBe("down");
    expect(close).not.toHaveBeenCalled();
    end({ content: [{ type: "text", text: "done" }] });
    expect((await running).summary).toBe("done");
    expect(close).toHaveBeenCalledOnce();
  });
});

test("a server that is retired lets calls that are under way end, and begins no others", async () => {
  let end = (_: Record<string, unknown>): void => {};
  const close = vi.fn(async () => {});
  const callTool = vi.fn((): Promise<Record<string, unknown>> => new Promise((resolve) => (end = resolve)));
  const { server } = play(async () => ({ close, callTool }));
  const [tool] = (await server.discover(never)).tools;
  const running = tool!.run({}, callContext());
  await vi.waitFor(() => expect(callTool).toHaveBeenCalled());
  server.retire();
  expect((await failure(tool!.run({}, callContext()))).message).toContain("the server is stopping");
  end({ content: [{ type: "text", text: "done" }] });
  expect((await running).summary).toBe("done");
  expect(close).toHaveBeenCalledOnce();
});

test("a server that is closed while it is connected to leaves nothing behind", async () => {
  const { server } = play(
    (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const asked = failure(server.discover(never));
  await server.close();
  expect((await asked).message).toContain("the server is stopping");
  expect((await failure(server.discover(never))).message).toContain("the server is stopping");
});

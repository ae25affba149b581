// A real server in a process of its own, over streamable HTTP.
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { httpFetch } from "../../../src/tool/mcp/http-fetch.js";
import { McpServers } from "../../../src/tool/mcp/mcp-servers.js";
import { freePort, type HttpServer, startEverythingHttp, startOddHttp } from "../../support/mcp/servers.js";
import { address, callContext, failure, known, useServers } from "./support.js";

const connect = useServers();
const never = new AbortController().signal;
const directory = await mkdtemp(join(tmpdir(), "heddle-mcp-"));
const told = join(directory, "told");
let odd: HttpServer;
beforeAll(async () => {
  odd = await startOddHttp({ ODD_TOLD: told });
});
afterAll(async () => {
  await odd.kill();
  await rm(directory, { recursive: true });
});
const toldBy = () => readFile(told, "utf8").catch(() => "");

test("a server over HTTP does what one over stdio does", async () => {
  const { call, server } = connect(address(odd.url));
  const context = callContext();
  expect((await call("steps", { steps: 3, everyMs: 50 }, context)).summary).toBe("3 steps");
  expect(vi.mocked(context.progress).mock.calls).toHaveLength(3);
  expect(await call("fail")).toMatchObject({ isError: true, summary: "The disk is full" });
  expect(await failure(call("refuse"))).toMatchObject({ kind: "protocol_error", code: "-32602" });
  expect((await call("elicit")).summary).toContain("Heddle declines elicitation");
  expect((await call("flood")).summary).toBe("flooded");
  await call("grow");
  await vi.waitFor(() => expect(server.offer?.json).toContain('"late"'), { timeout: 10_000 });
});

test("headers go along with every request", async () => {
  const { call } = connect(address(odd.url, { Authorization: "Bearer of tidings" }));
  expect((await call("blab")).summary).toBe("The secret is Bearer of tidings");
  expect(await toldBy()).toContain("GET authorization: Bearer of tidings");
});

test("a call that is called off is told to the server, and lets go of its connection", async () => {
  const { call } = connect(address(odd.url));
  const stop = new AbortController();
  const running = call("hang", {}, { signal: stop.signal });
  await vi.waitFor(async () => expect(await toldBy()).toContain("hang began"), { timeout: 10_000 });
  stop.abort(new Error("Cancelled: enough"));
  await expect(running).rejects.toThrow("Cancelled: enough");
  await vi.waitFor(async () => expect(await toldBy()).toContain("called off: Cancelled: enough"), { timeout: 10_000 });
});

test("a call that is called off before its answer has begun lets go of its connection, too", async () => {
  let hang: (request: IncomingMessage) => void;
  const hung = new Promise<IncomingMessage>((resolve) => {
    hang = resolve;
  });
  const silent = createServer(async (request, response) => {
    const { id, method } = request.method === "POST" ? JSON.parse(await text(request)) : {};
    if (method === "tools/call") return hang(request);
    if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: [{ name: "wait", inputSchema: { type: "object" } }] },
    };
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  try {
    const { call } = connect(address(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`));
    const stop = new AbortController();
    const running = call("wait", {}, { signal: stop.signal });
    running.catch(() => {});
    const { socket } = await hung;
    const closed = once(socket, "close");
    stop.abort(new Error("Cancelled"));
    await expect(running).rejects.toThrow("Cancelled");
    await closed;
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});

test("a message over many lines is bounded like any other; many messages are not", async () => {
  const line = `data: ${"x".repeat(1024 * 1024)}\n`;
  const lengthy = createServer((request, response) => {
    response.setHeader("content-type", "text/event-stream");
    const end = request.url === "/one" ? "" : "\n";
    Readable.from(
      (function* () {
        for (let sent = 0; sent < 70; sent++) yield `${line}${end}`;
      })(),
    ).pipe(response);
  });
  await new Promise<void>((resolve) => lengthy.listen(0, "127.0.0.1", resolve));
  const http = httpFetch(undefined);
  const bytesOf = async (path: string): Promise<number> => {
    let bytes = 0;
    const { body } = await http.fetch(`http://127.0.0.1:${(lengthy.address() as AddressInfo).port}${path}`);
    for await (const piece of body!) bytes += piece.length;
    return bytes;
  };
  try {
    await expect(bytesOf("/one")).rejects.toThrow("a message that is too long");
    expect(await bytesOf("/many")).toBe(70 * (line.length + 1));
  } finally {
    http.close();
    lengthy.closeAllConnections();
    lengthy.close();
  }
});

test("a session that the server has forgotten is begun anew, and the call that was refused is sent there", async () => {
  const { call, server } = connect(address(odd.url));
  await call("echo", { text: "a" });
  await fetch(new URL("/sessions", odd.url));
  expect((await call("echo", { text: "b" })).summary).toBe("b");
  expect(server.status.state).toBe("ready");
});

test("calls of one session run side by side", async () => {
  const { call } = connect(address(odd.url));
  const calls = Array.from({ length: 20 }, (_, index) => call("echo", { text: `call ${index}` }));
  expect((await Promise.all(calls)).map(({ summary }) => summary)).toEqual(calls.map((_, index) => `call ${index}`));
});

describe("a server that goes away", () => {
  const started: HttpServer[] = [];
  const start = async (env: Record<string, string> = {}) => {
    const server = await startOddHttp(env);
    started.push(server);
    return server;
  };
  afterEach(() => Promise.all(started.splice(0).map((server) => server.kill())));

  test("X1: in the middle of a call: interrupted; then it is down; and back when it is back", async () => {
    const mortal = await start();
    const { call, server } = connect(address(mortal.url));
    const context = callContext();
    const running = failure(call("steps", { steps: 1_000, everyMs: 20 }, context));
    await vi.waitFor(() => expect(context.progress).toHaveBeenCalled(), { timeout: 10_000 });
    await mortal.kill();
    expect(await running).toMatchObject({
      kind: "connection_lost",
      ending: "interrupted",
      message: expect.stringContaining("whether the call had an effect is not known"),
    });
    const tool = server.offer?.tools[0];
    await vi.waitFor(async () => expect((await failure(call("echo", { text: "?" }))).kind).toBe("connection_failed"), {
      timeout: 10_000,
    });
    expect(tool === undefined || server.status.state === "down").toBe(true);
    await start({ ODD_PORT: String(mortal.port) });
    await vi.waitFor(async () => expect((await call("echo", { text: "back" })).summary).toBe("back"), {
      timeout: 20_000,
      interval: 200,
    });
  });

  test("X1: in a call whose answer could be taken up again: interrupted when it cannot", async () => {
    const mortal = await startEverythingHttp(await freePort());
    started.push(mortal);
    const { call } = connect(address(mortal.url));
    const context = callContext();
    const running = failure(call("trigger-long-running-operation", { duration: 60, steps: 600 }, context));
    await vi.waitFor(() => expect(context.progress).toHaveBeenCalled(), { timeout: 10_000 });
    await mortal.kill();
    expect(await running).toMatchObject({ kind: "connection_lost", ending: "interrupted" });
  });

  test("by itself in a call: interrupted", async () => {
    const mortal = await start();
    const { call } = connect(address(mortal.url));
    expect(await failure(call("die"))).toMatchObject({ kind: "connection_lost", ending: "interrupted" });
  });

  test("between calls: the next one fails, or was on its way already", async () => {
    const mortal = await start();
    const { call, tool } = connect(address(mortal.url));
    await call("echo", { text: "a" });
    const echo = await tool("echo");
    await mortal.kill();
    const { kind, ending } = await failure(echo.run({ text: "b" }, callContext()));
    expect(["connection_failed failed", "connection_lost interrupted"]).toContain(`${kind} ${ending}`);
  });
});

describe("an address where no server is", () => {
  const reasons = async (url: string) => failure(connect(address(url)).server.discover(never));

  test("nobody listens there", async () => {
    expect(await reasons("http://127.0.0.1:9/mcp")).toMatchObject({
      kind: "connection_failed",
      code: "ECONNREFUSED",
      message: "MCP server odd: 127.0.0.1:9 cannot be reached (ECONNREFUSED)",
    });
  });

  test("an error of HTTP is told with its status", async () => {
    expect(await reasons(new URL("/broken", odd.url).href)).toMatchObject({
      kind: "http_error",
      code: "500",
      message: "MCP server odd: the server answered with HTTP 500: out of order",
    });
  });

  test("a redirect to elsewhere is not followed", async () => {
    expect(await reasons(new URL("/elsewhere", odd.url).href)).toMatchObject({ kind: "http_error", code: "307" });
  });

  test("somebody who wants a token says so", async () => {
    const server = createServer((_, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const refused = await reasons(`http://127.0.0.1:${port}/mcp`);
    server.close();
    expect(refused).toMatchObject({
      kind: "http_error",
      code: "401",
      message: expect.stringContaining("check the headers"),
    });
  });

  test("a page of the web is no server", async () => {
    const server = createServer((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const refused = await reasons(`http://127.0.0.1:${port}/mcp`);
    server.close();
    expect(refused.message).toContain("does not answer as an MCP server does");
  });
});

describe("servers of threads", () => {
  const made: McpServers[] = [];
  afterEach(() => Promise.all(made.splice(0).map((servers) => servers.close())));
  const threadId = "thread";
  const serversWith = (allowHosts: readonly string[], resolver?: (host: string) => Promise<readonly string[]>) => {
    const network = resolver ? { network: { resolver } } : {};
    const servers = new McpServers({ servers: [], threadServers: true, allowHosts, version: "0", ...network });
    made.push(servers);
    return servers;
  };
  const brought = (url: string, headers: Record<string, string> = {}) => ({ label: "mine", url, headers });
  const serverOf = (servers: McpServers, url: string, hadHeaders = false) =>
    servers.forThread({ threadId, servers: [{ label: "mine", url, hadHeaders }] })[0]!;

  test("X3: are not reached on a private address, by looks or by name, unless the operator opened it", async () => {
    const looks = serverOf(serversWith([]), odd.url);
    expect((await failure(looks.discover(never))).message).toContain(
      "is not on the public internet, and the operator has not opened it (agent.mcp.allowHosts)",
    );
    const resolver = vi.fn(async () => ["93.184.216.34", "127.0.0.1"]);
    const name = serverOf(serversWith([], resolver), `http://tools.example.com:${odd.port}/mcp`);
    expect((await failure(name.discover(never))).message).toContain("is not on the public internet");
    expect(resolver).toHaveBeenCalledOnce();
    const opened = serversWith([`127.0.0.1:${odd.port}`]);
    opened.adopt(threadId, [brought(odd.url, { Authorization: "Bearer of thread" })]);
    const { call } = known(opened, serverOf(opened, odd.url, true));
    expect((await call("blab")).summary).toBe("The secret is Bearer of thread");
  });

  test("with headers cannot be reached when those are gone, and can when they are given anew", async () => {
    const servers = serversWith([`127.0.0.1:${odd.port}`]);
    const { message } = await failure(serverOf(servers, odd.url, true).discover(never));
    expect(message).toContain("call CreateThread again");
    servers.adopt(threadId, [brought(odd.url, { "X-Key": "12345678" })]);
    expect((await serverOf(servers, odd.url, true).discover(never)).tools.length).toBeGreaterThan(0);
  });

  test("keep their connection when the same headers are given again, and get another when those have changed", async () => {
    const servers = serversWith([`127.0.0.1:${odd.port}`]);
    servers.adopt(threadId, [brought(odd.url, { "X-Key": "12345678" })]);
    const first = serverOf(servers, odd.url, true);
    await first.discover(never);
    servers.adopt(threadId, [brought(odd.url, { "X-Key": "12345678" })]);
    expect(serverOf(servers, odd.url, true)).toBe(first);
    servers.adopt(threadId, [brought(odd.url, { "X-Key": "87654321" })]);
    const second = serverOf(servers, odd.url, true);
    expect(second).not.toBe(first);
    expect((await second.discover(never)).tools.length).toBeGreaterThan(0);
    await expect(first.discover(never)).rejects.toThrow("the server is stopping");
  });

  test("headers that were replaced stay secret for a while: calls that are under way may say them back", async () => {
    const servers = serversWith([]);
    const held = new Set<string>();
    const quiet = { debug: () => {}, info: () => {}, warn: () => {} };
    servers.reportTo(quiet, {
      text: (text) => text,
      hold: (secrets) => {
        for (const secret of secrets) held.add(secret);
        return () => {
          for (const secret of secrets) held.delete(secret);
        };
      },
    });
    const give = (key: string) => servers.adopt(threadId, [brought(odd.url, { "X-Key": key })]);
    for (const key of ["first-key", "second-key", "second-key", "second-key", "second-key"]) give(key);
    expect([...held]).toEqual(["first-key", "second-key"]);
    for (let more = 0; more < 10; more++) give(`key-${more}-of-many`);
    expect([...held]).toEqual([6, 7, 8, 9].map((more) => `key-${more}-of-many`));
    await servers.endThread(threadId);
    expect(held.size).toBe(0);
  });

  test("end with their thread", async () => {
    const servers = serversWith([`127.0.0.1:${odd.port}`]);
    servers.adopt(threadId, [brought(odd.url)]);
    const server = serverOf(servers, odd.url);
    await server.discover(never);
    expect(servers.counts()).toEqual({ idle: 0, connecting: 0, ready: 1, down: 0 });
    await servers.endThread(threadId);
    expect(servers.counts()).toEqual({ idle: 0, connecting: 0, ready: 0, down: 0 });
    await expect(server.discover(never)).rejects.toThrow("the server is stopping");
  });

  test("are told apart from those of other threads", () => {
    const servers = serversWith([]);
    const one = serverOf(servers, "https://example.com/mcp");
    const [other] = servers.forThread({
      threadId: "other",
      servers: [{ label: "mine", url: "https://example.com/mcp", hadHeaders: false }],
    });
    expect(one).not.toBe(other);
    expect(serverOf(servers, "https://example.com/mcp")).toBe(one);
  });
});

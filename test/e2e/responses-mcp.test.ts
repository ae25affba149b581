// MCP servers through the official SDKs: a real Heddle, real MCP servers in processes of their own, named by the request.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";
import { everythingServer, type HttpServer, startOddHttp } from "../support/mcp/servers.js";

const header = "header-secret-of-a-caller-13579";
const call = (name: string, input: object = {}) => ({ toolCall: { name, input } });
const turn = (message: string, name: string, input: object = {}) => ({
  user: { exact: message },
  replies: [{ events: [call(name, input)] }, { events: [{ text: "Done." }] }],
});

const wire = useWire();
let server: AgentServer;
let odd: HttpServer;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-responses-mcp-"));
  odd = await startOddHttp();
  server = await makeAgentServer({
    script: {
      turns: [
        turn("Echo", "mcp__mine__echo", { text: "hello" }),
        turn("Fail", "mcp__mine__fail"),
        turn("Ask first", "mcp__mine__echo", { text: "asked" }),
        turn("Look up", "mcp__mine__look_up"),
        turn("Reference", "mcp__everything__echo", { message: "hi" }),
        turn("Guarded", "mcp__guarded__echo", { message: "hi" }),
      ],
    },
    agent: { mcp: { threadServers: true, allowHosts: [`127.0.0.1:${odd.port}`] } },
    config: {
      mcpServers: {
        everything: { ...everythingServer(), policy: "allow" },
        guarded: { ...everythingServer(), policy: "ask" },
      },
    },
  });
  await server.start();
}, 60_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  await server.remove();
  await odd.kill();
  await rm(directory, { recursive: true });
});

const mine = (extra: object = {}) => ({
  type: "mcp" as const,
  server_label: "mine",
  server_url: odd.url,
  headers: { authorization: `Bearer ${header}` },
  ...extra,
});

describe.each(sdks)("$sdk", ({ Client }) => {
  const responses = (): OpenAI["responses"] =>
    new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch as typeof fetch })
      .responses;
  const ask = async (request: object) => {
    const stream = responses().stream(request as Parameters<OpenAI["responses"]["stream"]>[0]);
    const response = await stream.finalResponse();
    return { response, events: eventsIn(wire.last().text()) };
  };
  const typesOf = (events: readonly { type: string }[]) =>
    events.map(({ type }) => type).filter((type) => /mcp|output_item/.test(type));

  test("a server that the caller brings is listed, then called; its headers are neither kept nor shown", async () => {
    const { response, events } = await ask({ input: "Echo", tools: [mine({ require_approval: "never" })] });
    expect(response.status).toBe("completed");
    expect(typesOf(events).slice(0, 10)).toEqual([
      "response.output_item.added",
      "response.mcp_list_tools.in_progress",
      "response.mcp_list_tools.completed",
      "response.output_item.done",
      "response.output_item.added",
      "response.mcp_call.in_progress",
      "response.mcp_call_arguments.delta",
      "response.mcp_call_arguments.done",
      "response.mcp_call.completed",
      "response.output_item.done",
    ]);
    const [list, called] = response.output as unknown as [{ tools: unknown[] }, { output: string; name: string }];
    expect(list.tools.length).toBeGreaterThan(5);
    expect(called).toMatchObject({
      type: "mcp_call",
      name: "echo",
      server_label: "mine",
      status: "completed",
      error: null,
    });
    expect(called.output).toContain("hello");
    expect(JSON.stringify(response.tools)).not.toContain("headers");
    expect(wire.exchanges.map(({ text }) => text()).join()).not.toContain(header);
    for (const name of await readdir(server.dataDir, { recursive: true, withFileTypes: true }))
      if (name.isFile())
        expect((await readFile(join(name.parentPath ?? name.path, name.name))).includes(header)).toBe(false);
  });

  test("a call that fails has its own end, and the response goes on", async () => {
    const { response, events } = await ask({ input: "Fail", tools: [mine({ require_approval: "never" })] });
    expect(response.status).toBe("completed");
    expect(typesOf(events)).toContain("response.mcp_call.failed");
    expect(response.output.find(({ type }) => type === "mcp_call")).toMatchObject({
      status: "failed",
      output: null,
      error: { type: "mcp_tool_execution_error" },
    });
  });

  test("unless told otherwise the caller is asked, and its answer runs the call", async () => {
    const first = await ask({ input: "Ask first", tools: [mine()] });
    const request = first.response.output.find(({ type }) => type === "mcp_approval_request")!;
    expect(request).toMatchObject({ name: "echo", server_label: "mine" });
    const second = await ask({
      previous_response_id: first.response.id,
      input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
      tools: [mine()],
    });
    expect(second.response.output).toMatchObject([
      { type: "mcp_call", status: "completed", approval_request_id: request.id },
      { type: "message" },
    ]);
  });

  test("whoever names the tools that need no yes is asked for all others, whatever the server says of them", async () => {
    const never = (...tool_names: string[]) => mine({ require_approval: { never: { tool_names } } });
    const asked = await ask({ input: "Echo", tools: [never("look.up")] });
    expect(asked.response.output.at(-1)).toMatchObject({ type: "mcp_approval_request", name: "echo" });
    const free = await ask({ input: "Echo", tools: [never("look.up", "echo")] });
    expect(free.response.output.at(-1)).toMatchObject({ type: "message" });
  });

  test("tools are named as their server names them", async () => {
    const allowed = (...allowed_tools: string[]) => mine({ require_approval: "never", allowed_tools });
    const called = async (tools: object[]) =>
      (await ask({ input: "Look up", tools })).response.output.find(({ type }) => type === "mcp_call");
    expect(await called([allowed("look.up")])).toMatchObject({ name: "look.up", status: "completed" });
    expect(await called([allowed("*")])).toBeUndefined();
  });

  test("a filter that nobody can vouch for is refused by name", async () => {
    for (const [field, extra] of [
      ["allowed_tools", { allowed_tools: { read_only: true } }],
      ["require_approval.never", { require_approval: { never: { read_only: true } } }],
    ] as const)
      await expect(responses().create({ input: "Echo", tools: [mine(extra)] } as never)).rejects.toMatchObject({
        status: 400,
        param: `tools[0].${field}.read_only`,
      });
  });

  test("the operator's own servers are named by their labels", async () => {
    const tools = [{ type: "mcp" as const, server_label: "everything", require_approval: "never" as const }];
    const { response } = await ask({ input: "Reference", tools });
    expect(response.output.map(({ type }) => type)).toEqual(["mcp_list_tools", "mcp_call", "message"]);
  });

  test("a server that the operator wants to be asked for is asked for, whatever the caller says", async () => {
    const tools = [{ type: "mcp" as const, server_label: "guarded", require_approval: "never" as const }];
    const { response } = await ask({ input: "Guarded", tools });
    expect(response.output.map(({ type }) => type)).toEqual(["mcp_list_tools", "mcp_approval_request"]);
  });

  test("one that nobody knows is refused by name", async () => {
    const tools = [{ type: "mcp" as const, server_label: "nobody" }];
    await expect(responses().create({ input: "Echo", tools } as never)).rejects.toMatchObject({
      status: 400,
      param: "tools[0].server_url",
    });
  });
});

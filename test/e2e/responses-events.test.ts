// How many kinds of events a real server emits, each in its place: one stream for each way a run can go.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Script } from "../../src/model/script.js";
import type { AgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";
import { eventTypes } from "../fixtures/responses/open-responses.js";
import { type SearchingServer, startSearchingServer } from "../fixtures/responses/searching-server.js";
import { checkOrder } from "../projection/responses/order-rules.js";

const call = (name: string, input: object) => ({ toolCall: { name, input } });
const done = { events: [{ text: "Done." }] };

const script: Script = {
  chunk: 7,
  turns: [
    { user: { exact: "think" }, replies: [{ events: [{ reasoning: "Hm." }, { text: "Four." }] }] },
    { user: { exact: "refuse" }, replies: [{ events: [{ refusal: "No." }] }] },
    { user: { exact: "be cut off" }, replies: [{ events: [{ text: "Once" }, { end: "truncated" }] }] },
    { user: { exact: "fail" }, replies: [{ events: [{ fail: { kind: "unauthorized" } }] }] },
    { user: { exact: "ask" }, replies: [{ events: [call("get_weather", { town: "Ulm" })] }] },
    { user: { exact: "search" }, replies: [{ events: [call("web_search", { query: "looms" })] }, done] },
    { user: { exact: "look up" }, replies: [{ events: [call("file_search", { query: "refund" })] }, done] },
    {
      user: { exact: "compute" },
      replies: [{ events: [call("code_interpreter", { language: "javascript", code: "6 * 7" })] }, done],
    },
    {
      user: { exact: "read" },
      replies: [
        { events: [call("read_file", { path: "here.txt" }), call("read_file", { path: "missing.txt" })] },
        done,
      ],
    },
  ],
};

const wire = useWire();
let searching: SearchingServer;
let server: AgentServer;
beforeAll(async () => {
  searching = await startSearchingServer(script);
  server = searching.server;
}, 60_000);
afterAll(async () => {
  await searching[Symbol.asyncDispose]();
});

const weather = { type: "function" as const, name: "get_weather", parameters: { type: "object" }, strict: false };
const own = { type: "mcp" as const, server_label: "heddle" };
const runs = [
  { input: "think" },
  { input: "think", background: true },
  { input: "refuse" },
  { input: "be cut off" },
  { input: "fail" },
  { input: "ask", tools: [weather] },
  { input: "search", tools: [{ type: "web_search" as const }] },
  { input: "look up", tools: [{ type: "file_search" as const, vector_store_ids: [] }] },
  { input: "compute", tools: [{ type: "code_interpreter" as const, container: { type: "auto" as const } }] },
  { input: "read", tools: [own] },
];

/** Of servers of MCP, and of models that cite: another suite has those. */
const elsewhere = [
  "response.mcp_list_tools.in_progress",
  "response.mcp_list_tools.completed",
  "response.mcp_list_tools.failed",
  "response.output_text.annotation.added",
];

test("at least 30 types, and all that the door knows but those of other suites", async () => {
  const client = new sdks[1].Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch });
  const seen = new Set<string>();
  for (const asked of runs) {
    await client.responses.stream({ ...asked, input: asked.input }).finalResponse();
    const events = eventsIn(wire.last().text());
    checkOrder(events.map(({ sequence_number: number, ...frame }) => ({ number, frame })));
    for (const { type } of events) seen.add(type);
    for (const event of events)
      if (/_call(_arguments|_code)?\./.test(event.type))
        expect(event).toMatchObject({ name: expect.stringMatching(/\w/), output_index: expect.any(Number) });
  }
  expect(seen.size).toBeGreaterThanOrEqual(30);
  const known = [...eventTypes.plain, ...eventTypes.hosted];
  expect(known.filter((type) => !seen.has(type)).sort()).toEqual([...elsewhere].sort());
});

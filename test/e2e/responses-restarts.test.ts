// Responses and the end of a server: kill -9 in the middle, and the next start. What somebody waited for on a connection ends; what runs
// in the background goes on (responses-streams.test.ts); what was not to be stored is gone.
import { expect, test, vi } from "vitest";
import { openLmdbLog } from "../../src/log/lmdb.js";
import type { Script } from "../../src/model/script.js";
import { useAgentServers } from "../fixtures/engine/agent-server.js";
import { useGate } from "../fixtures/engine/gate.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";
import { checkEvents } from "../fixtures/responses/open-responses.js";
import { openApi } from "../projection/responses/api.js";
import { replies, said } from "../support/agent.js";
import { openCore, storedEvents } from "../support/core.js";

const knock = (who: string) => ({ toolCall: { name: "knock", input: { who } } });
const script: Script = {
  turns: [
    { user: { exact: "Hello" }, replies: [{ events: [{ text: "Good morning." }] }] },
    {
      user: { exact: "Let her in" },
      replies: [{ events: [{ text: "I will knock." }, knock("Eve")] }, { events: [{ text: "She is in." }] }],
    },
    { user: { exact: "Look" }, replies: [{ events: [{ toolCall: { name: "look", input: {} } }] }] },
  ],
};

const gate = useGate();
const wire = useWire();
const makeServer = useAgentServers();
const own = { type: "mcp", server_label: "heddle" } as const;

const post = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

const threadsOf = async (url: string): Promise<unknown[]> => {
  const listed = await fetch(`${url}/heddle.v1.ThreadService/ListThreads`, post({}));
  return ((await listed.json()) as { threads?: unknown[] }).threads ?? [];
};

/** Reads until an event of the type has come, and gives the response's id: the stream stays open. */
async function readUntil(response: Response, type: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = response.body!.getReader();
  while (!eventsIn(text).some((event) => event.type === type)) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  reader.read().catch(() => {}); // The server is going to be killed.
  return (eventsIn(text)[0]!["response"] as { id: string }).id;
}

test("T1: one that somebody waited for does not go on: its calls are over, and it has failed", async () => {
  const server = await (await makeServer({ script, env: gate.env() })).start();
  const asked = await fetch(`${server.url}/v1/responses`, post({ input: "Let her in", stream: true, tools: [own] }));
  const id = await readUntil(asked, "response.mcp_call_arguments.done");
  await gate.knocked("Eve");
  await server.kill();
  await gate.left("Eve");
  await server.start();
  expect(await server.process.status()).toMatchObject({ runs: 0 });
  const client = new sdks[1].Client({ baseURL: `${server.url}/v1`, apiKey: "none", fetch: wire.fetch });
  const ended = await client.responses.retrieve(id);
  expect(ended).toMatchObject({
    status: "failed",
    error: { code: "server_error", message: expect.stringContaining("the server stopped") },
    output: [{ type: "message" }, { type: "mcp_call", status: "failed", output: null }],
  });
  const events = eventsIn(await (await fetch(`${server.url}/v1/responses/${id}?stream=true`)).text());
  checkEvents(events);
  expect(events.at(-1)).toMatchObject({ type: "response.failed" });
  // The thread is free: its caller asks again.
  const next = await client.responses.create({ input: "Hello", previous_response_id: id });
  expect(next).toMatchObject({ status: "completed", output_text: "Good morning." });
}, 60_000);

test("a server that is stopped tells whoever waits how it ended, and does not go on with it", async () => {
  const server = await (await makeServer({ script, env: gate.env() })).start();
  const asked = fetch(`${server.url}/v1/responses`, post({ input: "Let her in", stream: true, tools: [own] }));
  await gate.knocked("Eve");
  const told = (await asked).text();
  expect(await server.stop()).toBe(0);
  const events = eventsIn(await told);
  checkEvents(events);
  const { id } = events[0]!["response"] as { id: string };
  expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
  await server.start();
  expect(await server.process.status()).toMatchObject({ runs: 0 });
  const found = await (await fetch(`${server.url}/v1/responses/${id}`)).json();
  expect(found).toEqual(events.at(-1)!["response"]);
}, 60_000);

test("a server that is stopped cuts streams of what goes on in the background, and says no last word of them", async () => {
  const server = await (await makeServer({ script, env: gate.env() })).start();
  const request = post({ input: "Let her in", stream: true, background: true, tools: [own] });
  const asked = fetch(`${server.url}/v1/responses`, request);
  await gate.knocked("Eve");
  const told = (await asked).text();
  expect(await server.stop()).toBe(0);
  const before = await told;
  const seen = eventsIn(before);
  expect(before).not.toContain("[DONE]");
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.start();
  const { id } = seen[0]!["response"] as { id: string };
  const rest = await fetch(`${server.url}/v1/responses/${id}?stream=true&starting_after=${seen.length - 1}`);
  const after = await rest.text();
  checkEvents(eventsIn(before + after));
  expect(after).toMatch(/event: response\.completed\n.*\n\ndata: \[DONE\]\n\n$/);
}, 60_000);

test("one that waits for what its caller says goes on waiting", async () => {
  const server = await (await makeServer({ script, env: gate.env() })).start();
  const open = () => new sdks[1].Client({ baseURL: `${server.url}/v1`, apiKey: "none", fetch: wire.fetch });
  const tools = [{ type: "function" as const, name: "look", parameters: {}, strict: false }];
  const first = await open().responses.create({ input: "Look", tools });
  const call = first.output[0] as { call_id: string };
  await server.kill();
  await server.start();
  const input = [{ type: "function_call_output" as const, call_id: call.call_id, output: "dark" }];
  const answering = open().responses.create({ previous_response_id: first.id, input, tools });
  // The script has nothing more to say: the run has gone on.
  expect(await answering).toMatchObject({ status: "failed" });
}, 60_000);

test("store: false, killed in the middle: nothing of it is left", async () => {
  const server = await (await makeServer({ script, env: gate.env() })).start();
  const asked = post({ input: "Let her in", stream: true, store: false, tools: [own] });
  const id = await readUntil(await fetch(`${server.url}/v1/responses`, asked), "response.mcp_call_arguments.done");
  await gate.knocked("Eve");
  expect((await fetch(`${server.url}/v1/responses/${id}`)).status).toBe(200);
  await server.kill();
  await gate.left("Eve");
  await server.start();
  await vi.waitFor(async () => expect(await threadsOf(server.url)).toEqual([]), { timeout: 10_000, interval: 50 });
  expect((await fetch(`${server.url}/v1/responses/${id}`)).status).toBe(404);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
}, 60_000);

test("store: false, ended, and the server died before it was deleted: the next start does", async () => {
  const server = await makeServer({ script, env: gate.env() });
  const log = await openLmdbLog({ dir: server.dataDir });
  const core = openCore({ log, model: replies(...["One.", "Two.", "Three."].map(said)) });
  const { create } = openApi(core);
  const [kept, unstored] = [await create({ input: "Hello" }), await create({ input: "Hello", store: false })];
  for (const { events } of [kept, unstored]) expect((await events()).at(-1)?.frame.type).toBe("response.completed");
  expect((await storedEvents(core, unstored.stored.threadId)).at(-1)?.payload.case).toBe("runCompleted");
  // Deleted in part: it is marked, and its thread is still there.
  const half = await create({ input: "Hello" });
  await half.events();
  core.threads.delete = () => Promise.reject(new Error("The server dies here"));
  await expect(core.responses.delete(half.stored)).rejects.toThrow("dies here");
  core.feeds.close();
  core.recordings.dispose();
  await log.close();
  await server.start();
  await vi.waitFor(async () => expect(await threadsOf(server.url)).toHaveLength(1), { timeout: 10_000, interval: 50 });
  expect((await fetch(`${server.url}/v1/responses/${unstored.id}`)).status).toBe(404);
  expect((await fetch(`${server.url}/v1/responses/${kept.id}`)).status).toBe(200);
}, 60_000);

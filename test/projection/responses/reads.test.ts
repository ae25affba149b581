// Which bodies are read to tell a response: those that it shows, and what it may cite. A history of thousands of calls costs none.
import { expect, test } from "vitest";
import type { EventLog } from "../../../src/log/event-log.js";
import { called, replies, said, tool } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { type Created, openApi } from "./api.js";

const core = useCores();

/** The bodies that are read from now on, while the response is told: by its events, and as it stands. */
async function readsOf(log: EventLog, created: Created): Promise<string[]> {
  const { readBody } = log;
  const read: string[] = [];
  log.readBody = (key, body, range) => {
    read.push(body.contentId);
    return readBody.call(log, key, body, range);
  };
  await created.events();
  const byEvents = read.splice(0);
  await created.response();
  log.readBody = readBody;
  expect(read).toEqual(byEvents);
  return read;
}

const weather = { type: "function", name: "get_weather", parameters: { type: "object" } };
const own = { type: "mcp", server_label: "heddle" };

/** The id of the one call that the response ends with. */
async function asked(created: Created): Promise<{ readonly id: string; readonly call_id: string }> {
  const { output } = (await created.response()) as { output: { id: string; call_id: string; type: string }[] };
  return output.find(({ type }) => type === "function_call" || type === "mcp_approval_request")!;
}

test("of calls that the request itself tells: none", async () => {
  const opened = core({ model: replies(said("Done.")) });
  const past = Array.from({ length: 1_000 }, (_, at) => [
    { type: "function_call", call_id: `call_${at}`, name: "get_weather", arguments: `{"town":"${at}"}` },
    { type: "function_call_output", call_id: `call_${at}`, output: "rain" },
  ]);
  const input = [{ role: "user", content: "Weather?" }, ...past.flat(), { role: "user", content: "And now?" }];
  const created = await openApi(opened).create({ input, tools: [weather] });
  await created.events();
  expect(await readsOf(opened.log, created)).toEqual([]);
});

test("of calls of the responses before it in the run: none, and its own are read once", async () => {
  const towns = ["Ulm", "Bonn", "Rome"];
  const model = replies(
    ...towns.map((town) => called({ name: "get_weather", input: { town } })),
    called({ name: "read_file", input: { path: "a" } }),
    said("Done."),
  );
  const read = tool("read_file", async () => ({ summary: "Read a" }), { kind: "read" });
  const opened = core({ model, tools: [read], policy: { trusted: true } });
  const { create } = openApi(opened);
  let created = await create({ input: "Weather?", tools: [weather, own] });
  for (const _ of towns) {
    await created.events();
    const { call_id } = await asked(created);
    const input = [{ type: "function_call_output", call_id, output: "rain" }];
    created = await create({ previous_response_id: created.id, input, tools: [weather, own] });
  }
  await created.events();
  expect(await readsOf(opened.log, created)).toEqual(["input", "model"]);
});

test("of a call that waited for a yes: its input when it shows, and then what it gave", async () => {
  const write = tool("write_file", async () => ({ summary: "Wrote a" }), { kind: "edit" });
  const model = replies(called({ name: "write_file", input: { path: "a" } }), said("Written."));
  const opened = core({ model, tools: [write], policy: { trusted: false } });
  const { create } = openApi(opened);
  const first = await create({ input: "Write it", tools: [own] });
  await first.events();
  const { id } = await asked(first);
  const input = [{ type: "mcp_approval_response", approval_request_id: id, approve: true }];
  const second = await create({ previous_response_id: first.id, input, tools: [own] });
  await second.events();
  expect(await readsOf(opened.log, second)).toEqual(["input", "model"]);
  expect(await second.response()).toMatchObject({ output: [{ arguments: '{"path":"a"}', status: "completed" }, {}] });
});

test("what a search has found can be cited by a later response of the run", async () => {
  const url = "https://loom.example/";
  const search = tool("web_search", async () => ({ summary: "Found", result: { results: [{ url, title: "Looms" }] } }));
  const model = replies(
    called({ name: "web_search", input: { query: "looms" } }),
    called({ name: "get_weather", input: {} }),
    said(`See ${url}`),
  );
  const opened = core({ model, tools: [search] });
  const { create } = openApi(opened);
  const tools = [weather, { type: "web_search" }];
  const first = await create({ input: "Looms?", tools });
  await first.events();
  const input = [{ type: "function_call_output", call_id: (await asked(first)).call_id, output: "rain" }];
  const second = await create({ previous_response_id: first.id, input, tools });
  await second.events();
  expect(await readsOf(opened.log, second)).toEqual(["result"]);
  expect(await second.response()).toMatchObject({
    output: [{ content: [{ annotations: [{ url, title: "Looms" }] }] }],
  });
});

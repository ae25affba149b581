// Runs without hosted tools are as the OpenResponses specification says, in every golden file; and the check tells right from wrong.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  checkPlainEvents,
  checkPlainFrames,
  checkPlainResponse,
  eventFaults,
  isPlain,
  responseFaults,
  responseKeys,
  specifiedEvents,
} from "../../fixtures/responses/specification.js";
import { replies, said } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { openApi } from "./api.js";

const core = useCores();

type Event = { readonly type: string; readonly sequence_number: number; readonly [field: string]: unknown };
type Response = { readonly tools: readonly { readonly type: string }[]; readonly output: readonly object[] };

const folder = new URL("golden/", import.meta.url);
/** A file may have several responses, one after the other. */
const streams = readdirSync(folder).flatMap((name) =>
  readFileSync(new URL(name, folder), "utf8")
    .split(/(?=^event: response\.created$)/m)
    .filter((stream) => stream.trim() !== "")
    .map((stream, at) => ({ name: `${name} ${at + 1}`, stream, events: eventsOf(stream) })),
);

function eventsOf(stream: string): Event[] {
  return [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!) as Event);
}

const plain = streams.filter(({ events }) => isPlain(events[0]!["response"] as Response));

test.each(plain)("$name", ({ stream, events }) => {
  checkPlainFrames(stream);
  checkPlainEvents(events);
});

test("they are of every kind that there is without hosted tools", () => {
  const files = new Set(plain.map(({ name }) => name.replace(/\.sse.*$/, "")));
  for (const name of ["text", "reasoning", "refusal", "function", "parallel-functions", "incomplete", "failed"])
    expect(files).toContain(name);
  for (const name of ["cancelled", "broken-reply"]) expect(files).toContain(name);
  const seen = new Set(plain.flatMap(({ events }) => events.map(({ type }) => type)));
  expect([...seen].filter((type) => !specifiedEvents.includes(type))).toEqual([]);
});

test("the specification has 24 events, and 31 keys of a response", () => {
  expect([specifiedEvents.length, responseKeys.length]).toEqual([24, 31]);
});

describe("what a request says is said again as the specification has it", () => {
  const named = { type: "function", name: "get_weather" };
  const schema = { type: "object", properties: {} };
  const nothing = ["instructions", "metadata", "temperature", "top_p", "max_output_tokens", "max_tool_calls"];
  const more = ["reasoning", "text", "truncation", "service_tier", "parallel_tool_calls", "tool_choice", "tools"];

  test.each([
    { tools: [named] },
    { tools: [{ ...named, parameters: schema, strict: true, description: "The weather." }], tool_choice: "required" },
    { tools: [named], tool_choice: named },
    { tool_choice: "none", parallel_tool_calls: false, max_tool_calls: 3 },
    { text: { format: { type: "json_schema", name: "place", schema } } },
    { text: { format: { type: "json_object" }, verbosity: "low" } },
    { reasoning: { effort: "low" } },
    { reasoning: { effort: "minimal", summary: "auto" } },
    { temperature: 0.5, top_p: 0.1, max_output_tokens: 100, top_logprobs: 0 },
    { metadata: { a: "b" }, user: "u", safety_identifier: "s", prompt_cache_key: "k" },
    { truncation: "auto", service_tier: "auto", instructions: "Be brief." },
    Object.fromEntries([...nothing, ...more].map((field) => [field, null])),
  ])("%j", async (request) => {
    const model = { ...replies(said("{}")), formats: ["json_schema" as const, "json_object" as const] };
    const created = await openApi(core({ model })).create({ input: "Hello", ...request });
    checkPlainEvents((await created.wire()).split("\n\n").flatMap(eventsOf));
    checkPlainResponse(await created.response());
  });
});

describe("the check", () => {
  const { events } = plain.find(({ name }) => name.startsWith("function"))!;
  const response = events.at(-1)!["response"] as Readonly<Record<string, unknown>>;

  test.each(responseKeys)("misses %s of a response", (key) => {
    const { [key]: _, ...rest } = response;
    expect(responseFaults(response)).toEqual([]);
    expect(responseFaults(rest)).not.toEqual([]);
  });

  test("misses each field of each event", () => {
    for (const event of plain.flatMap(({ events }) => events)) {
      const optional = new Set(["logprobs", "heddle", "name"]);
      for (const field of Object.keys(event).filter((name) => !optional.has(name))) {
        const { [field]: _, ...rest } = event;
        expect(eventFaults(rest as unknown as Event), `${event.type} without ${field}`).not.toEqual([]);
      }
    }
  });

  test.each([
    ["null where a number must be", { ...response, temperature: null }],
    ["an item of a hosted tool", { ...response, output: [{ type: "mcp_call", id: "mcp_1", status: "completed" }] }],
    ["a status that messages do not have", { ...response, output: [{ type: "message", status: "failed" }] }],
    ["a function without what it must say again", { ...response, tools: [{ type: "function", name: "a" }] }],
  ])("sees %s", (_, value) => {
    expect(responseFaults(value)).not.toEqual([]);
  });

  test("sees an event that the specification does not have", () => {
    expect(eventFaults({ type: "response.mcp_call.in_progress" })).not.toEqual([]);
    expect(eventFaults({ type: "response.reasoning_text.delta" })).not.toEqual([]);
  });
});

// Functions that callers run, where it gets difficult: a call that the length limit cuts off, and several ways to go on from one call.
import type { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Script } from "../../src/model/script.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";

const weatherIn = (town: string) => ({ toolCall: { name: "get_weather", input: { town } } });
const script: Script = {
  chunk: 7,
  turns: [
    {
      user: { exact: "Weather in Ulm and Bonn?" },
      replies: [
        {
          events: [
            { text: "I will look." },
            weatherIn("Ulm"),
            { toolCall: { name: "get_weather", input: '{"town": "Bo' } },
            { end: "truncated" },
          ],
        },
      ],
    },
    { user: { exact: "Shorter" }, replies: [{ events: [{ text: "Rain." }] }] },
    {
      user: { exact: "Read" },
      replies: [
        { events: [{ toolCall: { name: "read_file", input: '{"path": "he' } }, { end: "truncated" }] },
        { events: [{ text: "I have not been cut off." }] },
      ],
    },
    {
      user: { exact: "Weather in Ulm?" },
      replies: [
        { events: [{ text: "I will look." }, weatherIn("Ulm")] },
        { expect: { toolResults: 1, lastTool: "rain" }, events: [{ text: "It rains." }] },
      ],
    },
    {
      user: { exact: "And in Ulm?" },
      replies: [
        { events: [weatherIn("Ulm")] },
        { expect: { toolResults: 1, lastTool: "sun" }, events: [{ text: "The sun shines." }] },
      ],
    },
    {
      user: "Break off",
      replies: [
        {
          attempts: [
            { events: [weatherIn("Ulm"), { text: "I will" }, { fail: { kind: "broken" } }] },
            { events: [weatherIn("Ulm")] },
          ],
        },
        { expect: { toolResults: 1, lastTool: "rain" }, events: [{ text: "It rains." }] },
      ],
    },
    { user: { exact: "And then?" }, replies: [{ events: [{ text: "Night." }] }] },
  ],
};

const wire = useWire();
let server: AgentServer;
beforeAll(async () => {
  server = await makeAgentServer({ script });
  await server.start();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.remove();
});

const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const tools = [{ type: "function" as const, name: "get_weather", parameters, strict: false }];
const callsOf = ({ output }: OpenAI.Responses.Response) =>
  output.filter((item): item is OpenAI.Responses.ResponseFunctionToolCall => item.type === "function_call");
const answerTo = ({ call_id }: { call_id: string }, output: string) => ({
  type: "function_call_output" as const,
  call_id,
  output,
});

/** How each call of a response's thread ended, from the log. */
async function outcomesOf(responseId: string): Promise<string[]> {
  const hex = responseId.slice("resp_".length, "resp_".length + 32);
  const threadId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const listed = await fetch(`${server.url}/heddle.v1.ToolCallService/ListToolCalls`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId }),
  });
  const { toolCalls } = (await listed.json()) as { toolCalls: { outcome: string }[] };
  return toolCalls.map(({ outcome }) => outcome);
}

describe.each(sdks)("$sdk", ({ sdk, Client }) => {
  const open = () => new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch });

  test("T1: a call that the length limit cuts off ends the response incomplete, and nothing waits", async () => {
    const client = open();
    const asked = { input: "Weather in Ulm and Bonn?", tools, max_output_tokens: 16 };
    const cut = await client.responses.stream(asked).finalResponse();
    expect(cut).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [
        { type: "message", status: "completed" },
        { type: "function_call", status: "completed", arguments: '{"town":"Ulm"}' },
        { type: "function_call", status: "incomplete", arguments: '{"town": "Bo' },
      ],
    });
    expect(eventsIn(wire.last().text()).at(-2)).toMatchObject({
      type: "response.output_item.done",
      item: { status: "incomplete" },
    });
    expect(await client.responses.create(asked)).toMatchObject({ status: "incomplete" });
    const outcomes = await outcomesOf(cut.id);
    expect(outcomes.toSorted()).toEqual(["TOOL_CALL_OUTCOME_CANCELLED", "TOOL_CALL_OUTCOME_REJECTED"]);
    const input = callsOf(cut).map((call) => answerTo(call, "rain"));
    await expect(client.responses.create({ previous_response_id: cut.id, input, tools })).rejects.toMatchObject({
      status: 400,
      param: "input",
    });
    const next = await client.responses.create({ previous_response_id: cut.id, input: "Shorter", tools });
    expect(next).toMatchObject({ status: "completed", output_text: "Rain." });
  });

  test("the same for a tool that the server runs", async () => {
    const own = { type: "mcp" as const, server_label: "heddle", require_approval: "never" as const };
    const cut = await open()
      .responses.stream({ input: "Read", tools: [own] })
      .finalResponse();
    expect(cut).toMatchObject({
      status: "incomplete",
      output: [{ type: "mcp_call", status: "incomplete", arguments: '{"path": "he' }],
    });
    expect(await outcomesOf(cut.id)).toEqual(["TOOL_CALL_OUTCOME_REJECTED"]);
  });

  test("a call of a reply that broke off, and was made again: answered with the other, it does no harm", async () => {
    const client = open();
    const first = await client.responses.stream({ input: `Break off, ${sdk}`, tools }).finalResponse();
    const calls = callsOf(first);
    expect(calls).toHaveLength(2);
    const input = calls.map((call) => answerTo(call, "rain"));
    const second = await client.responses.create({ previous_response_id: first.id, input, tools });
    expect(second).toMatchObject({ status: "completed", output_text: "It rains." });
    expect(await client.responses.create({ previous_response_id: first.id, input, tools })).toMatchObject({
      output_text: "It rains.",
    });
  });

  test("a call is answered in several ways: each goes on by itself, from the same words", async () => {
    const client = open();
    const first = await client.responses.create({ input: "Weather in Ulm?", tools });
    const [call] = callsOf(first);
    const answered = { previous_response_id: first.id, input: [answerTo(call!, "rain")], tools };
    const [one, other] = await Promise.all([client.responses.create(answered), client.responses.create(answered)]);
    const late = await client.responses.stream(answered).finalResponse();
    for (const response of [one, other, late])
      expect(response).toMatchObject({ status: "completed", output_text: "It rains.", previous_response_id: first.id });
    expect(new Set([one, other, late].map(({ id }) => id)).size).toBe(3);
    // With words behind the answer.
    const input = [answerTo(call!, "rain"), { role: "user" as const, content: "And then?" }];
    expect(await client.responses.create({ ...answered, input })).toMatchObject({ output_text: "Night." });
    // Each way is gone on from.
    for (const { id } of [one, other, late]) {
      const next = await client.responses.create({ previous_response_id: id, input: "And then?", tools });
      expect(next.output_text).toBe("Night.");
    }
  });

  test("an earlier call, when the conversation has long gone on, is answered in another way", async () => {
    const client = open();
    const first = await client.responses.create({ input: "And in Ulm?", tools });
    const [call] = callsOf(first);
    const wet = await client.responses.create({
      previous_response_id: first.id,
      input: [answerTo(call!, "rain")],
      tools,
    });
    expect(wet.status).toBe("failed"); // The script wants the sun.
    const dry = await client.responses.create({
      previous_response_id: first.id,
      input: [answerTo(call!, "sun")],
      tools,
    });
    expect(dry.output_text).toBe("The sun shines.");
  });

  test("what waited there must be answered, and nothing else can be", async () => {
    const client = open();
    const first = await client.responses.create({ input: "Weather in Ulm?", tools });
    const [call] = callsOf(first);
    const goOn = (previous_response_id: string, input: OpenAI.Responses.ResponseInput | string) =>
      client.responses.create({ previous_response_id, input, tools });
    const second = await goOn(first.id, [answerTo(call!, "rain")]);
    await expect(goOn(first.id, "And then?")).rejects.toMatchObject({
      status: 400,
      param: "input",
      message: expect.stringContaining(call!.call_id),
    });
    const third = await goOn(second.id, "And then?");
    expect(third.output_text).toBe("Night.");
    await expect(goOn(second.id, [answerTo(call!, "rain")])).rejects.toMatchObject({ status: 400, param: "input" });
  });
});

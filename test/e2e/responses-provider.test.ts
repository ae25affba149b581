// What a caller asks through the SDK is what the model's provider is asked: instructions, sampling, tools, choices and history.
import { expect, test } from "vitest";
import { useAgentServers } from "../fixtures/engine/agent-server.js";
import { sdks, useWire } from "../fixtures/responses/door.js";
import { type ModelWire, openaiChunk, openaiSse, openModelWire } from "../support/model-wire.js";

const received = useWire();
const useServer = useAgentServers();

async function open(wire: ModelWire) {
  const env = { OPENAI_API_KEY: "a-key-of-the-provider", OPENAI_BASE_URL: wire.openaiUrl };
  const server = await useServer({ script: "knocking.json", agent: { model: "openai:gpt-test" }, env });
  await server.start();
  const [{ Client }] = sdks;
  return new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: received.fetch });
}

const says = (text: string) => ({ body: openaiSse([openaiChunk({ content: text }), openaiChunk({}, "stop")]) });
const calls = (...towns: readonly string[]) => {
  const parts = towns.map((town, index) => ({
    index,
    id: `provider_${index}`,
    type: "function",
    function: { name: "get_weather", arguments: JSON.stringify({ town }) },
  }));
  return { body: openaiSse([openaiChunk({ tool_calls: parts }), openaiChunk({}, "tool_calls")]) };
};

const parameters = { type: "object", properties: { town: { type: "string" } } };
const weather = { type: "function" as const, name: "get_weather", description: "Of a town", parameters, strict: false };

test("instructions, sampling, limits and the choice of tools", async () => {
  await using wire = await openModelWire();
  wire.play(says("Good morning."), says("Good evening."), says("Good night."));
  const client = await open(wire);
  const first = await client.responses.create({
    model: "gpt-test",
    instructions: "Be brief.",
    input: [
      { role: "developer", content: "Be kind." },
      { role: "user", content: "Hello" },
    ],
    temperature: 0.25,
    top_p: 0.5,
    max_output_tokens: 50,
    parallel_tool_calls: false,
    tools: [weather],
    tool_choice: { type: "function", name: "get_weather" },
  });
  expect((await wire.request()).body).toMatchObject({
    model: "gpt-test",
    temperature: 0.25,
    top_p: 0.5,
    parallel_tool_calls: false,
    tools: [{ type: "function", function: { name: "get_weather", description: "Of a town", parameters } }],
    tool_choice: { type: "function", function: { name: "get_weather" } },
    messages: [{ content: expect.stringMatching(/Be brief\.\s+Be kind\./) }, { role: "user", content: "Hello" }],
  });
  // What the operator of the first request said does not hold for the next one.
  await client.responses.create({
    input: "And now?",
    previous_response_id: first.id,
    tools: [weather],
    tool_choice: "required",
  });
  const second = (await wire.request()).body as { messages: { role: string; content: string }[] };
  expect(second).toMatchObject({ tool_choice: "required" });
  expect(second).not.toHaveProperty("temperature");
  expect(JSON.stringify(second.messages)).not.toContain("Be brief.");
  expect(second.messages.slice(-3)).toMatchObject([
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Good morning." },
    { role: "user", content: "And now?" },
  ]);
  await client.responses.create({ input: "No tools" });
  expect((await wire.request()).body).not.toHaveProperty("tools");
});

test("a choice that comes with the outputs of calls holds for the reply to them", async () => {
  await using wire = await openModelWire();
  wire.play(calls("Ulm"), calls("Bonn"), says("Rain."));
  const client = await open(wire);
  const asked = { tools: [weather], tool_choice: "required" as const };
  const first = await client.responses.create({ input: "Weather?", ...asked });
  expect((await wire.request()).body).toMatchObject({ tool_choice: "required" });
  const answer = ({ output }: typeof first) =>
    output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "rain" }]
        : [],
    );
  const second = await client.responses.create({ previous_response_id: first.id, input: answer(first), ...asked });
  expect((await wire.request()).body).toMatchObject({ tool_choice: "required" });
  const input = answer(second);
  await client.responses.create({ previous_response_id: second.id, input, tools: [weather] });
  expect((await wire.request()).body).not.toMatchObject({ tool_choice: "required" });
});

test("penalties, which not every model takes", async () => {
  await using wire = await openModelWire();
  wire.play(says("Good morning."), says("Good evening."));
  const client = await open(wire);
  const asked = { presence_penalty: -0.5, frequency_penalty: 1.5 };
  expect(await client.responses.create({ input: "Hello", ...asked } as { input: string })).toMatchObject(asked);
  expect((await wire.request()).body).toMatchObject(asked);
  const none = { presence_penalty: 0, frequency_penalty: 0 };
  expect(await client.responses.create({ input: "Hello", ...none } as { input: string })).toMatchObject(none);
  expect((await wire.request()).body).not.toHaveProperty("presence_penalty");
});

test("allowed_tools: of the tools that are named, the model is offered those", async () => {
  await using wire = await openModelWire();
  const client = await open(wire);
  const mcp = { type: "mcp" as const, server_label: "heddle", allowed_tools: ["read_file", "list_directory"] };
  const book = { ...weather, name: "book" };
  const offered = async (mode: "auto" | "required", chosen: Record<string, unknown>[]) => {
    wire.play(says("Good morning."));
    const tool_choice = { type: "allowed_tools" as const, mode, tools: chosen };
    const response = await client.responses.create({ input: "Hello", tools: [weather, book, mcp], tool_choice });
    expect(response).toMatchObject({ status: "completed", tool_choice, tools: [weather, { name: "book" }, mcp] });
    const { body } = (await wire.request()) as {
      body: { tools: { function: { name: string } }[]; tool_choice?: string };
    };
    return { names: body.tools.map((tool) => tool.function.name).toSorted(), choice: body.tool_choice };
  };
  const own = { type: "mcp", server_label: "heddle" };
  expect((await offered("auto", [{ type: "function", name: "book" }])).names).toEqual(["book"]);
  expect(await offered("required", [{ type: "function", name: "get_weather" }, own])).toEqual({
    names: ["get_weather", "list_directory", "read_file"],
    choice: "required",
  });
  expect((await offered("auto", [{ ...own, name: "read_file" }])).names).toEqual(["read_file"]);
});

test("a tool of a server is demanded by name, a server as a whole as any tool", async () => {
  await using wire = await openModelWire();
  const client = await open(wire);
  const own = { type: "mcp" as const, server_label: "heddle" };
  for (const [name, choice] of [
    ["read_file", { type: "function", function: { name: "read_file" } }],
    [undefined, "required"],
  ] as const) {
    wire.play(says("Good morning."));
    await client.responses.create({ input: "Hello", tools: [own], tool_choice: { ...own, ...(name && { name }) } });
    expect((await wire.request()).body).toMatchObject({ tool_choice: choice });
  }
});

test("calls and their outputs: gone on with, told as history, and taken along into a branch, they are the same", async () => {
  await using wire = await openModelWire();
  wire.play(calls("Ulm", "Bonn"), says("Rain and sun."), says("Rain and sun."), says("Bonn."), says("Ulm."));
  const client = await open(wire);
  const first = await client.responses.create({ input: "Weather?", tools: [weather] });
  await wire.request();
  const outputs = first.output.flatMap((item, index) =>
    item.type === "function_call"
      ? [{ type: "function_call_output" as const, call_id: item.call_id, output: `weather ${index}` }]
      : [],
  );
  const told = async () => {
    const { messages } = (await wire.request()).body as { messages: Record<string, unknown>[] };
    return messages.filter(({ role }) => role !== "system" && role !== "developer").map(plain);
  };
  const second = await client.responses.create({ previous_response_id: first.id, input: outputs, tools: [weather] });
  const goneOn = await told();
  expect(goneOn).toEqual([
    { role: "user", content: "Weather?" },
    { role: "assistant", calls: ['get_weather {"town":"Ulm"}', 'get_weather {"town":"Bonn"}'] },
    { role: "tool", content: "weather 0" },
    { role: "tool", content: "weather 1" },
  ]);
  await client.responses.create({
    input: [{ role: "user", content: "Weather?" }, ...(first.output as typeof outputs), ...outputs],
    tools: [weather],
    store: false,
  });
  expect(await told()).toEqual(goneOn);
  const ask = (input: string) => client.responses.create({ previous_response_id: second.id, input, tools: [weather] });
  await ask("Where to?");
  const third = await told();
  expect(third.slice(0, 4)).toEqual(goneOn);
  await ask("Where to?");
  expect(await told()).toEqual(third);
});

/** Without ids: those are new each time. */
const plain = ({ role, content, tool_calls }: Record<string, unknown>) => ({
  role,
  ...(Array.isArray(tool_calls)
    ? { calls: tool_calls.map(({ function: { name, arguments: input } }) => `${name} ${input}`) }
    : { content }),
});

// Agents of OpenAI's agents SDK run on a real server: its functions run here, in the test, and Heddle's tools run there.
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  Agent,
  codeInterpreterTool,
  fileSearchTool,
  hostedMcpTool,
  OpenAIProvider,
  Runner,
  tool,
} from "@openai/agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Script } from "../../src/model/script.js";
import { heddle } from "../cli/support.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";

const call = (name: string, input: object) => ({ toolCall: { name, input } });

const script: Script = {
  chunk: 9,
  turns: [
    {
      user: { exact: "Weather in Ulm and Bonn?" },
      replies: [
        {
          events: [
            { reasoning: "Two towns." },
            call("get_weather", { town: "Ulm" }),
            call("get_weather", { town: "Bonn" }),
          ],
        },
        { expect: { toolResults: 2, lastTool: "sun in Bonn" }, events: [call("get_weather", { town: "Rome" })] },
        { expect: { lastTool: "sun in Rome" }, events: [{ text: "Rain in Ulm, sun in Bonn and Rome." }] },
      ],
    },
    { user: { exact: "Anything else?" }, replies: [{ events: [{ text: "That was all." }] }] },
    {
      user: { exact: "Look into everything" },
      replies: [
        {
          events: [
            call("file_search", { query: "refund" }),
            call("code_interpreter", { language: "javascript", code: "6 * 7" }),
            call("read_file", { path: "here.txt" }),
          ],
        },
        { expect: { toolResults: 3 }, events: [call("read_file", { path: "missing.txt" })] },
        { events: [{ text: "I have looked into policy.md." }] },
      ],
    },
    {
      user: { exact: "Write it" },
      replies: [
        { events: [call("write_file", { path: "note.txt", content: "hello\n" })] },
        { events: [{ text: "That is that." }] },
      ],
    },
  ],
};

const wire = useWire();
let server: AgentServer;
let runner: Runner;
beforeAll(async () => {
  server = await makeAgentServer({ script });
  await server.start();
  const folder = join(server.dir, "handbook");
  await mkdir(folder);
  await writeFile(join(folder, "policy.md"), "# Refunds\n\nA refund is paid within 30 days.\n");
  await writeFile(join(server.dir, "here.txt"), "hello\n");
  expect(await heddle(["index", folder, "--data", server.dataDir])).toMatchObject({ code: 0 });
  const openAIClient = new sdks[1].Client({
    baseURL: `${server.url}/v1`,
    apiKey: "none",
    maxRetries: 0,
    fetch: wire.fetch,
  });
  const modelProvider = new OpenAIProvider({ openAIClient: openAIClient as never, useResponses: true });
  runner = new Runner({ modelProvider, tracingDisabled: true });
}, 60_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.remove();
});

const asked: string[] = [];
const weather = tool({
  name: "get_weather",
  description: "The weather of a town.",
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => {
    asked.push(town);
    return `${town === "Ulm" ? "rain" : "sun"} in ${town}`;
  },
});

const agentWith = (tools: ConstructorParameters<typeof Agent>[0]["tools"]) =>
  new Agent({ name: "Weaver", instructions: "Be brief.", model: server.model, tools: tools! });

const hosted = () => [
  fileSearchTool([], { includeSearchResults: true }),
  codeInterpreterTool(),
  hostedMcpTool({ serverLabel: "heddle", allowedTools: ["read_file"] }),
];

describe.each([
  ["the history in the input", async () => ({})],
  ["previous_response_id", () => chained()],
])("a function, several rounds, with %s", (_, optionsOf) => {
  test("not streamed", async () => {
    asked.length = 0;
    const options = await optionsOf();
    const result = await runner.run(agentWith([weather]), "Weather in Ulm and Bonn?", options);
    expect(result.finalOutput).toBe("Rain in Ulm, sun in Bonn and Rome.");
    expect(asked).toEqual(["Ulm", "Bonn", "Rome"]);
    expect(result.newItems.map(({ type }) => type)).toContain("tool_call_output_item");
  });

  test("streamed", async () => {
    asked.length = 0;
    const options = await optionsOf();
    const result = await runner.run(agentWith([weather]), "Weather in Ulm and Bonn?", { ...options, stream: true });
    let text = "";
    for await (const chunk of result.toTextStream()) text += chunk;
    await result.completed;
    expect(text).toBe("Rain in Ulm, sun in Bonn and Rome.");
    expect(result.finalOutput).toBe(text);
    expect(asked).toEqual(["Ulm", "Bonn", "Rome"]);
  });
});

/** A response to go on from. */
async function chained(): Promise<{ previousResponseId: string }> {
  const result = await runner.run(agentWith(hosted()), "Look into everything");
  return { previousResponseId: result.lastResponseId! };
}

describe("tools of the server", () => {
  const kinds = ["hosted_tool_call", "hosted_tool_call", "hosted_tool_call", "hosted_tool_call"];

  test("not streamed", async () => {
    const result = await runner.run(agentWith(hosted()), "Look into everything");
    expect(result.finalOutput).toBe("I have looked into policy.md.");
    const items = result.newItems.map(({ rawItem }) => rawItem as { type: string; name?: string });
    expect(items.filter(({ type }) => type === "hosted_tool_call").map(({ type }) => type)).toEqual(kinds);
  });

  test("streamed: each stage of them passes through", async () => {
    const result = await runner.run(agentWith(hosted()), "Look into everything", { stream: true });
    const raw: string[] = [];
    for await (const event of result)
      if (event.type === "raw_model_stream_event" && event.data.type === "model")
        raw.push((event.data.event as { type: string }).type);
    await result.completed;
    expect(result.finalOutput).toBe("I have looked into policy.md.");
    for (const type of [
      "response.file_search_call.searching",
      "response.file_search_call.completed",
      "response.code_interpreter_call_code.delta",
      "response.code_interpreter_call.interpreting",
      "response.mcp_call.in_progress",
      "response.mcp_call.completed",
      "response.mcp_call.failed",
      "response.output_text.annotation.added",
    ])
      expect(raw).toContain(type);
    expect(raw).toEqual(eventsIn(wire.last().text()).map(({ type }) => type));
  });

  test.each([
    ["denied, with the history in the input", false, async () => ({})],
    ["denied, with previous_response_id", false, () => chained()],
    ["allowed, with the history in the input", true, async () => ({})],
    ["allowed, with previous_response_id", true, () => chained()],
  ])("an approval that the agent asks for: %s", async (_, isAllowed, optionsOf) => {
    await rm(join(server.dir, "note.txt"), { force: true });
    const agent = agentWith([
      hostedMcpTool({
        serverLabel: "heddle",
        allowedTools: ["write_file"],
        requireApproval: "always",
        onApproval: async () => ({ approve: isAllowed, reason: "because" }),
      }),
    ]);
    const result = await runner.run(agent, "Write it", await optionsOf());
    expect(result.finalOutput).toBe("That is that.");
    expect(existsSync(join(server.dir, "note.txt"))).toBe(isAllowed);
    // What came of it is told as history from now on.
    const again = await runner.run(agent, [...result.history, { role: "user", content: "Anything else?" }]);
    expect(again.finalOutput).toBe("That was all.");
  });
});

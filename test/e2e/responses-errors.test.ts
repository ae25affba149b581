// What the Responses door refuses, in OpenAI's shape: which field is wrong, and a code that programs know. As the SDKs see it, and as
// it comes over the wire.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { sdks, useWire } from "../fixtures/responses/door.js";

const wire = useWire();
const token = "a-token-of-this-test-0123456789";
let server: AgentServer;
beforeAll(async () => {
  const script = { replies: [{ events: [{ text: "Good morning." }] }] };
  server = await makeAgentServer({ script, env: { HEDDLE_TOKEN: token } });
  await server.start();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.remove();
});

const user = (content: unknown) => [{ role: "user", content }];
const allow = (tools: object[]) => ({
  input: "Hi",
  tools: [
    { type: "function", name: "a" },
    { type: "mcp", server_label: "heddle", allowed_tools: ["read_file"] },
  ],
  tool_choice: { type: "allowed_tools", mode: "auto", tools },
});
const unknownId = `resp_${"0".repeat(48)}`;
const knownThread = `resp_${"01890a5d-ac96-774b-bcce-b302099a8057".replaceAll("-", "")}${"1".padStart(16, "0")}`;

describe.each(sdks)("$sdk", ({ Client }) => {
  const open = (apiKey = token) =>
    new Client({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0, fetch: wire.fetch });

  test.each([
    ["an unknown field", { input: "Hi", colour: "red" }, "colour", "unknown_parameter"],
    ["an unknown field inside", { input: "Hi", text: { form: 1 } }, "text.form", "unknown_parameter"],
    ["a form that is not there", { input: "Hi", text: { format: { type: "xml" } } }, "text.format.type"],
    ["a conversation", { input: "Hi", conversation: "conv_1" }, "conversation", "unknown_parameter"],
    ["a prompt", { input: "Hi", prompt: { id: "pmpt_1" } }, "prompt", "unknown_parameter"],
    ["log probabilities", { input: "Hi", top_logprobs: 3 }, "top_logprobs"],
    ["no input", {}, "input", "missing_required_parameter"],
    ["an empty input", { input: "" }, "input", "missing_required_parameter"],
    ["an empty list", { input: [] }, "input", "missing_required_parameter"],
    ["a number for the input", { input: 3 }, "input"],
    ["a role that is not there", { input: [{ role: "wizard", content: "Hi" }] }, "input[0].role"],
    ["a part that is not there", { input: user([{ type: "input_smell", text: "x" }]) }, "input[0].content[0].type"],
    ["an unknown field of a message", { input: [{ role: "user", content: "Hi", mood: 1 }] }, "input[0].mood"],
    ["an item that is not there", { input: [{ type: "spell" }] }, "input[0].type"],
    [
      "a call without its output",
      { input: [{ type: "function_call", call_id: "c", name: "n", arguments: "{}" }] },
      "input",
    ],
    [
      "an output that is too long",
      { input: [{ type: "function_call_output", call_id: "c", output: "x".repeat(1_048_577) }] },
      "input[0].output",
    ],
    [
      "one in parts",
      {
        input: [
          {
            type: "function_call_output",
            call_id: "c",
            output: ["a", "b"].map((letter) => ({ type: "input_text", text: letter.repeat(600_000) })),
          },
        ],
      },
      "input[0].output",
    ],
    [
      "a call without a name",
      { input: [{ type: "function_call", call_id: "c", name: " ", arguments: "{}" }] },
      "input[0].name",
    ],
    ["another", { input: [{ type: "mcp_call", name: "n".repeat(201), arguments: "{}" }] }, "input[0].name"],
    ["more tokens than can be counted", { input: "Hi", max_output_tokens: 2 ** 32 }, "max_output_tokens"],
    ["more calls", { input: "Hi", max_tool_calls: 2 ** 53 - 1 }, "max_tool_calls"],
    ["a field with an endless name", { input: "Hi", ["k".repeat(100_000)]: 1 }, "k".repeat(64), "unknown_parameter"],
    [
      "an MCP server where none is taken",
      { input: "Hi", tools: [{ type: "mcp", server_label: "a", server_url: "https://a.example" }] },
      "tools",
      "mcp_not_allowed",
    ],
    ["too warm", { input: "Hi", temperature: 3 }, "temperature"],
    ["text for a number", { input: "Hi", top_p: "much" }, "top_p"],
    ["no room for a word", { input: "Hi", max_output_tokens: 0 }, "max_output_tokens"],
    ["no calls at all", { input: "Hi", max_tool_calls: 0 }, "max_tool_calls"],
    ["an unknown include", { input: "Hi", include: ["everything"] }, "include[0]"],
    ["metadata that is no text", { input: "Hi", metadata: { a: 1 } }, "metadata.a"],
    [
      "too much metadata",
      { input: "Hi", metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, ""])) },
      "metadata",
    ],
    ["an unsupported tool", { input: "Hi", tools: [{ type: "computer_use_preview" }] }, "tools[0].type"],
    ["a tool without a name", { input: "Hi", tools: [{ type: "function" }] }, "tools[0].name"],
    ["a name with a space", { input: "Hi", tools: [{ type: "function", name: "get it" }] }, "tools[0].name"],
    [
      "an unknown field of a tool",
      { input: "Hi", tools: [{ type: "function", name: "a", speed: 1 }] },
      "tools[0].speed",
    ],
    [
      "two functions of one name",
      {
        input: "Hi",
        tools: [
          { type: "function", name: "a" },
          { type: "function", name: "a" },
        ],
      },
      "tools",
    ],
    [
      "a hosted tool that is not set up",
      { input: "Hi", tools: [{ type: "web_search" }] },
      "tools[0]",
      "unsupported_tool",
    ],
    [
      "a server of the caller's under this server's own label",
      { input: "Hi", tools: [{ type: "mcp", server_label: "heddle", server_url: "https://a.example" }] },
      "tools[0].server_label",
    ],
    [
      "two calls of one id",
      {
        input: [
          { type: "function_call", call_id: "a", name: "look", arguments: "{}" },
          { type: "function_call", call_id: "a", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "a", output: "dark" },
        ],
      },
      "input[1].call_id",
    ],
    [
      "a built-in that is not there",
      { input: "Hi", tools: [{ type: "mcp", server_label: "heddle", allowed_tools: ["fly"] }] },
      "tools[0].allowed_tools",
    ],
    ["a choice that is not there", { input: "Hi", tool_choice: "maybe" }, "tool_choice"],
    [
      "a choice of a function that is not named",
      { input: "Hi", tool_choice: { type: "function", name: "a" } },
      "tool_choice",
    ],
    [
      "a choice of a server that is not named",
      { input: "Hi", tools: [{ type: "function", name: "a" }], tool_choice: { type: "mcp", server_label: "b" } },
      "tool_choice",
    ],
    ["a penalty that the model does not take", { input: "Hi", presence_penalty: 1 }, "presence_penalty"],
    ["the other one", { input: "Hi", frequency_penalty: -1 }, "frequency_penalty"],
    ["too much of it", { input: "Hi", frequency_penalty: 2.5 }, "frequency_penalty"],
    ["allowed tools that are none", allow([]), "tool_choice.tools"],
    ["an allowed tool that is not named", allow([{ type: "function", name: "b" }]), "tool_choice.tools[0]"],
    ["a hosted one", allow([{ type: "function", name: "a" }, { type: "file_search" }]), "tool_choice.tools[1]"],
    [
      "one of the server that is not named",
      allow([{ type: "mcp", server_label: "heddle", name: "write_file" }]),
      "tool_choice.tools[0].name",
    ],
    ["allowed in which way", { input: "Hi", tool_choice: { type: "allowed_tools", tools: [] } }, "tool_choice.mode"],
    ["a model that is not offered", { input: "Hi", model: "gpt-none" }, "model", "model_not_found"],
    ["background without store", { input: "Hi", background: true, store: false }, "background"],
    [
      "a previous response that is no id",
      { input: "Hi", previous_response_id: "resp_1" },
      "previous_response_id",
      "previous_response_not_found",
    ],
    [
      "a previous response that is not there",
      { input: "Hi", previous_response_id: knownThread },
      "previous_response_id",
      "previous_response_not_found",
    ],
    [
      "an approval of nothing",
      { input: [{ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true }] },
      "input[0].approval_request_id",
    ],
  ])("%s", async (_, body, param, code?: string) => {
    const asking = open().responses.create(body as { input: string });
    await expect(asking).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param,
      ...(code !== undefined && { code }),
    });
    await expect(asking).rejects.toThrow(/\S/);
  });

  test("a wrong token, and none", async () => {
    for (const client of [open("wrong"), open(" ")]) {
      const refused = { status: 401, code: "invalid_api_key" };
      await expect(client.responses.create({ input: "Hi" })).rejects.toMatchObject(refused);
      await expect(client.responses.retrieve(unknownId)).rejects.toMatchObject(refused);
      await expect(client.models.list()).rejects.toMatchObject(refused);
    }
  });

  test.each(["resp_1", unknownId, knownThread, "%2e%2e", "a b"])("an id that leads nowhere: %s", async (id) => {
    const { responses } = open();
    const gone = { status: 404, code: "response_not_found", message: expect.stringContaining("not found") };
    await expect(responses.retrieve(id)).rejects.toMatchObject(gone);
    await expect(responses.retrieve(id, { stream: true })).rejects.toMatchObject(gone);
    await expect(responses.cancel(id)).rejects.toMatchObject(gone);
    await expect(responses.delete(id)).rejects.toMatchObject(gone);
    await expect(responses.inputItems.list(id)).rejects.toMatchObject(gone);
  });

  test("a stream is refused like anything else", async () => {
    await expect(open().responses.stream({ input: "Hi", model: "gpt-none" }).finalResponse()).rejects.toMatchObject({
      status: 400,
      param: "model",
    });
  });
});

/** Objects in objects. */
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const nest = nested(20_000);
const deep = (field: string, open: string, close: string) =>
  `{"${field}":${open.repeat(20_000)}${open === "[" ? "" : "1"}${close.repeat(20_000)}}`;

describe("over the wire", () => {
  const ask = (path: string, init: RequestInit = {}) =>
    wire.fetch(`${server.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...init.headers },
    });

  test.each([
    ["bad JSON", "{", 400, { code: "invalid_json" }],
    ["no body", "", 400, { code: "invalid_json" }],
    ["a list", "[]", 400, {}],
    ["half a character", Buffer.from([0x22, 0xc3, 0x22]), 400, {}],
    ["nesting without end", `{"input":${"[".repeat(50_000)}`, 400, { param: "input[0]" }],
    ["a list that goes too deep", deep("input", "[", "]"), 400, { param: "input[0]", code: "invalid_value" }],
    ["metadata that goes too deep", deep("metadata", '{"a":', "}"), 400, { param: "metadata.a" }],
    ["a form that goes too deep", `{"input":"Hi","text":{"format":{"schema":${nest}}}}`, 400, { param: "text.format" }],
    [
      "a function whose parameters go too deep",
      `{"input":"Hi","tools":[{"type":"web_search"},{"type":"function","name":"a","parameters":${nest}}]}`,
      400,
      { param: "tools[1].parameters" },
    ],
    [
      "an item that goes too deep",
      `{"input":[{"role":"user","content":"{[{[\\"["},{"type":"reasoning","summary":${nest}}]}`,
      400,
      { param: "input[1].summary" },
    ],
    ["a body that goes too deep", nest, 400, { param: "a.a" }],
    ["as deep as can be", `{"input":"Hi","model":"none","reasoning":${nested(127)}}`, 400, { param: "model" }],
    ["too much", JSON.stringify({ input: "x".repeat(20 * 1024 * 1024) }), 413, {}],
  ])("%s", async (_, body, status, error) => {
    const response = await ask("/v1/responses", { method: "POST", body });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", ...error } });
  });

  test.each([
    ["GET", "/v1/nothing", 404, "unknown_url"],
    ["PUT", "/v1/responses", 405, "method_not_supported"],
    ["GET", "/v1/responses", 405, "method_not_supported"],
    ["GET", "/v1/responses/%E0%A4%A", 404, "response_not_found"],
    ["GET", `/v1/responses/${unknownId}?stream=true&starting_after=soon`, 404, "response_not_found"],
  ])("%s %s", async (method, path, status, code) => {
    const response = await ask(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test.each([
    ["?stream=true&starting_after=soon", "starting_after"],
    ["?stream=true&starting_after=-1", "starting_after"],
    ["?stream=true&starting_after=1.5", "starting_after"],
    ["?stream=true&starting_after=", "starting_after"],
    ["?stream=true&starting_after=99999999999999999999", "starting_after"],
    ["?stream=maybe", "stream"],
    ["/input_items?limit=0", "limit"],
    ["/input_items?limit=101", "limit"],
    ["/input_items?limit=-3", "limit"],
    ["/input_items?limit=many", "limit"],
    ["/input_items?order=up", "order"],
    ["/input_items?after=item_99", "after"],
    ["/input_items?after=", "after"],
  ])("a parameter that is wrong: %s", async (query, param) => {
    const created = await ask("/v1/responses", { method: "POST", body: JSON.stringify({ input: "Hi" }) });
    const { id } = (await created.json()) as { id: string };
    const response = await ask(`/v1/responses/${id}${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param, code: "invalid_value" } });
  });

  test("without a token nothing is told", async () => {
    const response = await wire.fetch(`${server.url}/v1/models`);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  });
});

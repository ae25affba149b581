import { describe, expect, test } from "vitest";
import { openaiModel } from "../../src/model/openai.js";
import { providerSuite } from "../conformance/model-provider.js";
import { type ModelWire, openaiChunk, openaiSse } from "../support/model-wire.js";
import { eventsOf, failureOf, question, textIn, useWire } from "../support/provider-model.js";

const under = { create: openaiModel, urlOf: (wire: ModelWire) => wire.openaiUrl };
const first = openaiSse([openaiChunk({ role: "assistant", content: "" }), openaiChunk({ content: "one" })], {
  done: false,
});
const said = first + openaiSse([openaiChunk({ content: "two" }), openaiChunk({}, "stop")]);

describe("openai", () =>
  providerSuite({
    ...under,
    name: "openai",
    keyVariable: "OPENAI_API_KEY",
    baseUrlVariable: "OPENAI_BASE_URL",
    keyOf: ({ headers }) => headers.authorization?.replace("Bearer ", ""),
    reply: { body: said, secondAt: first.length },
    failureEvent: (error) => `data: ${JSON.stringify({ error })}\n\n`,
    images: {
      bytes: { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K", detail: "low" } },
      url: { type: "image_url", image_url: { url: "https://loom.invalid/a.png" } },
    },
    environment: {
      OPENAI_API_KEY: "from-environment-1",
      OPENAI_ADMIN_KEY: "from-environment-2",
      OPENAI_ORG_ID: "from-environment-3",
      OPENAI_PROJECT_ID: "from-environment-4",
      OPENAI_BASE_URL: "http://from-environment.invalid/v1",
      OPENAI_CUSTOM_HEADERS: "authorization: Bearer from-environment-5\nx-more: from-environment-6",
      OPENAI_LOG: "debug",
    },
  }));

const wired = useWire(under);

describe("reading a chat completion", () => {
  test("text, reasoning of either name, and a refusal", async () => {
    const events = await wired.played(
      openaiSse([
        openaiChunk({ role: "assistant", content: null, reasoning_content: "hm" }),
        openaiChunk({ reasoning: "m" }),
        openaiChunk({ content: "yes" }),
        openaiChunk({ refusal: "no" }),
        openaiChunk({}, "stop"),
      ]),
    );
    expect(events).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "reasoning", text: "m" },
      { type: "text", text: "yes" },
      { type: "refusal", text: "no" },
      { type: "end", reason: "stop", providerReason: "stop" },
    ]);
  });

  test("M3: the usage comes after the finish reason, and before the end", async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const events = await wired.played(openaiSse([openaiChunk({ content: "a" }, "stop"), { choices: [], usage }]));
    expect(events.slice(1)).toEqual([
      {
        type: "usage",
        usage: { inputTokens: 20, cachedInputTokens: 5, outputTokens: 9, reasoningTokens: 3 },
      },
      { type: "end", reason: "stop", providerReason: "stop" },
    ]);
  });

  test("chunks without choices, delta or usage, and no [DONE]", async () => {
    const chunks = [
      {},
      { choices: null },
      { choices: [], usage: null },
      { choices: [{ delta: null }] },
      { choices: [{ delta: { content: "a", tool_calls: null }, finish_reason: "stop" }] },
      { usage: { prompt_tokens: 1 } },
    ];
    const events = await wired.played(openaiSse(chunks, { done: false }));
    expect(textIn(events)).toBe("a");
    expect(events.slice(1)).toEqual([
      { type: "usage", usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 } },
      { type: "end", reason: "stop", providerReason: "stop" },
    ]);
  });

  test.each([
    ["stop", "stop"],
    ["tool_calls", "stop"],
    ["length", "truncated"],
    ["content_filter", "filtered"],
    ["something_new", "stop"],
  ])("finish reason %s without calls is %s", async (providerReason, reason) => {
    const events = await wired.played(openaiSse([openaiChunk({ content: "a" }, providerReason)]));
    expect(events.at(-1)).toEqual({ type: "end", reason, providerReason });
  });

  test("M3: a gateway's finish reason error is a broken reply", async () => {
    wired.wire().play({ body: openaiSse([openaiChunk({ content: "a" }), openaiChunk({}, "error")]) });
    expect((await failureOf(wired.model())).kind).toBe("broken");
  });

  test("M4: an error inside the stream with an HTTP status for a code", async () => {
    wired.wire().play({ body: openaiSse([{ error: { code: 429, message: "upstream is busy" } }]) });
    expect(await failureOf(wired.model())).toMatchObject({ kind: "rate_limited" });
  });
});

describe("asking for a chat completion", () => {
  const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} } }];

  test("an answer in a form", async () => {
    const schema = { type: "object", properties: {} };
    const format = { type: "json_schema" as const, name: "place", description: "", schema, strict: true };
    expect(await wired.asked(said, { format })).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
    });
    expect(await wired.asked(said, { format: { type: "json_object" } })).toMatchObject({
      response_format: { type: "json_object" },
    });
    expect(wired.model().formats).toEqual(["json_object", "json_schema"]);
  });

  test("a plain question: nothing that could be left out", async () => {
    expect(await wired.asked(said, {})).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(wired.wire().requests[0]).toMatchObject({ method: "POST", path: "/v1/chat/completions" });
  });

  test("a conversation with calls", async () => {
    const { messages } = await wired.asked(said, {
      instructions: "Be brief.",
      messages: [
        { role: "user", text: "go" },
        {
          role: "assistant",
          text: "",
          calls: [
            { id: "u1", name: "look", input: '{ "a": 1 }' },
            { id: "u2", name: "look", input: '{"a' },
            { id: "u3", name: "look", input: "" },
          ],
        },
        { role: "tool", callId: "u1", text: "seen", isError: false },
        { role: "tool", callId: "u2", text: "broken", isError: true },
        { role: "tool", callId: "u3", text: "", isError: false },
        { role: "assistant", text: "", calls: [] },
        { role: "assistant", text: "more", calls: [{ id: "u4", name: "look", input: "{}" }] },
      ],
    });
    const toolCall = (id: string, input: string) => ({
      id,
      type: "function",
      function: { name: "look", arguments: input },
    });
    expect(messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [toolCall("u1", '{ "a": 1 }'), toolCall("u2", '{"invalid_json":"{\\"a"}'), toolCall("u3", "{}")],
      },
      { role: "tool", tool_call_id: "u1", content: "seen" },
      { role: "tool", tool_call_id: "u2", content: "broken" },
      { role: "tool", tool_call_id: "u3", content: "" },
      { role: "assistant", content: "" },
      { role: "assistant", content: "more", tool_calls: [toolCall("u4", "{}")] },
    ]);
  });

  test("tools, and the longest reply", async () => {
    const body = await wired.asked(said, { tools, maxOutputTokens: 100 });
    expect(body).toMatchObject({
      tools: [
        { type: "function", function: { name: "look", description: "Looks.", parameters: tools[0]!.inputSchema } },
      ],
      max_completion_tokens: 100,
    });
    expect(body).not.toHaveProperty("tool_choice");
    expect(body).not.toHaveProperty("parallel_tool_calls");
  });

  test.each([
    [{ type: "none" } as const, "none"],
    [{ type: "required" } as const, "required"],
    [{ type: "named", name: "look" } as const, { type: "function", function: { name: "look" } }],
  ])("tool choice %j", async (toolChoice, expected) => {
    expect((await wired.asked(said, { tools, toolChoice })).tool_choice).toEqual(expected);
  });

  test("one call at a time", async () => {
    expect((await wired.asked(said, { tools, parallelToolCalls: false })).parallel_tool_calls).toBe(false);
  });

  test("without tools nothing is said of them", async () => {
    const body = await wired.asked(said, { toolChoice: { type: "none" }, parallelToolCalls: false });
    expect(Object.keys(body)).toEqual(["model", "messages", "stream", "stream_options"]);
  });

  test("a server at home needs no key", async () => {
    wired.wire().play({ body: said });
    const keyless = openaiModel({ name: "m", apiKey: undefined, baseUrl: wired.wire().openaiUrl });
    expect(textIn(await eventsOf(keyless, question))).toBe("onetwo");
    expect(wired.wire().requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

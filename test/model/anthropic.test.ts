import { describe, expect, onTestFinished, test, vi } from "vitest";
import { anthropicModel } from "../../src/model/anthropic.js";
import { defaultMaxTokens } from "../../src/model/anthropic-request.js";
import { providerSuite } from "../conformance/model-provider.js";
import {
  anthropicBlock,
  anthropicMessage,
  anthropicSse,
  type ModelWire,
  type WireEvent,
} from "../support/model-wire.js";
import { eventsOf, useWire } from "../support/provider-model.js";

const under = { create: anthropicModel, urlOf: (wire: ModelWire) => wire.anthropicUrl };
const textDelta = (text: string) => ({ type: "text_delta", text });
const inputDelta = (partial_json: string) => ({ type: "input_json_delta", partial_json });
const text = { type: "text", text: "" };
const use = (id: string, name: string, input = {}) => ({ type: "tool_use", id, name, input });
const said = anthropicMessage(anthropicBlock(0, text, [textDelta("one"), textDelta("two")]), "end_turn");

describe("anthropic", () =>
  providerSuite({
    ...under,
    name: "anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    keyOf: ({ headers }) => headers["x-api-key"] as string | undefined,
    reply: { body: said, secondAt: said.lastIndexOf("event: content_block_delta") },
    failureEvent: (error) => `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`,
    images: {
      bytes: { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } },
      url: { type: "image", source: { type: "url", url: "https://loom.invalid/a.png" } },
    },
    environment: {
      ANTHROPIC_API_KEY: "from-environment-1",
      ANTHROPIC_AUTH_TOKEN: "from-environment-2",
      ANTHROPIC_BASE_URL: "http://from-environment.invalid",
      ANTHROPIC_CUSTOM_HEADERS: "x-api-key: from-environment-3\nauthorization: Bearer from-environment-4",
      ANTHROPIC_LOG: "debug",
    },
  }));

const wired = useWire(under);
const retiring = { name: "claude-sonnet-4-5" };

describe("reading a message", () => {
  test("M2: calls are counted from 0, with id and name at once and an end each", async () => {
    const events = await wired.played(
      anthropicMessage(
        [
          ...anthropicBlock(0, text, [textDelta("Let me look.")]),
          ...anthropicBlock(1, use("t1", "look"), [inputDelta(""), inputDelta('{"a"'), inputDelta(":1}")]),
          ...anthropicBlock(2, use("t2", "find"), [inputDelta("{}")]),
        ],
        "tool_use",
      ),
    );
    expect(events.filter(({ type }) => type !== "usage")).toEqual([
      { type: "text", text: "Let me look." },
      { type: "tool_call", index: 0, id: "t1", name: "look" },
      { type: "tool_call", index: 0, input: '{"a"' },
      { type: "tool_call", index: 0, input: ":1}" },
      { type: "tool_call_end", index: 0 },
      { type: "tool_call", index: 1, id: "t2", name: "find" },
      { type: "tool_call", index: 1, input: "{}" },
      { type: "tool_call_end", index: 1 },
      { type: "end", reason: "tool_calls", providerReason: "tool_use" },
    ]);
  });

  test("M2: blocks that interleave", async () => {
    const delta = (index: number, piece: string): WireEvent => ({
      type: "content_block_delta",
      index,
      delta: inputDelta(piece),
    });
    const blocks: WireEvent[] = [
      { type: "content_block_start", index: 0, content_block: use("t1", "look") },
      { type: "content_block_start", index: 1, content_block: use("t2", "look") },
      delta(1, '{"b"'),
      delta(0, '{"a"'),
      delta(1, ":2}"),
      { type: "content_block_stop", index: 1 },
      delta(0, ":1}"),
      { type: "content_block_stop", index: 0 },
    ];
    const events = await wired.played(anthropicMessage(blocks, "tool_use"));
    const inputs = ["", ""];
    for (const event of events) if (event.type === "tool_call") inputs[event.index] += event.input ?? "";
    expect(inputs).toEqual(['{"a":1}', '{"b":2}']);
    expect(events.filter(({ type }) => type === "tool_call_end")).toEqual([
      { type: "tool_call_end", index: 1 },
      { type: "tool_call_end", index: 0 },
    ]);
  });

  test("thinking is reasoning; what is not known is passed over", async () => {
    const events = await wired.played(
      anthropicMessage(
        [
          { type: "ping" },
          ...anthropicBlock(0, { type: "thinking", thinking: "", signature: "" }, [
            { type: "thinking_delta", thinking: "hm" },
            { type: "signature_delta", signature: "abc" },
          ]),
          ...anthropicBlock(1, { type: "redacted_thinking", data: "xyz" }, []),
          ...anthropicBlock(2, { type: "hologram", shape: "cube" }, [{ type: "hologram_delta", shape: "ball" }]),
          { type: "news" },
          ...anthropicBlock(3, text, [textDelta("yes")]),
        ],
        "end_turn",
      ),
    );
    expect(events.filter(({ type }) => type !== "usage")).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "text", text: "yes" },
      { type: "end", reason: "stop", providerReason: "end_turn" },
    ]);
  });

  test("usage: what was read from the cache or written to it is input too", async () => {
    const start = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 1000,
      output_tokens: 1,
    };
    const end = {
      input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
    };
    const events = await wired.played(
      anthropicSse([
        { type: "message_start", message: { usage: start } },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: end },
        { type: "message_stop" },
      ]),
    );
    const usage = { inputTokens: 1110, cachedInputTokens: 100, outputTokens: 1, reasoningTokens: 0 };
    expect(events).toEqual([
      { type: "usage", usage },
      { type: "usage", usage: { ...usage, outputTokens: 50, reasoningTokens: 30 } },
      { type: "end", reason: "stop", providerReason: "end_turn" },
    ]);
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["tool_use", "stop"],
    ["max_tokens", "truncated"],
    ["model_context_window_exceeded", "truncated"],
    ["refusal", "filtered"],
    ["something_new", "stop"],
  ])("stop reason %s without calls is %s", async (providerReason, reason) => {
    const events = await wired.played(anthropicMessage([], providerReason));
    expect(events.at(-1)).toEqual({ type: "end", reason, providerReason });
  });

  test("why it refused", async () => {
    const delta = { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "Not this." } };
    const events = await wired.played(anthropicSse([{ type: "message_delta", delta }, { type: "message_stop" }]));
    expect(events).toEqual([
      { type: "refusal", text: "Not this." },
      { type: "end", reason: "filtered", providerReason: "refusal" },
    ]);
  });

  test("an input of nothing is an empty object, unless the reply was cut off", async () => {
    const blocks = anthropicBlock(0, use("t1", "look"), [inputDelta("")]);
    const whole = await wired.played(anthropicMessage(blocks, "tool_use"));
    expect(whole.slice(-3)).toEqual([
      { type: "tool_call", index: 0, input: "{}" },
      { type: "tool_call_end", index: 0 },
      { type: "end", reason: "tool_calls", providerReason: "tool_use" },
    ]);
    const cut = await wired.played(anthropicMessage(blocks, "max_tokens"));
    expect(cut.filter(({ type }) => type !== "usage").slice(1)).toEqual([
      { type: "end", reason: "truncated", providerReason: "max_tokens" },
    ]);
  });

  test("an input that comes with the start of its block", async () => {
    const events = await wired.played(anthropicMessage(anthropicBlock(0, use("t1", "look", { a: 1 }), []), "tool_use"));
    expect(events).toContainEqual({ type: "tool_call", index: 0, input: '{"a":1}' });
    expect(events).toContainEqual({ type: "tool_call_end", index: 0 });
  });

  test("ids that repeat from one turn to the next are passed on", async () => {
    const body = anthropicMessage(anthropicBlock(0, use("toolu_0", "look"), [inputDelta("{}")]), "tool_use");
    for (const events of [await wired.played(body), await wired.played(body)]) {
      expect(events).toContainEqual({ type: "tool_call", index: 0, id: "toolu_0", name: "look" });
    }
  });
});

describe("asking for a message", () => {
  const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} } }];

  test("an answer in a form: there is one for a schema only", async () => {
    const schema = { type: "object", properties: {} };
    const format = { type: "json_schema" as const, name: "place", description: "", schema, strict: true };
    expect(await wired.asked(said, { format })).toMatchObject({
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(wired.model().formats).toEqual(["json_schema"]);
  });

  test("a plain question: nothing that could be left out", async () => {
    expect(await wired.asked(said, {})).toEqual({
      model: "m",
      max_tokens: defaultMaxTokens,
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      stream: true,
    });
    expect(wired.wire().requests[0]).toMatchObject({ method: "POST", path: "/v1/messages" });
    expect(wired.wire().requests[0]?.headers).toHaveProperty("anthropic-version");
  });

  test("a conversation with calls: roles alternate, results come together", async () => {
    const { system, messages } = await wired.asked(said, {
      instructions: "Be brief.",
      messages: [
        { role: "user", text: "go" },
        { role: "user", text: "on" },
        {
          role: "assistant",
          text: "Looking.",
          calls: [
            { id: "u1", name: "look", input: '{"a":1}' },
            { id: "u2", name: "look", input: '{"a' },
            { id: "u3", name: "look", input: "[1]" },
            { id: "u4", name: "look", input: "" },
          ],
        },
        { role: "tool", callId: "u1", text: "seen", isError: false },
        { role: "tool", callId: "u2", text: "broken", isError: true },
        { role: "tool", callId: "u3", text: "", isError: false },
        { role: "tool", callId: "u4", text: "nothing", isError: false },
        { role: "user", text: "and?" },
        { role: "assistant", text: " ", calls: [] },
        { role: "user", text: "well?" },
      ],
    });
    expect(system).toBe("Be brief.");
    const toolUse = (id: string, input: object) => ({ type: "tool_use", id, name: "look", input });
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "go" },
          { type: "text", text: "on" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          toolUse("u1", { a: 1 }),
          toolUse("u2", { invalid_json: '{"a' }),
          toolUse("u3", { invalid_json: "[1]" }),
          toolUse("u4", {}),
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "u1", content: "seen" },
          { type: "tool_result", tool_use_id: "u2", content: "broken", is_error: true },
          { type: "tool_result", tool_use_id: "u3" },
          { type: "tool_result", tool_use_id: "u4", content: "nothing" },
          { type: "text", text: "and?" },
          { type: "text", text: "well?" },
        ],
      },
    ]);
  });

  test("tools, and the longest reply", async () => {
    const body = await wired.asked(said, { tools, maxOutputTokens: 100 });
    expect(body).toMatchObject({
      tools: [{ name: "look", description: "Looks.", input_schema: tools[0]!.inputSchema }],
      max_tokens: 100,
    });
    expect(body).not.toHaveProperty("tool_choice");
  });

  test.each([
    [{ type: "auto" } as const, false, { type: "auto", disable_parallel_tool_use: true }],
    [{ type: "none" } as const, false, { type: "none" }],
    [{ type: "required" } as const, true, { type: "any" }],
    [{ type: "required" } as const, false, { type: "any", disable_parallel_tool_use: true }],
    [{ type: "named", name: "look" } as const, true, { type: "tool", name: "look" }],
    [{ type: "named", name: "look" } as const, false, { type: "tool", name: "look", disable_parallel_tool_use: true }],
  ])("tool choice %j, parallel %s", async (toolChoice, parallelToolCalls, expected) => {
    expect((await wired.asked(said, { tools, toolChoice, parallelToolCalls })).tool_choice).toEqual(expected);
  });

  test("nothing is written to the console for a model that is about to retire", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    wired.wire().play({ body: said });
    await eventsOf(anthropicModel({ ...retiring, apiKey: undefined, baseUrl: wired.wire().anthropicUrl }));
    expect(wired.wire().requests[0]?.body.model).toBe(retiring.name);
    expect(warn).not.toHaveBeenCalled();
  });

  test("without tools nothing is said of them", async () => {
    const body = await wired.asked(said, { toolChoice: { type: "none" }, parallelToolCalls: false });
    expect(Object.keys(body).toSorted()).toEqual(["max_tokens", "messages", "model", "stream"]);
  });
});

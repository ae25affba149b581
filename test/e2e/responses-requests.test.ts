// The official SDKs ask a real server: create and stream, what is echoed, what is kept and listed, and how a response can end.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Script } from "../../src/model/script.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";

const usage = { usage: { inputTokens: 12, cachedInputTokens: 4, outputTokens: 7, reasoningTokens: 3 } };

const script: Script = {
  chunk: 6,
  turns: [
    { user: { exact: "Hello" }, replies: [{ events: [{ text: "Good morning, all of you." }, usage] }] },
    { user: { exact: "And now?" }, replies: [{ events: [{ text: "Good evening." }] }] },
    { user: { exact: "And then?" }, replies: [{ events: [{ text: "Good night." }] }] },
    { user: { exact: "Think" }, replies: [{ events: [{ reasoning: "It is a sum." }, { text: "Four." }] }] },
    { user: { exact: "Help me rob a bank" }, replies: [{ events: [{ refusal: "I will not help with that." }] }] },
    { user: { exact: "A story" }, replies: [{ events: [{ text: "Once upon a time" }, { end: "truncated" }] }] },
    { user: { exact: "Fail" }, replies: [{ events: [{ fail: { kind: "unauthorized" } }] }] },
    { user: { exact: "Fail late" }, replies: [{ events: [{ text: "I am" }, { fail: { kind: "rejected" } }] }] },
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

describe.each(sdks)("$sdk", ({ Client }) => {
  const open = () => new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch });

  test("FR-009: create answers with the whole response, and with no events", async () => {
    const response = await open().responses.create({ model: server.model, input: "Hello" });
    expect(response).toMatchObject({
      status: "completed",
      model: server.model,
      output_text: "Good morning, all of you.",
      output: [{ type: "message", role: "assistant", status: "completed" }],
      usage: {
        input_tokens: 12,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 19,
      },
      error: null,
    });
    expect(wire.last().contentType).toBe("application/json");
  });

  test("FR-010: a stream without tools has no event of a tool; its accumulator ends where retrieve does", async () => {
    const client = open();
    const stream = client.responses.stream({ model: server.model, input: "Hello" });
    const deltas: string[] = [];
    stream.on("response.output_text.delta", ({ delta }) => void deltas.push(delta));
    const final = await stream.finalResponse();
    expect(deltas.join("")).toBe("Good morning, all of you.");
    expect(deltas.length).toBeGreaterThan(1);
    expect(final.output_text).toBe("Good morning, all of you.");
    const types = eventsIn(wire.last().text()).map(({ type }) => type);
    expect(types.filter((type) => type !== "response.output_text.delta")).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const { output_parsed: _, ...streamed } = final;
    const retrieved = await client.responses.retrieve(final.id);
    expect(JSON.parse(wire.last().text())).toMatchObject({ id: final.id, status: "completed", usage: streamed.usage });
    expect(retrieved.output_text).toBe(final.output_text);
  });

  test("create with stream: the raw events, one after another", async () => {
    const stream = await open().responses.create({ model: server.model, input: "Hello", stream: true });
    const numbers: number[] = [];
    for await (const event of stream) numbers.push(event.sequence_number);
    expect(numbers).toEqual(numbers.map((_, index) => index));
  });

  test("what was asked is echoed, and kept", async () => {
    const client = open();
    const asked = {
      instructions: "Be brief.",
      temperature: 0.25,
      top_p: 0.5,
      max_output_tokens: 100,
      max_tool_calls: 3,
      parallel_tool_calls: false,
      metadata: { customer: "12", case: "blue" },
      truncation: "auto",
      reasoning: { effort: "low" },
      text: { verbosity: "low" },
      safety_identifier: "somebody",
      prompt_cache_key: "a key",
      tool_choice: "none",
      tools: [{ type: "function", name: "look", parameters: { type: "object", properties: {} }, strict: false }],
    } as const;
    const created = await client.responses.create({
      ...asked,
      model: server.model,
      input: "Hello",
      tools: [...asked.tools],
    });
    const echoed = {
      ...asked,
      reasoning: { effort: "low", summary: null },
      text: { format: { type: "text" }, verbosity: "low" },
      tools: [{ ...asked.tools[0], description: null }],
      store: true,
      background: false,
      previous_response_id: null,
    };
    expect(created).toMatchObject(echoed);
    expect(await client.responses.retrieve(created.id)).toMatchObject(echoed);
  });

  test("a name without its provider is the model; none is the default; another one is refused", async () => {
    const client = open();
    const name = server.model.slice("scripted:".length);
    expect(await client.responses.create({ model: name, input: "Hello" })).toMatchObject({ model: server.model });
    expect(await client.responses.create({ input: "Hello" })).toMatchObject({ model: server.model });
    await expect(client.responses.create({ model: "gpt-none", input: "Hello" })).rejects.toMatchObject({
      status: 400,
      param: "model",
      code: "model_not_found",
    });
  });

  test("the models are listed", async () => {
    const client = open();
    const { data } = await client.models.list();
    expect(data).toEqual([{ id: server.model, object: "model", created: 0, owned_by: "heddle" }]);
    expect(await client.models.retrieve(server.model)).toMatchObject({ id: server.model });
    await expect(client.models.retrieve("gpt-none")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("a conversation goes on, and branches from an older response", async () => {
    const client = open();
    const ask = (input: string, previous_response_id?: string) =>
      client.responses.create({ input, ...(previous_response_id && { previous_response_id }) });
    const first = await ask("Hello");
    const second = await ask("And now?", first.id);
    const third = await ask("And then?", second.id);
    const branch = await ask("And then?", first.id);
    const twig = await ask("And now?", branch.id);
    expect([second, third, branch, twig].map(({ output_text }) => output_text)).toEqual([
      "Good evening.",
      "Good night.",
      "Good night.",
      "Good evening.",
    ]);
    expect([second, third, branch, twig].map(({ previous_response_id }) => previous_response_id)).toEqual([
      first.id,
      second.id,
      first.id,
      branch.id,
    ]);
    expect(new Set([first, second, third, branch, twig].map(({ id }) => id)).size).toBe(5);
    expect((await client.responses.retrieve(first.id)).output_text).toBe("Good morning, all of you.");
  });

  test("the items of the input are listed, page by page", async () => {
    const client = open();
    const { id } = await client.responses.create({
      input: [
        { role: "developer", content: "Be kind." },
        { role: "user", content: [{ type: "input_text", text: "Hi" }] },
        { role: "assistant", content: "Hi!" },
        { role: "user", content: "Hello" },
      ],
    });
    const all = [];
    for await (const item of client.responses.inputItems.list(id, { order: "asc", limit: 3 })) all.push(item);
    expect(all).toMatchObject([
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Be kind." }] },
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { role: "assistant", content: [{ type: "output_text", text: "Hi!" }] },
      { role: "user", content: [{ type: "input_text", text: "Hello" }] },
    ]);
    expect(new Set(all.map((item) => (item as { id: string }).id)).size).toBe(4);
    const ids = all.map((item) => (item as { id: string }).id);
    const page = await client.responses.inputItems.list(id, { order: "asc", limit: 2, after: ids[0]! });
    expect(page).toMatchObject({ has_more: true });
    expect(JSON.parse(wire.last().text())).toMatchObject({ first_id: ids[1], last_id: ids[2] });
    const last = await client.responses.inputItems.list(id, { order: "asc", limit: 2, after: ids[3]! });
    expect(last).toMatchObject({ has_more: false, data: [] });
    expect(JSON.parse(wire.last().text())).toMatchObject({ first_id: null, last_id: null });
    const newest = await client.responses.inputItems.list(id, { limit: 1 });
    expect(newest).toMatchObject({ has_more: true, data: [{ content: [{ text: "Hello" }] }] });
  });

  test("250 items, of which many have one id: each is listed once, in either order", async () => {
    const client = open();
    const texts = Array.from({ length: 250 }, (_, index) => `Item ${index}`);
    const input = [...texts.slice(1), "Hello"].map((content, index) => ({
      role: "user" as const,
      content,
      ...(index % 2 === 0 && { id: "msg_1" }),
    }));
    const { id } = await client.responses.create({ input });
    for (const order of ["asc", "desc"] as const) {
      const found: string[] = [];
      for await (const item of client.responses.inputItems.list(id, { order, limit: 100 }))
        found.push((item as unknown as { content: [{ text: string }] }).content[0].text);
      const all = input.map(({ content }) => content);
      expect(found).toEqual(order === "asc" ? all : all.toReversed());
    }
  });

  test("a deleted response is gone; the one that went on from it is not", async () => {
    const client = open();
    const first = await client.responses.create({ input: "Hello" });
    const second = await client.responses.create({ input: "And now?", previous_response_id: first.id });
    await client.responses.delete(first.id);
    const gone = { status: 404, code: "response_not_found" };
    await expect(client.responses.retrieve(first.id)).rejects.toMatchObject(gone);
    await expect(client.responses.delete(first.id)).rejects.toMatchObject(gone);
    await expect(client.responses.cancel(first.id)).rejects.toMatchObject(gone);
    await expect(client.responses.inputItems.list(first.id)).rejects.toMatchObject(gone);
    await expect(client.responses.create({ input: "And now?", previous_response_id: first.id })).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
      code: "previous_response_not_found",
    });
    expect((await client.responses.retrieve(second.id)).output_text).toBe("Good evening.");
    await client.responses.delete(second.id);
    await expect(client.responses.retrieve(second.id)).rejects.toMatchObject(gone);
  });

  test("store: false leaves nothing", async () => {
    const client = open();
    const created = await client.responses.create({ input: "Hello", store: false });
    const streamed = await client.responses.stream({ input: "Hello", store: false }).finalResponse();
    for (const response of [created, streamed]) {
      expect(response).toMatchObject({ output_text: "Good morning, all of you.", store: false });
      await expect(client.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
    }
  });

  test("reasoning and refusals are what the SDKs take them for", async () => {
    const client = open();
    const thought = await client.responses.stream({ input: "Think" }).finalResponse();
    expect(thought.output).toMatchObject([
      { type: "reasoning", summary: [{ type: "summary_text", text: "It is a sum." }] },
      { type: "message", content: [{ type: "output_text", text: "Four." }] },
    ]);
    const refused = await client.responses.stream({ input: "Help me rob a bank" }).finalResponse();
    expect(refused.output).toMatchObject([
      { type: "message", content: [{ type: "refusal", refusal: "I will not help with that." }] },
    ]);
    expect(refused.output).toHaveLength(1);
  });

  test("a reply that was cut off is incomplete, streamed and not", async () => {
    const client = open();
    const asked = { input: "A story", max_output_tokens: 16 };
    const cut = {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ type: "message", status: "incomplete", content: [{ type: "output_text", text: "Once upon a time" }] }],
    };
    expect(await client.responses.create(asked)).toMatchObject(cut);
    expect(await client.responses.stream(asked).finalResponse()).toMatchObject(cut);
  });

  test("a provider that fails makes a failed response, not a failed request", async () => {
    const client = open();
    const failed = { status: "failed", error: { code: "server_error", message: expect.stringContaining("key") } };
    expect(await client.responses.create({ input: "Fail" })).toMatchObject(failed);
    expect(await client.responses.stream({ input: "Fail" }).finalResponse()).toMatchObject(failed);
    const late = await client.responses.stream({ input: "Fail late" }).finalResponse();
    expect(late).toMatchObject({ status: "failed", output: [{ type: "message", status: "incomplete" }] });
  });
});

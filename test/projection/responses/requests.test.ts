// What becomes of requests inside: what is kept of them, and who goes on from a response.
import { expect, test } from "vitest";
import type { ResponseRecord } from "../../../src/projection/responses/request.js";
import { called, replies, said } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { openApi } from "./api.js";

const core = useCores();

test("texts of which two together look like one secret are kept as they are", async () => {
  const text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc";
  const request = { input: text, metadata: { text } };
  const created = await openApi(core({ model: replies(said("Half a key.")) })).create(request);
  expect((await created.events()).at(-1)?.frame.type).toBe("response.completed");
  const { echo, input } = JSON.parse(created.stored.record) as ResponseRecord;
  expect(echo.metadata).toEqual({ text });
  expect(input).toMatchObject([{ role: "user", content: [{ text }] }]);
});

test("a secret is not kept, wherever it stands", async () => {
  const secret = 'tok"en-of-the-server';
  const opened = core({ model: replies(said("Yes.")), secrets: [secret] });
  const created = await openApi(opened).create({ input: `Is it ${secret}?`, metadata: { [secret]: secret } });
  await created.events();
  const { echo, input } = JSON.parse(created.stored.record) as ResponseRecord;
  expect(echo.metadata).toEqual({ "[redacted]": "[redacted]" });
  expect(input).toMatchObject([{ content: [{ text: "Is it [redacted]?" }] }]);
});

test("of callers that go on from one response at once, each goes its own way", async () => {
  const model = replies(...["Hello.", "One.", "Two.", "Three."].map(said));
  const api = openApi(core({ model }));
  const first = await api.create({ input: "Hello" });
  await first.events();
  const others = await Promise.all(
    ["1", "2", "3"].map((input) => api.create({ input, previous_response_id: first.id })),
  );
  for (const other of others) expect((await other.events()).at(-1)?.frame.type).toBe("response.completed");
  expect(new Set(others.map(({ stored }) => stored.threadId)).size).toBe(3);
  const heard = model.requests.slice(1).map(({ messages }) => messages.map(({ text }) => text));
  expect(heard.toSorted()).toEqual(["1", "2", "3"].map((input) => ["Hello", "Hello.", input]));
});

test("one that comes when another has gone on, and is done, is not told of it", async () => {
  const model = replies(...["Hello.", "One.", "Two."].map(said));
  const opened = core({ model });
  const api = openApi(opened);
  const first = await api.create({ input: "Hello" });
  await first.events();
  const quick = openApi(opened);
  const { bringServers } = opened.threads;
  // It comes in between, after the slow one has looked who has gone on.
  opened.threads.bringServers = async (threadId, servers) => {
    opened.threads.bringServers = bringServers;
    await (await quick.create({ input: "1", previous_response_id: first.id })).events();
    return bringServers.call(opened.threads, threadId, servers);
  };
  await (await api.create({ input: "2", previous_response_id: first.id })).events();
  const heard = model.requests.slice(1).map(({ messages }) => messages.map(({ text }) => text));
  expect(heard).toEqual(["1", "2"].map((input) => ["Hello", "Hello.", input]));
});

test("a deleted response leaves alone what has gone on from it in the same run", async () => {
  let answer = (): void => {};
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const model = replies(called({ name: "weather" }), async function* () {
    await asked;
    yield* said("Rain.");
  });
  const api = openApi(core({ model }));
  const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }];
  const first = await api.create({ input: "How is it?", tools });
  await first.events();
  const [{ call_id }] = (await first.response())["output"] as [{ call_id: string }];
  const input = [{ type: "function_call_output", call_id, output: "rain" }];
  const second = await api.create({ previous_response_id: first.id, input, tools });
  await api.responses.delete(first.stored);
  answer();
  expect((await second.events()).at(-1)?.frame.type).toBe("response.completed");
});

test("a history with more calls at once than a thread takes is the caller's fault", async () => {
  const calls = Array.from({ length: 1001 }, (_, index) => `call_${index}`);
  const input = [
    ...calls.map((call_id) => ({ type: "function_call", call_id, name: "weather", arguments: "{}" })),
    ...calls.map((call_id) => ({ type: "function_call_output", call_id, output: "rain" })),
  ];
  const { create } = openApi(core({ model: replies(said("Rain.")) }));
  await expect(create({ input })).rejects.toMatchObject({ status: 400, param: "input[1000]" });
});

test("whoever answers a call in another way tells the model the same words, and its own answer", async () => {
  const call = called({ name: "look", input: { at: "Ulm" } }, { name: "look", input: { at: "Bonn" } });
  const model = replies(call, said("One."), said("Two."));
  const api = openApi(core({ model }));
  const tools = [{ type: "function", name: "look" }];
  const first = await api.create({ input: "Look", tools });
  await first.events();
  const { output } = (await first.response()) as { output: { call_id: string }[] };
  const answers = (...words: string[]) =>
    output.map(({ call_id }, index) => ({ type: "function_call_output", call_id, output: words[index] }));
  const goOn = (input: unknown) => api.create({ previous_response_id: first.id, input, tools });
  await (await goOn(answers("rain", "sun"))).events();
  await (await goOn(answers("snow", "hail"))).events();
  const heard = model.requests.slice(1).map(({ messages }) =>
    messages.map((message) => ({
      role: message.role,
      text: message.text,
      ...(message.role === "assistant" && { calls: message.calls.map(({ name, input }) => [name, input]) }),
    })),
  );
  const words = (one: string, two: string) => [
    { role: "user", text: "Look" },
    {
      role: "assistant",
      text: "",
      calls: [
        ["look", '{"at":"Ulm"}'],
        ["look", '{"at":"Bonn"}'],
      ],
    },
    { role: "tool", text: one },
    { role: "tool", text: two },
  ];
  expect(heard).toEqual([words("rain", "sun"), words("snow", "hail")]);
});

test("what is refused leaves no empty thread", async () => {
  const opened = core({ model: replies(said("Yes.")) });
  const api = openApi(opened);
  const tool_choice = { type: "function", name: "none" };
  await expect(api.create({ input: "Hello", tool_choice })).rejects.toThrow();
  const { threads } = await opened.threads.list({ pageSize: 10, after: "" });
  expect(threads).toEqual([]);
});

test("limits are those of a response: a conversation of many calls does not run into them", async () => {
  const rounds = 8;
  const look = called({ name: "look", input: {} });
  const model = replies(...Array.from({ length: rounds }, () => look), said("Seen."));
  const api = openApi(core({ model, defaults: { maxSteps: 2 } }));
  const asked = { tools: [{ type: "function", name: "look" }], max_tool_calls: 1 };
  let last = await api.create({ input: "Look", ...asked });
  for (let round = 0; round < rounds; round++) {
    await last.events();
    const { output } = (await last.response()) as { output: { call_id: string }[] };
    const input = output.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "dark" }));
    last = await api.create({ previous_response_id: last.id, input, ...asked });
  }
  expect((await last.events()).at(-1)?.frame.type).toBe("response.completed");
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "../../src/model/model.js";
import { ModelError } from "../../src/model/model.js";
import type { ScriptEvent } from "../../src/model/script.js";
import { readScript, type Script, scriptedModel } from "../../src/model/scripted.js";
import { checkScript } from "../../src/model/scripted-file.js";

const root = join(import.meta.dirname, "../..");
const directory = mkdtempSync(join(tmpdir(), "heddle-script-"));
afterAll(() => rmSync(directory, { recursive: true }));

const never = new AbortController().signal;
const says = (text: string): { events: ScriptEvent[] } => ({ events: [{ text }] });

describe("which reply answers", () => {
  const model = scriptedModel({
    turns: [
      { user: "weather", replies: [says("w0"), says("w1"), says("w2")] },
      { user: { exact: "Bye" }, replies: [says("bye")] },
      { user: "*", replies: [says("any")] },
    ],
  });

  test.each<[string, ModelMessage[], string]>([
    ["the first for a user message", [user("the weather?")], "w0"],
    ["the next after each reply", [user("the weather?"), ...calls("a")], "w1"],
    ["replies count, however many calls they make", [user("weather"), ...calls("a", "b"), ...calls("c")], "w2"],
    [
      "replies before the last user message do not count",
      [user("x"), ...calls("a"), user("weather"), ...calls("b")],
      "w1",
    ],
    ["a turn of an exact text", [user("weather"), ...calls("a"), user("Bye")], "bye"],
    ["not for more than the exact text", [user("Bye then")], "any"],
    ["capitals count", [user("Weather")], "any"],
    ["without any user message, the turn for any", [], "any"],
  ])("%s", async (_name, messages, text) => {
    expect(textOf(await collect(model, { messages }))).toBe(text);
  });

  test("it depends on the request alone: asked in any order, at the same time, by a fresh model", async () => {
    const conversations = [
      [user("weather"), ...calls("a")],
      [user("weather")],
      [user("Bye")],
      [user("weather"), ...calls("a")],
    ];
    const asked = conversations.map((messages) => collect(model, { messages }));
    expect((await Promise.all(asked)).map(textOf)).toEqual(["w1", "w0", "bye", "w1"]);
  });

  test("replies at the top are one turn for any message", async () => {
    const simple = scriptedModel({ name: "simple", replies: [says("0"), says("1")] });
    expect(simple.name).toBe("scripted:simple");
    expect(textOf(await collect(simple, { messages: [user("a"), ...calls("x"), user("b")] }))).toBe("0");
    expect(textOf(await collect(simple, { messages: [user("a"), ...calls("x")] }))).toBe("1");
  });
});

describe("a request that is not expected fails, and says what was expected and what came", () => {
  const script: Script = {
    name: "s.json",
    turns: [
      {
        user: "weather",
        replies: [
          { expect: { tools: ["get_weather", "think"] }, ...says("0") },
          { expect: { toolResults: 2, lastTool: "sunny" }, ...says("1") },
        ],
      },
      { user: { exact: "Bye" }, replies: [{ expect: { lastUser: "B", lastTool: "x" }, ...says("0") }] },
      { user: "hi", replies: [{ expect: { lastUser: { exact: "hi" } }, ...says("0") }] },
    ],
  };
  const tools = ["think", "get_weather", "other"].map(tool);

  test.each<[string, Partial<ModelRequest>, string]>([
    [
      "no turn",
      { messages: [user("What?")] },
      'script s.json: no turn is for the last user message, "What?"; expected one that contains "weather"; or is exactly "Bye"; or contains "hi"',
    ],
    ["no user message", {}, "script s.json: no turn is for the last user message, none;"],
    [
      "no further reply",
      { messages: [user("weather"), ...calls("a"), ...calls("b")] },
      'script s.json: turns[0].replies[2] is not there: 2 replies are expected to answer "weather", and this is a request for number 3; the last tool result was "result of b"',
    ],
    [
      "a tool is not offered",
      { messages: [user("weather")], tools: [tool("think")] },
      "script s.json: turns[0].replies[0].expect.tools: expected get_weather to be offered; offered: think",
    ],
    ["no tool is offered", { messages: [user("weather")] }, "expected get_weather, think to be offered; offered: none"],
    [
      "too few results",
      { messages: [user("weather"), ...calls("a")], tools },
      "turns[0].replies[1].expect.toolResults: expected 2 tool results; there are 1",
    ],
    [
      "another result",
      { messages: [user("weather"), ...calls("sunny", "rain")], tools },
      'turns[0].replies[1].expect.lastTool: expected a tool result that contains "sunny"; it is "result of rain"',
    ],
    [
      "no result",
      { messages: [user("Bye")] },
      'turns[1].replies[0].expect.lastTool: expected a tool result that contains "x"; it is none',
    ],
    [
      "another user message",
      { messages: [user("hi there")] },
      'turns[2].replies[0].expect.lastUser: expected a user message that is exactly "hi"; it is "hi there"',
    ],
  ])("%s", async (_name, request, message) => {
    const error = await collect(scriptedModel(script), request).catch((reason) => reason);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ kind: "unexpected_request", message: expect.stringContaining(message) });
  });

  test("what is expected and there is let through", async () => {
    const messages = [user("weather"), ...calls("rain", "sunny")];
    expect(textOf(await collect(scriptedModel(script), { messages, tools }))).toBe("1");
  });

  test("a message is one line, and quotes no more than a little of a text", async () => {
    const error = await collect(scriptedModel(script), { messages: [user(`a\nb${"c".repeat(100_000)}`)] }).catch(
      (reason) => reason,
    );
    expect(error.message).not.toContain("\n");
    expect(error.message.length).toBeLessThan(400);
  });
});

describe("what is streamed", () => {
  const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const end = (reason: string) => ({ type: "end", reason, providerReason: reason });

  test.each<[string, ScriptEvent[], unknown[]]>([
    ["nothing but the end", [], [end("stop")]],
    [
      "text, reasoning and refusal",
      [{ reasoning: "r" }, { text: "t" }, { refusal: "no" }],
      [{ type: "reasoning", text: "r" }, { type: "text", text: "t" }, { type: "refusal", text: "no" }, end("stop")],
    ],
    ["usage, with 0 for what is missing", [{ usage: { inputTokens: 1 } }], [{ type: "usage", usage }, end("stop")]],
    ["an end of its own", [{ text: "t" }, { end: "truncated" }], [{ type: "text", text: "t" }, end("truncated")]],
    [
      "calls, each at the next place",
      [{ toolCall: { name: "a", input: { x: 1 }, id: "1" } }, { toolCall: { name: "b", input: "{bro" } }],
      [
        { type: "tool_call", index: 0, name: "a", id: "1" },
        { type: "tool_call", index: 0, input: '{"x":1}' },
        { type: "tool_call_end", index: 0 },
        { type: "tool_call", index: 1, name: "b" },
        { type: "tool_call", index: 1, input: "{bro" },
        { type: "tool_call_end", index: 1 },
        end("tool_calls"),
      ],
    ],
    [
      "pieces exactly as given, and a call behind them",
      [
        { piece: { index: 2, id: "c" } },
        { piece: { index: 2, name: "a", input: "{}", isLast: true } },
        { toolCall: { name: "b", input: {} } },
      ],
      [
        { type: "tool_call", index: 2, id: "c" },
        { type: "tool_call", index: 2, name: "a", input: "{}" },
        { type: "tool_call_end", index: 2 },
        { type: "tool_call", index: 3, name: "b" },
        { type: "tool_call", index: 3, input: "{}" },
        { type: "tool_call_end", index: 3 },
        end("tool_calls"),
      ],
    ],
  ])("%s", async (_name, events, expected) => {
    expect(await collect(scriptedModel({ replies: [{ events }] }))).toEqual(expected);
  });

  test("a chunk cuts texts and inputs, the nearest one counts, and a character is never cut", async () => {
    const events: ScriptEvent[] = [
      { text: "ab😀cd" },
      { toolCall: { name: "a", input: '{"b":1}' } },
      { piece: { index: 5, input: "abcdef" } },
    ];
    const cut = async (script: Script) =>
      (await collect(scriptedModel(script))).flatMap((event) =>
        event.type === "text" ? [event.text] : event.type === "tool_call" && event.input ? [event.input] : [],
      );
    expect(await cut({ chunk: 3, replies: [{ events }] })).toEqual(["ab😀", "cd", '{"b', '":1', "}", "abcdef"]);
    expect(await cut({ chunk: 3, replies: [{ chunk: 1, events }] })).toEqual([..."ab😀cd", ...'{"b":1}', "abcdef"]);
    expect(await cut({ chunk: 3, replies: [{ chunk: 1, attempts: [{ chunk: 9, events }] }] })).toEqual([
      "ab😀cd",
      '{"b":1}',
      "abcdef",
    ]);
    expect(await cut({ replies: [{ events }] })).toEqual(["ab😀cd", '{"b":1}', "abcdef"]);
  });

  test("a failure breaks the stream where it stands", async () => {
    const model = scriptedModel({
      replies: [{ events: [{ text: "a" }, { fail: { kind: "rate_limited", message: "Slow down", retryAfterMs: 7 } }] }],
    });
    const seen: ModelEvent[] = [];
    const error = await collect(model, {}, { seen }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ kind: "rate_limited", message: "Slow down", retryAfterMs: 7 });
    expect(seen).toEqual([{ type: "text", text: "a" }]);
  });

  test("a failure without a message says what it stands for", async () => {
    const model = scriptedModel({ replies: [{ events: [{ fail: { kind: "broken" } }] }] });
    await expect(collect(model)).rejects.toMatchObject({
      kind: "broken",
      message: "The script says: the reply ended in the middle",
      retryAfterMs: undefined,
    });
  });

  test("a delay waits for its time and no longer", async () => {
    vi.useFakeTimers();
    try {
      const seen: ModelEvent[] = [];
      const asked = collect(
        scriptedModel({ replies: [{ events: [{ text: "a" }, { delayMs: 500 }, { text: "b" }] }] }),
        {},
        { seen },
      );
      await vi.advanceTimersByTimeAsync(499);
      expect(textOf(seen)).toBe("a");
      await vi.advanceTimersByTimeAsync(1);
      expect(textOf(await asked)).toBe("ab");
    } finally {
      vi.useRealTimers();
    }
  });

  test.each<[string, ScriptEvent]>([
    ["a delay", { delayMs: 600_000 }],
    ["a hang", { hang: true }],
  ])("M5: %s ends when the request is aborted, with the signal's reason", async (_name, event) => {
    const caller = new AbortController();
    const events = scriptedModel({ replies: [{ events: [{ text: "a" }, event] }] })
      .stream(request({}), caller.signal)
      [Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    const reason = new Error("enough");
    caller.abort(reason);
    await expect(next).rejects.toBe(reason);
  });

  test("M5: an aborted request plays no further, and one that was aborted before does not begin", async () => {
    const caller = new AbortController();
    const model = scriptedModel({ chunk: 1, replies: [says("abc")] });
    const seen: ModelEvent[] = [];
    const run = async () => {
      for await (const event of model.stream(request({}), caller.signal)) {
        seen.push(event);
        caller.abort(new Error("enough"));
      }
    };
    await expect(run()).rejects.toThrow("enough");
    expect(seen).toHaveLength(1);
    await expect(run()).rejects.toThrow("enough");
    expect(seen).toHaveLength(1);
  });
});

describe("attempts", () => {
  const script: Script = {
    replies: [
      { attempts: [{ events: [{ fail: { kind: "unavailable" } }] }, says("second"), says("third")] },
      { attempts: [says("a"), says("b")] },
    ],
  };

  test("the same conversation asked again is the next attempt, and the last one repeats", async () => {
    const model = scriptedModel(script);
    await expect(collect(model, { messages: [user("x")] })).rejects.toMatchObject({ kind: "unavailable" });
    const texts = [];
    for (let count = 0; count < 3; count++) texts.push(textOf(await collect(model, { messages: [user("x")] })));
    expect(texts).toEqual(["second", "third", "third"]);
  });

  test("other messages, positions and calls are counted apart", async () => {
    const model = scriptedModel(script);
    const ask = async (...messages: ModelMessage[]) => textOf(await collect(model, { messages }));
    await expect(ask(user("x"))).rejects.toThrow();
    await expect(ask(user("y"))).rejects.toThrow();
    expect(await ask(user("x"), ...calls("1"))).toBe("a");
    expect(await ask(user("x"), ...calls("2"))).toBe("a");
    expect(await ask(user("x"), ...calls("1"))).toBe("b");
  });

  test("what is not expected does not count", async () => {
    const model = scriptedModel({ replies: [{ expect: { tools: ["t"] }, attempts: [says("a"), says("b")] }] });
    await expect(collect(model)).rejects.toMatchObject({ kind: "unexpected_request" });
    expect(textOf(await collect(model, { tools: [tool("t")] }))).toBe("a");
  });
});

describe("a script that is wrong is refused, with the place and the rule", () => {
  const reply = (events: unknown) => ({ replies: [{ events }] });

  test.each<[unknown, string, string]>([
    [[], "", "s.json: must be an object"],
    [{}, "", "s.json: must have either turns or replies"],
    [{ turns: [], replies: [] }, "turns", "s.json: turns must not be empty"],
    [{ replies: [] }, "replies", "s.json: replies must not be empty"],
    [{ replies: {} }, "replies", "s.json: replies must be a list of replies"],
    [{ replies: [{}] }, "replies[0]", "s.json: replies[0] must have either events or attempts"],
    [{ replies: [{ events: [], attempts: [{ events: [] }] }] }, "replies[0]", "must have either events or attempts"],
    [{ replies: [{ attempts: [] }] }, "replies[0].attempts", "must not be empty"],
    [{ replies: [{ attempts: [{}] }] }, "replies[0].attempts[0].events", "is missing"],
    [{ replies: [{ events: [] }], chunk: 0 }, "chunk", "must be a whole number from 1 to 1000000"],
    [
      { replies: [{ events: [] }], chunks: 1 },
      "chunks",
      "is not a known key; known here: comment, chunk, turns, replies",
    ],
    [{ replies: [{ events: [] }], name: "x" }, "name", "is not a known key"],
    [{ turns: [{ replies: [{ events: [] }], user: "" }] }, "turns[0].user", "must be a text that is not empty"],
    [{ turns: [{ replies: [{ events: [] }], user: 1 }] }, "turns[0].user", "must be a text to look for"],
    [{ turns: [{ replies: [{ events: [] }], user: {} }] }, "turns[0].user.exact", "is missing"],
    [{ turns: [{ user: "a" }] }, "turns[0].replies", "is missing"],
    [
      { turns: [{ replies: [{ events: [] }] }, { user: "a", replies: [{ events: [] }] }] },
      "turns[0]",
      "takes every user message",
    ],
    [
      {
        turns: [
          { user: "*", replies: [{ events: [] }] },
          { user: "a", replies: [{ events: [] }] },
        ],
      },
      "turns[0]",
      "put it last",
    ],
    [
      { replies: [{ events: [], expect: { tool: [] } }] },
      "replies[0].expect.tool",
      "known here: lastUser, lastTool, tools, toolResults",
    ],
    [{ replies: [{ events: [], expect: { tools: "a" } }] }, "replies[0].expect.tools", "must be a list of tool names"],
    [reply("a"), "replies[0].events", "must be a list of events"],
    [reply(["a"]), "replies[0].events[0]", "must be an object"],
    [
      reply([{}]),
      "replies[0].events[0]",
      "must have exactly one of: text, reasoning, refusal, toolCall, piece, usage, delayMs, end, fail, hang",
    ],
    [reply([{ text: "a", delayMs: 1 }]), "replies[0].events[0]", "must have exactly one of"],
    [reply([{ txt: "a" }]), "replies[0].events[0].txt", "is not a known key"],
    [reply([{ text: 1 }]), "replies[0].events[0].text", "must be a text"],
    [reply([{ toolCall: { name: "a" } }]), "replies[0].events[0].toolCall.input", "is missing"],
    [
      reply([{ toolCall: { name: "a", input: [] } }]),
      "replies[0].events[0].toolCall.input",
      "must be an object, or raw text",
    ],
    [reply([{ toolCall: { name: "", input: {} } }]), "replies[0].events[0].toolCall.name", "not empty"],
    [reply([{ piece: { name: "a" } }]), "replies[0].events[0].piece.index", "is missing"],
    [reply([{ piece: { index: -1 } }]), "replies[0].events[0].piece.index", "from 0 to 9999"],
    [reply([{ usage: { inputTokens: 1.5 } }]), "replies[0].events[0].usage.inputTokens", "must be a whole number"],
    [reply([{ delayMs: 600_001 }]), "replies[0].events[0].delayMs", "from 0 to 600000"],
    [reply([{ end: "over" }]), "replies[0].events[0].end", '"stop" or "tool_calls" or "truncated" or "filtered"'],
    [reply([{ fail: { kind: "odd" } }]), "replies[0].events[0].fail.kind", '"rate_limited" or'],
    [reply([{ hang: false }]), "replies[0].events[0].hang", "must be true"],
    [
      reply([{ end: "stop" }, { text: "a" }]),
      "replies[0].events[0]",
      'must be the last event: nothing can follow "end"',
    ],
  ])("%j", (script, field, message) => {
    const check = () => checkScript(script, "s.json");
    expect(check).toThrow(expect.objectContaining({ code: "invalid_config", detail: { field } }));
    expect(check).toThrow(message);
  });

  test("a script given in code is checked too", () => {
    expect(() => scriptedModel({ name: "mine", replies: [] })).toThrow("mine: replies must not be empty");
  });

  test.each([
    ["no file", undefined, "none.json: there is no such file; give the path of a script"],
    ["no JSON", '{\n "replies": [}\n', "broken.json"],
    ["a place in what is no JSON", '{\n "replies": [1 2]}', "broken.json:2:16: this is not JSON"],
    ["something else in JSON", '{"replies": 1}', "broken.json: replies must be a list of replies"],
  ])("%s in a file", (_name, json, message) => {
    const path = join(directory, json === undefined ? "none.json" : "broken.json");
    if (json !== undefined) writeFileSync(path, json);
    expect(() => readScript(path)).toThrow(expect.objectContaining({ code: "invalid_config" }));
    expect(() => readScript(path)).toThrow(message);
  });

  test("a directory is not a file, and a byte order mark is no mistake", () => {
    expect(() => readScript(directory)).toThrow("it cannot be read (EISDIR)");
    const path = join(directory, "marked.json");
    writeFileSync(path, '\uFEFF{"replies": [{"events": []}]}');
    expect(readScript(path)).toEqual({ name: path, replies: [{ events: [] }] });
  });
});

describe("what ships works", () => {
  const documentation = readFileSync(join(root, "docs/scripted-model.md"), "utf8");
  const examples = readdirSync(join(root, "examples/scripted"));
  const play = (file: string) => scriptedModel(readScript(join(root, "examples/scripted", file)));

  test.each([...documentation.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json!))("documented: %s", (json) => {
    checkScript(JSON.parse(json), "docs/scripted-model.md");
  });

  test("every example is documented", () => {
    expect(examples.filter((file) => !documentation.includes(`examples/scripted/${file}`))).toEqual([]);
    expect(examples.length).toBeGreaterThan(0);
  });

  test("hello.json", async () => {
    const events = await collect(play("hello.json"), { messages: [user("Hello")] });
    expect(textOf(events)).toMatch(/^Hello! /);
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(5);
  });

  test("list-files.json", async () => {
    const model = play("list-files.json");
    const tools = ["think", "list_directory"].map(tool);
    expect(namesOf(await collect(model, { messages: [user("Which files?")], tools }))).toEqual([
      "think",
      "list_directory",
    ]);
    const messages = [user("Which files?"), ...calls("think", "./: 3 entries")];
    expect(textOf(await collect(model, { messages, tools }))).toBe("That is what the workspace holds.");
  });

  test("ask-and-finish.json", async () => {
    const model = play("ask-and-finish.json");
    const tools = ["inform_user", "work_complete"].map(tool);
    const asked = [user("Paint the door")];
    expect(namesOf(await collect(model, { messages: asked, tools }))).toEqual(["clarify"]);
    const answered = [...asked, ...calls("clarify"), user("Green")];
    expect(namesOf(await collect(model, { messages: answered, tools }))).toEqual(["inform_user"]);
    expect(namesOf(await collect(model, { messages: [...answered, ...calls("inform_user")], tools }))).toEqual([
      "work_complete",
    ]);
  });

  test("trouble.json", async () => {
    const model = play("trouble.json");
    const messages = [user("Go")];
    await expect(collect(model, { messages })).rejects.toMatchObject({ kind: "rate_limited", retryAfterMs: 50 });
    await expect(collect(model, { messages })).rejects.toMatchObject({ kind: "broken" });
    const events = await collect(model, { messages });
    const input = (index: number) =>
      events
        .flatMap((event) => (event.type === "tool_call" && event.index === index ? [event.input ?? ""] : []))
        .join("");
    expect(JSON.parse(input(0))).toEqual({ thoughts: ["Once more."] });
    expect(JSON.parse(input(1))).toEqual({ message: "It worked in the end." });
    const next = [...messages, ...calls("think", "inform_user")];
    expect(namesOf(await collect(model, { messages: next }))).toEqual(["inform_user"]);
    expect(textOf(await collect(model, { messages: [...next, ...calls("inform_user")] }))).toContain("not JSON");
  });
});

function user(text: string): ModelMessage {
  return { role: "user", text };
}

/** A reply with calls, and their results. */
function calls(...ids: readonly string[]): ModelMessage[] {
  return [
    { role: "assistant", text: "", calls: ids.map((id) => ({ id, name: "any", input: "{}" })) },
    ...ids.map((id) => ({ role: "tool", callId: id, text: `result of ${id}`, isError: false }) as const),
  ];
}

function tool(name: string): ModelRequest["tools"][number] {
  return { name, description: "", inputSchema: { type: "object" } };
}

function request(given: Partial<ModelRequest>): ModelRequest {
  return { instructions: "", messages: [], tools: [], toolChoice: { type: "auto" }, parallelToolCalls: true, ...given };
}

async function collect(
  model: Model,
  given: Partial<ModelRequest> = {},
  { seen = [] }: { seen?: ModelEvent[] } = {},
): Promise<ModelEvent[]> {
  for await (const event of model.stream(request(given), never)) seen.push(event);
  return seen;
}

const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

const namesOf = (events: readonly ModelEvent[]): string[] =>
  events.flatMap((event) => (event.type === "tool_call" && event.name !== undefined ? [event.name] : []));

// Tools through the official SDKs, on a real server: functions that the caller runs, approvals, and the tools that Heddle runs itself.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Script } from "../../src/model/script.js";
import type { AgentServer } from "../fixtures/engine/agent-server.js";
import { eventsIn, sdks, useWire } from "../fixtures/responses/door.js";
import { type SearchingServer, startSearchingServer } from "../fixtures/responses/searching-server.js";

const call = (name: string, input: object | string) => ({ toolCall: { name, input } });
const weatherIn = (town: string) => call("get_weather", { town });
const code = 'console.log("hello");\n6 * 7';
const search = call("web_search", { query: "looms" });
const cited = "Looms weave ([loom.example](https://loom.example/)). See https://loom.example.";
const quoted = "Within 30 days (policy.md:3), says `policy.md`.";

const script: Script = {
  chunk: 7,
  turns: [
    {
      user: { exact: "Weather in Ulm?" },
      replies: [
        { expect: { tools: ["get_weather"] }, events: [weatherIn("Ulm")] },
        { expect: { lastTool: "rain" }, events: [{ text: "It rains in Ulm." }] },
      ],
    },
    {
      user: { exact: "Weather in Ulm and Bonn?" },
      replies: [
        { events: [{ text: "I will look." }, weatherIn("Ulm"), weatherIn("Bonn")] },
        { expect: { toolResults: 2, lastTool: "sun" }, events: [{ text: "Rain in Ulm, sun in Bonn." }] },
      ],
    },
    {
      user: { exact: "Ask, then read" },
      replies: [
        { events: [weatherIn("Ulm"), call("read_file", { path: "here.txt" })] },
        { expect: { toolResults: 2 }, events: [{ text: "Both done." }] },
      ],
    },
    {
      user: { exact: "Plan a trip" },
      replies: [
        { events: [weatherIn("Ulm")] },
        { expect: { lastTool: "rain" }, events: [weatherIn("Bonn")] },
        { expect: { lastTool: "sun" }, events: [call("book", { town: "Bonn" })] },
        { expect: { lastTool: "booked" }, events: [{ text: "You go to Bonn." }] },
      ],
    },
    {
      user: { exact: "Write it" },
      replies: [
        { events: [call("write_file", { path: "note.txt", content: "hello\n" })] },
        { expect: { lastTool: "note.txt" }, events: [{ text: "It is written." }] },
      ],
    },
    {
      user: { exact: "Do not write it" },
      replies: [
        { events: [call("write_file", { path: "never.txt", content: "hello\n" })] },
        { expect: { lastTool: "not today" }, events: [{ text: "Then not." }] },
      ],
    },
    {
      user: { exact: "Search" },
      replies: [{ events: [search] }, { expect: { lastTool: "A page" }, events: [{ text: cited }] }],
    },
    {
      user: { exact: "Search twice" },
      replies: [{ events: [search] }, { events: [search] }, { events: [{ text: "Once was enough." }] }],
    },
    {
      user: { exact: "Refunds?" },
      replies: [{ events: [call("file_search", { query: "refund" })] }, { events: [{ text: quoted }] }],
    },
    {
      user: { exact: "Compute" },
      replies: [
        { events: [call("code_interpreter", { language: "javascript", code })] },
        { events: [call("code_interpreter", { language: "javascript", code: "null.field" })] },
        { events: [{ text: "42." }] },
      ],
    },
    {
      user: { exact: "Read them" },
      replies: [
        { events: [call("read_file", { path: "here.txt" }), call("read_file", { path: "missing.txt" })] },
        { expect: { toolResults: 2 }, events: [{ text: "One is there." }] },
      ],
    },
    {
      user: { exact: "All at once" },
      replies: [
        {
          events: [
            search,
            call("file_search", { query: "refund" }),
            call("read_file", { path: "here.txt" }),
            weatherIn("Ulm"),
          ],
        },
        { expect: { toolResults: 4, lastTool: "rain" }, events: [{ text: "Done." }] },
      ],
    },
  ],
};

const wire = useWire();
let searching: SearchingServer;
let server: AgentServer;
beforeAll(async () => {
  searching = await startSearchingServer(script);
  server = searching.server;
}, 60_000);
afterAll(async () => {
  await searching[Symbol.asyncDispose]();
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
});

const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const weather = { type: "function" as const, name: "get_weather", parameters, strict: false };
const book = { ...weather, name: "book" };
const own = (extra: object = {}) => ({ type: "mcp" as const, server_label: "heddle", ...extra });

type Responses = OpenAI["responses"];
type Asked = Parameters<Responses["stream"]>[0];
type Items = readonly { readonly type: string }[];
const ofType = <Type extends string>(items: Items, type: Type) =>
  items.filter((item) => item.type === type) as unknown as (Record<string, string> & { type: Type })[];
const answerTo = ({ call_id }: Record<string, string>, output: string) => ({
  type: "function_call_output" as const,
  call_id: call_id!,
  output,
});
type Answer = OpenAI.Responses.Response;
const annotationsOf = ({ output }: Pick<Answer, "output">): unknown[] =>
  output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .flatMap((part) => {
      return part.type === "output_text" ? part.annotations : [];
    });

/** Its events come in order between the text and its end, and stand in all that tells of the message; so they do when it is read again. */
async function expectCited(client: OpenAI, answer: Answer): Promise<void> {
  const text = wire.last().text();
  const events = eventsIn(text);
  const annotations = annotationsOf(answer);
  const added = events.filter(({ type }) => type === "response.output_text.annotation.added");
  expect(added.map(({ annotation }) => annotation)).toEqual(annotations);
  expect(added.map(({ annotation_index }) => annotation_index)).toEqual(annotations.map((_, index) => index));
  const types = events.map(({ type }) => type);
  const [first, last] = [added[0]!.sequence_number, added.at(-1)!.sequence_number];
  expect([types[first - 1], types[last + 1]]).toEqual(["response.output_text.delta", "response.output_text.done"]);
  expect(events[last + 2]).toMatchObject({ type: "response.content_part.done", part: { annotations } });
  expect(events[last + 3]).toMatchObject({ type: "response.output_item.done", item: { content: [{ annotations }] } });
  expect(annotationsOf(await client.responses.retrieve(answer.id))).toEqual(annotations);
  const resumed = await client.responses.retrieve(answer.id, { stream: true, starting_after: first });
  for await (const _ of resumed);
  expect(text.endsWith(wire.last().text())).toBe(true);
}

const typesOf = () => eventsIn(wire.last().text()).map(({ type }) => type);

describe.each(sdks)("$sdk", ({ Client }) => {
  const open = () => new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch });
  const run = (client: OpenAI, asked: Asked) => client.responses.stream(asked).finalResponse();

  describe("functions", () => {
    test("one: the response ends with the call, and its output goes on", async () => {
      const client = open();
      const first = await run(client, { input: "Weather in Ulm?", tools: [weather] });
      expect(first).toMatchObject({
        status: "completed",
        output: [{ type: "function_call", name: "get_weather", arguments: '{"town":"Ulm"}', status: "completed" }],
      });
      expect(new Set(typesOf())).toEqual(
        new Set([
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.function_call_arguments.delta",
          "response.function_call_arguments.done",
          "response.output_item.done",
          "response.completed",
        ]),
      );
      const [asked] = ofType(first.output, "function_call");
      const second = await run(client, {
        previous_response_id: first.id,
        input: [answerTo(asked!, "rain")],
        tools: [weather],
      });
      expect(second).toMatchObject({ output_text: "It rains in Ulm.", previous_response_id: first.id });
      expect(second.output).toHaveLength(1);
    });

    test("parallel: two calls in one response, answered together, in any order", async () => {
      const client = open();
      const first = await client.responses.create({ input: "Weather in Ulm and Bonn?", tools: [weather] });
      expect(first.output.map(({ type }) => type)).toEqual(["message", "function_call", "function_call"]);
      const [ulm, bonn] = ofType(first.output, "function_call");
      await expect(
        client.responses.create({ previous_response_id: first.id, input: [answerTo(ulm!, "rain")], tools: [weather] }),
      ).rejects.toMatchObject({ status: 400, message: expect.stringContaining(bonn!["call_id"]!), param: "input" });
      const second = await client.responses.create({
        previous_response_id: first.id,
        input: [answerTo(bonn!, "sun"), answerTo(ulm!, "rain")],
        tools: [weather],
      });
      expect(second.output_text).toBe("Rain in Ulm, sun in Bonn.");
    });

    test("parallel_tool_calls: false: one at a time, also when the model makes two at once", async () => {
      const client = open();
      const asked = { tools: [weather], parallel_tool_calls: false };
      const first = await run(client, { ...asked, input: "Weather in Ulm and Bonn?" });
      const [ulm, ...more] = ofType(first.output, "function_call");
      expect(more).toEqual([]);
      const goOn = (previous_response_id: string, call: Record<string, string>, output: string) =>
        run(client, { ...asked, previous_response_id, input: [answerTo(call, output)] });
      const second = await goOn(first.id, ulm!, "rain");
      expect(second.output).toMatchObject([{ type: "function_call", arguments: '{"town":"Bonn"}' }]);
      const third = await goOn(second.id, ofType(second.output, "function_call")[0]!, "sun");
      expect(third).toMatchObject({ status: "completed", output_text: "Rain in Ulm, sun in Bonn." });
    });

    test("parallel_tool_calls: false, a function before a tool of the server", async () => {
      const client = open();
      const asked = { tools: [weather, own()], parallel_tool_calls: false };
      const first = await run(client, { ...asked, input: "Ask, then read" });
      expect(first.output.map(({ type }) => type)).toEqual(["function_call"]);
      const [call] = ofType(first.output, "function_call");
      const second = await run(client, { ...asked, previous_response_id: first.id, input: [answerTo(call!, "rain")] });
      expect(second.output).toMatchObject([{ type: "mcp_call", status: "completed" }, { type: "message" }]);
    });

    test("several rounds with previous_response_id; each response counts its own", async () => {
      const client = open();
      const outputs: Record<string, string> = { '{"town":"Ulm"}': "rain", '{"town":"Bonn"}': "sun" };
      let response = await run(client, { input: "Plan a trip", tools: [weather, book] });
      const rounds: string[] = [];
      for (let calls = ofType(response.output, "function_call"); calls.length > 0; ) {
        rounds.push(...calls.map(({ name }) => name!));
        const input = calls.map((each) =>
          answerTo(each, each["name"] === "book" ? "booked" : outputs[each["arguments"]!]!),
        );
        response = await run(client, { previous_response_id: response.id, input, tools: [weather, book] });
        calls = ofType(response.output, "function_call");
      }
      expect(rounds).toEqual(["get_weather", "get_weather", "book"]);
      expect(response.output_text).toBe("You go to Bonn.");
    });

    test("several rounds with the whole history in the input, nothing stored", async () => {
      const client = open();
      const outputs: Record<string, string> = { '{"town":"Ulm"}': "rain", '{"town":"Bonn"}': "sun" };
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Plan a trip" }];
      const asked = { input, tools: [weather, book], store: false };
      let response = await run(client, asked);
      for (let calls = ofType(response.output, "function_call"); calls.length > 0; ) {
        input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
        for (const each of calls)
          input.push(answerTo(each, each["name"] === "book" ? "booked" : outputs[each["arguments"]!]!));
        response = await run(client, asked);
        calls = ofType(response.output, "function_call");
      }
      expect(response.output_text).toBe("You go to Bonn.");
    });

    test("parallel calls in the history are one reply of the model, whatever the order of their outputs", async () => {
      const client = open();
      const first = await client.responses.create({
        input: "Weather in Ulm and Bonn?",
        tools: [weather],
        store: false,
      });
      const [ulm, bonn] = ofType(first.output, "function_call");
      const second = await run(client, {
        input: [
          { role: "user", content: "Weather in Ulm and Bonn?" },
          ...(first.output as OpenAI.Responses.ResponseInputItem[]),
          answerTo(bonn!, "sun"),
          answerTo(ulm!, "rain"),
        ],
        tools: [weather],
      });
      expect(second.output_text).toBe("Rain in Ulm, sun in Bonn.");
    });

    test("one that is called as a tool of the server is the caller's", async () => {
      const client = open();
      const tools = [{ ...weather, name: "read_file" }, { type: "web_search" as const }];
      const first = await run(client, { input: "Read them", tools });
      expect(first.output.map(({ type }) => type)).toEqual(["function_call", "function_call"]);
      // Its input does not fit, and is one too many: that is for the caller to say.
      const asked = { input: "Read them", tools, max_tool_calls: 1 };
      const limited = await run(client, asked);
      const input = ofType(limited.output, "function_call").map((call) => answerTo(call, "no such town"));
      expect(input).toHaveLength(2);
      expect(await run(client, { previous_response_id: limited.id, input, tools })).toMatchObject({
        output_text: "One is there.",
      });
    });

    test("an answer to nothing, to another response, or twice, is refused", async () => {
      const client = open();
      const first = await client.responses.create({ input: "Weather in Ulm?", tools: [weather] });
      const [asked] = ofType(first.output, "function_call");
      const answered = { input: [answerTo(asked!, "rain")], tools: [weather] };
      await expect(client.responses.create(answered)).rejects.toMatchObject({ status: 400, param: "input[0].call_id" });
      await expect(
        client.responses.create({
          previous_response_id: first.id,
          input: [answerTo({ call_id: "call_1" }, "rain")],
          tools: [weather],
        }),
      ).rejects.toMatchObject({ status: 400, param: "input[0].call_id" });
      const second = await client.responses.create({ ...answered, previous_response_id: first.id });
      await expect(client.responses.create({ ...answered, previous_response_id: second.id })).rejects.toMatchObject({
        status: 400,
        param: "input",
      });
    });
  });

  describe("approvals", () => {
    const tools = [own({ allowed_tools: ["write_file"], require_approval: "always" as const })];
    const answer = (id: string, approve: boolean, reason?: string) => ({
      type: "mcp_approval_response" as const,
      approval_request_id: id,
      approve,
      ...(reason !== undefined && { reason }),
    });

    test("allowed: the question ends the response, and the call runs in the next", async () => {
      const client = open();
      const first = await run(client, { input: "Write it", tools });
      expect(first.output).toMatchObject([
        { type: "mcp_approval_request", server_label: "heddle", name: "write_file" },
      ]);
      expect(typesOf().filter((type) => type.includes("mcp"))).toEqual([]);
      const [asked] = ofType(first.output, "mcp_approval_request");
      const second = await run(client, {
        previous_response_id: first.id,
        input: [answer(asked!["id"]!, true)],
        tools,
      });
      expect(second).toMatchObject({
        output: [{ type: "mcp_call", status: "completed", approval_request_id: asked!["id"] }, { type: "message" }],
        output_text: "It is written.",
      });
      expect(await readFile(join(server.dir, "note.txt"), "utf8")).toBe("hello\n");
    });

    test("denied: the model is told, and nothing ran", async () => {
      const client = open();
      const first = await client.responses.create({ input: "Do not write it", tools });
      const [asked] = ofType(first.output, "mcp_approval_request");
      const second = await run(client, {
        previous_response_id: first.id,
        input: [answer(asked!["id"]!, false, "not today")],
        tools,
      });
      expect(second.output_text).toBe("Then not.");
      expect(second.output.map(({ type }) => type)).toEqual(["message"]);
      await expect(readFile(join(server.dir, "never.txt"))).rejects.toThrow("ENOENT");
    });
  });

  describe("tools that the server runs", () => {
    test("web_search: its stages, its sources where they are asked for", async () => {
      const client = open();
      const tools = [{ type: "web_search" as const }];
      const found = await run(client, { input: "Search", tools, include: ["web_search_call.action.sources"] });
      expect(found.output).toMatchObject([
        {
          type: "web_search_call",
          status: "completed",
          action: {
            type: "search",
            query: "looms",
            queries: ["looms"],
            sources: [{ type: "url", url: "https://loom.example/" }],
          },
        },
        { type: "message" },
      ]);
      expect(typesOf().filter((type) => type.includes("web_search"))).toEqual([
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
      ]);
      const plain = await client.responses.create({ input: "Search", tools });
      expect(plain.output[0]).not.toHaveProperty("action.sources");
    });

    test("what the answer names of what was found is cited, the same in every way to read it", async () => {
      const client = open();
      const url = { type: "url_citation", url: "https://loom.example/", title: "A page" };
      const found = await run(client, { input: "Search", tools: [{ type: "web_search" as const }] });
      expect(annotationsOf(found)).toEqual([
        { ...url, start_index: 12, end_index: 51 },
        { ...url, start_index: 57, end_index: 77 },
      ]);
      await expectCited(client, found);
      const file = { type: "file_citation", file_id: "handbook/policy.md", filename: "policy.md" };
      const tools = [{ type: "file_search" as const, vector_store_ids: [] }];
      const read = await run(client, { input: "Refunds?", tools });
      expect(annotationsOf(read)).toEqual([
        { ...file, index: 27 },
        { ...file, index: 45 },
      ]);
      await expectCited(client, read);
      // Who keeps the conversation sends them back.
      const input = [...(read.output as []), { role: "user" as const, content: "Compute" }];
      expect((await client.responses.create({ input })).status).toBe("completed");
    });

    test("file_search: passages of what was indexed, where they are asked for", async () => {
      const client = open();
      const tools = [{ type: "file_search" as const, vector_store_ids: [] }];
      const found = await run(client, { input: "Refunds?", tools, include: ["file_search_call.results"] });
      expect(found.output[0]).toMatchObject({
        type: "file_search_call",
        status: "completed",
        queries: ["refund"],
        results: expect.arrayContaining([
          expect.objectContaining({ filename: "policy.md", text: expect.stringContaining("within 30 days") }),
        ]),
      });
      expect(typesOf().filter((type) => type.includes("file_search"))).toEqual([
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
      ]);
      const plain = await client.responses.create({ input: "Refunds?", tools });
      expect(plain.output[0]).toMatchObject({ results: null });
    });

    test("code_interpreter: the code as it is written; one that fails is not completed", async () => {
      const client = open();
      const tools = [{ type: "code_interpreter" as const, container: { type: "auto" as const } }];
      const done = await run(client, { input: "Compute", tools, include: ["code_interpreter_call.outputs"] });
      expect(done).toMatchObject({
        status: "completed",
        output: [
          {
            type: "code_interpreter_call",
            status: "completed",
            code,
            outputs: [{ type: "logs", logs: expect.stringContaining("42") }],
          },
          { type: "code_interpreter_call", status: "failed", code: "null.field" },
          { type: "message" },
        ],
      });
      const events = eventsIn(wire.last().text()).filter(({ type }) => type.includes("code_interpreter"));
      const written = events.filter(
        ({ type, output_index }) => type === "response.code_interpreter_call_code.delta" && output_index === 0,
      );
      expect(written.length).toBeGreaterThan(1);
      expect(written.map(({ delta }) => delta).join("")).toBe(code);
      const stages = (index: number) =>
        events.filter(({ type, output_index }) => output_index === index && !type.endsWith("code.delta"));
      expect(stages(0).map(({ type }) => type.replace("response.code_interpreter_call", ""))).toEqual([
        ".in_progress",
        "_code.done",
        ".interpreting",
        ".completed",
      ]);
      expect(stages(1).map(({ type }) => type.replace("response.code_interpreter_call", ""))).toEqual([
        ".in_progress",
        "_code.done",
        ".interpreting",
      ]);
    });

    test("built-ins through the label heddle: one that works, one that fails", async () => {
      const client = open();
      const done = await run(client, { input: "Read them", tools: [own()] });
      expect(done.output).toMatchObject([
        { type: "mcp_call", server_label: "heddle", name: "read_file", status: "completed", error: null },
        {
          type: "mcp_call",
          status: "failed",
          output: null,
          error: { type: "mcp_tool_execution_error", content: [{ type: "text" }] },
        },
        { type: "message" },
      ]);
      const types = typesOf();
      expect(types.filter((type) => type === "response.mcp_call.completed")).toHaveLength(1);
      expect(types.filter((type) => type === "response.mcp_call.failed")).toHaveLength(1);
      expect(types.filter((type) => type === "response.mcp_call.in_progress")).toHaveLength(2);
      const named = eventsIn(wire.last().text()).filter(({ type }) => type.includes("mcp_call"));
      expect(new Set(named.map(({ name }) => name))).toEqual(new Set(["read_file"]));
    });

    test("FR-009: not streamed, the same items", async () => {
      const client = open();
      const done = await client.responses.create({ input: "Read them", tools: [own()] });
      expect(done.output.map(({ type }) => type)).toEqual(["mcp_call", "mcp_call", "message"]);
    });

    test("hosted tools beside a function: what the server runs is done when the caller is asked", async () => {
      const client = open();
      const tools = [
        { type: "web_search" as const },
        { type: "file_search" as const, vector_store_ids: [] },
        own({ allowed_tools: ["read_file"] }),
        weather,
      ];
      const first = await run(client, { input: "All at once", tools });
      const kinds = ["web_search_call", "file_search_call", "mcp_call", "function_call"];
      expect(first.output.map(({ type }) => type)).toEqual(kinds);
      expect(first.output).toMatchObject(kinds.map(() => ({ status: "completed" })));
      const [asked] = ofType(first.output, "function_call");
      const second = await run(client, {
        previous_response_id: first.id,
        input: [answerTo(asked!, "rain")],
        tools,
      });
      expect(second.output.map(({ type }) => type)).toEqual(["message"]);
    });

    test("FR-010: what a model calls although nobody named it does not show", async () => {
      const client = open();
      for (const asked of [{}, { tools: [weather] }, { tools: [own()], tool_choice: "none" as const }]) {
        const done = await run(client, { input: "Read them", ...asked });
        expect(done.output.map(({ type }) => type)).toEqual(["message"]);
        expect(typesOf().filter((type) => type.includes("_call"))).toEqual([]);
      }
    });

    test("max_tool_calls: one more is not made", async () => {
      const client = open();
      const asked = { input: "Search twice", tools: [{ type: "web_search" as const }], max_tool_calls: 1 };
      const done = await run(client, asked);
      expect(done).toMatchObject({
        status: "completed",
        max_tool_calls: 1,
        output: [
          { type: "web_search_call", status: "completed" },
          { type: "web_search_call", status: "failed" },
          { type: "message" },
        ],
      });
    });

    test("tools that were not named are not offered", async () => {
      const client = open();
      const done = await run(client, { input: "Read them", tools: [own({ allowed_tools: ["grep_files"] })] });
      expect(done.output.filter(({ type }) => type === "mcp_call")).toMatchObject([
        { status: "failed" },
        { status: "failed" },
      ]);
    });
  });
});

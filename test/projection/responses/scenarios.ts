// What callers ask, and what happens: one golden file of events each.
import { createHash } from "node:crypto";
import { z } from "zod";
import { ModelError } from "../../../src/model/model.js";
import { ToolFailure } from "../../../src/tool/tool.js";
import type { ToolOffer, ToolServer } from "../../../src/tool/tool-server.js";
import { calls, fails, piece, says, stop, streams, texts } from "../../golden/agents.js";
import { passes, type Stage } from "../../golden/stage.js";
import { type ReplyScript, replies, tool } from "../../support/agent.js";
import type { CoreOptions } from "../../support/core.js";
import { type Created, openApi } from "./api.js";

export interface Scenario {
  readonly name: string;
  /** What it shows. */
  readonly shows: string;
  play(stage: Stage): Promise<readonly Created[]>;
}

interface Cast extends Omit<CoreOptions, "model"> {
  readonly replies: readonly ReplyScript[];
  readonly builtIn?: "mcp" | "function";
}

const open = (stage: Stage, { replies: scripts, builtIn, ...options }: Cast) => {
  const core = stage.open({
    model: replies(...scripts),
    defaults: { model: "test:model" },
    limits: { firstBackoffMs: 500 },
    ...options,
  });
  return { core, ...openApi(core, builtIn ? { builtIn } : {}) };
};

/** One request, to its end. */
const one =
  (cast: Cast, request: object): Scenario["play"] =>
  async (stage) => {
    const { create } = open(stage, cast);
    const created = await create(request);
    await created.events();
    return [created];
  };

const weather = {
  type: "function",
  name: "get_weather",
  description: "The weather of a town.",
  parameters: { type: "object", properties: { town: { type: "string" } }, required: ["town"] },
};

const search = tool(
  "web_search",
  async () => {
    await passes(600);
    const results = [
      { title: "Looms", url: "https://loom.example/", snippet: "All about looms." },
      { title: "Looms of today", url: "https://loom.example/today", snippet: "New ones." },
    ];
    return { summary: "Found 2 results", result: { query: "looms", results } };
  },
  { kind: "search", phase: "searching" },
);

const files = tool(
  "file_search",
  async () => ({
    summary: "Found 1 passage in 1 document",
    result: {
      query: "refunds",
      ranking: "text",
      passages: [
        {
          document: "policy.md",
          collection: "default",
          first_line: 3,
          last_line: 3,
          headings: ["Refunds"],
          text: "Within 30 days.",
          score: 0.9,
        },
      ],
    },
  }),
  { kind: "search", phase: "searching" },
);

const code = tool("code_interpreter", async () => ({ summary: "Code ran in 12 ms", result: { stdout: "4\n" } }), {
  kind: "execute",
  phase: "interpreting",
  textFields: [{ field: "code", purpose: "code" }],
  input: z.object({ code: z.string() }),
});

const write = tool("write_file", async () => ({ summary: "Created a.txt (1 line)" }), { kind: "edit" });
const read = tool("read_file", async () => ({ summary: "Read 3 lines from a.txt" }), { kind: "read" });
const broken = tool(
  "read_file",
  async () => {
    throw new ToolFailure("File not found: a.txt", { code: "ENOENT" });
  },
  { kind: "read" },
);

const forecast = tool(
  "mcp__weather__forecast",
  async (_, { progress }) => {
    progress(1, 2, "Asking the stations");
    await passes(300);
    return { summary: "Rain from four o'clock", result: { rain: true } };
  },
  { title: "Forecast", origin: { kind: "mcp", serverLabel: "weather", toolName: "forecast" } },
);

const lost = {
  ...forecast,
  run: async () => {
    throw new ToolFailure("The server answered with an error: unknown town", {
      kind: "protocol_error",
      code: "-32602",
    });
  },
};

const server = (...tools: readonly (typeof forecast)[]): ToolServer => {
  const json = JSON.stringify([
    { name: "forecast", description: "What the weather will be.", inputSchema: { type: "object" } },
  ]);
  const offer: ToolOffer = { tools, json, sha256: createHash("sha256").update(json).digest() };
  return { label: "weather", status: { state: "idle" }, offer: undefined, discover: async () => offer };
};

const unreachable: ToolServer = {
  label: "weather",
  status: { state: "idle" },
  offer: undefined,
  discover: async () => {
    throw new ToolFailure("Nothing answers at https://weather.example/mcp");
  },
};

const mcp = { type: "mcp", server_label: "weather", require_approval: "never" };
const own = { type: "mcp", server_label: "heddle" };

/** A file is to be written, its writing is asked for, and the next request says yes. */
const askedAndAllowed =
  (builtIn?: "function"): Scenario["play"] =>
  async (stage) => {
    const { create } = open(stage, {
      replies: [calls({ name: "write_file", input: { path: "a.txt" } }), says("Written.")],
      tools: [write],
      policy: { trusted: false },
      ...(builtIn && { builtIn }),
    });
    const first = await create({ input: "Write it", tools: [own] });
    const asked = (await first.events()).flatMap(({ frame }) =>
      frame.type === "response.output_item.done" ? [frame["item"] as { id: string; type: string }] : [],
    );
    const request = asked.find(({ type }) => type === "mcp_approval_request")!;
    const second = await create({
      previous_response_id: first.id,
      input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
      tools: [own],
    });
    await second.events();
    return [first, second];
  };

export const scenarios: readonly Scenario[] = [
  {
    name: "text",
    shows: "Text alone carries no tool events.",
    play: one({ replies: [says("Good ", "morning.")], tools: [read] }, { input: "Hello", instructions: "Be brief." }),
  },
  {
    name: "reasoning",
    shows: "What the model thinks is an item of its own.",
    play: one(
      { replies: [streams([{ type: "reasoning", text: "Simple." }, ...texts("Four."), ...stop()])] },
      { input: "2 + 2?" },
    ),
  },
  {
    name: "refusal",
    shows: "A refusal is a part of the message.",
    play: one(
      { replies: [streams([{ type: "refusal", text: "I cannot help with that." }, ...stop()])] },
      { input: "…" },
    ),
  },
  {
    name: "function",
    shows: "The response ends with the call; its output continues the run in the next response.",
    play: async (stage) => {
      const { create } = open(stage, {
        replies: [calls({ name: "get_weather", input: { town: "Ulm" } }), says("It rains in Ulm.")],
      });
      const first = await create({ input: "Weather in Ulm?", tools: [weather] });
      const [call] = (await first.events()).flatMap(({ frame }) =>
        frame.type === "response.output_item.done" ? [frame["item"] as { call_id: string }] : [],
      );
      const second = await create({
        previous_response_id: first.id,
        input: [{ type: "function_call_output", call_id: call!.call_id, output: "rain" }],
        tools: [weather],
      });
      await second.events();
      return [first, second];
    },
  },
  {
    name: "parallel-functions",
    shows: "Two calls, two items, one response.",
    play: one(
      {
        replies: [
          streams([
            piece(0, { name: "get_weather" }),
            piece(1, { name: "get_weather" }),
            piece(0, { input: '{"town":"Ulm"}' }),
            piece(1, { input: '{"town":"Bonn"}' }),
            ...stop("tool_calls"),
          ]),
        ],
      },
      { input: "Weather in Ulm and Bonn?", tools: [weather] },
    ),
  },
  {
    name: "one-at-a-time",
    shows: "Two calls of one reply where only one may run at a time: the second shows when its turn comes.",
    play: async (stage) => {
      const { create } = open(stage, {
        replies: [
          calls({ name: "get_weather", input: { town: "Ulm" } }, { name: "read_file", input: { path: "a.txt" } }),
          says("It rains."),
        ],
        tools: [read],
      });
      const asked = { tools: [weather, own], parallel_tool_calls: false };
      const first = await create({ ...asked, input: "Weather in Ulm, and read it" });
      const [call] = (await first.events()).flatMap(({ frame }) =>
        frame.type === "response.output_item.done" ? [frame["item"] as { call_id: string }] : [],
      );
      const input = [{ type: "function_call_output", call_id: call!.call_id, output: "rain" }];
      const second = await create({ ...asked, previous_response_id: first.id, input });
      await second.events();
      return [first, second];
    },
  },
  {
    name: "not-named",
    shows: "A tool that the request did not name: the model is told so, and the caller sees nothing of it.",
    play: one(
      { replies: [calls({ name: "read_file", input: { path: "a.txt" } }), says("I cannot read.")], tools: [read] },
      { input: "Read it" },
    ),
  },
  {
    name: "mcp",
    shows: "The list of the server's tools first, then its calls.",
    play: one(
      {
        replies: [calls({ name: "mcp__weather__forecast", input: { town: "Ulm" } }), says("Take an umbrella.")],
        servers: { forThread: () => [server(forecast)] },
      },
      { input: "Umbrella?", tools: [mcp] },
    ),
  },
  {
    name: "mcp-failure",
    shows: "A call that fails does not end the response.",
    play: one(
      {
        replies: [calls({ name: "mcp__weather__forecast", input: {} }), says("I do not know.")],
        servers: { forThread: () => [server(lost)] },
      },
      { input: "Umbrella?", tools: [mcp] },
    ),
  },
  {
    name: "mcp-list-failure",
    shows: "A server that is down costs its tools.",
    play: one(
      { replies: [says("I cannot look.")], servers: { forThread: () => [unreachable] } },
      { input: "Umbrella?", tools: [mcp] },
    ),
  },
  {
    name: "web-search",
    shows: "in_progress, searching, completed; what the answer names of what was found is cited.",
    play: one(
      {
        replies: [
          calls({ name: "web_search", input: { query: "looms" } }),
          says("🧵 Looms weave ([Looms](https://loom.exam", "ple/)). See https://loom.example/today, too."),
        ],
        tools: [search],
      },
      { input: "Find looms", tools: [{ type: "web_search" }], include: ["web_search_call.action.sources"] },
    ),
  },
  {
    name: "file-search",
    shows:
      "in_progress, searching, completed; results only where they are asked for; a document that is named is cited.",
    play: one(
      {
        replies: [calls({ name: "file_search", input: { query: "refunds" } }), says("Within 30 days (policy.md:3).")],
        tools: [files],
      },
      {
        input: "Refunds?",
        tools: [{ type: "file_search", vector_store_ids: [] }],
        include: ["file_search_call.results"],
      },
    ),
  },
  {
    name: "file-search-failure",
    shows: "A search that fails has no completed event: its item says so.",
    play: one(
      {
        replies: [calls({ name: "file_search", input: { query: "refunds" } }), says("No.")],
        tools: [{ ...files, run: async () => Promise.reject(new ToolFailure("No documents are indexed")) }],
      },
      { input: "Refunds?", tools: [{ type: "file_search", vector_store_ids: [] }] },
    ),
  },
  {
    name: "code-interpreter",
    shows: "The code as it is written, then interpreting, completed.",
    play: one(
      {
        replies: [
          streams([
            piece(0, { name: "code_interpreter" }),
            piece(0, { input: '{"code":"print(' }),
            piece(0, { input: '2 + 2)"}' }),
            ...stop("tool_calls"),
          ]),
          says("Four."),
        ],
        tools: [code],
      },
      {
        input: "2 + 2?",
        tools: [{ type: "code_interpreter", container: { type: "auto" } }],
        include: ["code_interpreter_call.outputs"],
      },
    ),
  },
  {
    name: "built-in-tools",
    shows: "Two of the server's own, at the same time, under its own label.",
    play: one(
      {
        replies: [
          calls({ name: "read_file", input: { path: "a.txt" } }, { name: "read_file", input: { path: "b.txt" } }),
          says("Read."),
        ],
        tools: [read],
      },
      { input: "Read both", tools: [own] },
    ),
  },
  {
    name: "built-in-failure",
    shows: "What a tool says when it fails.",
    play: one(
      { replies: [calls({ name: "read_file", input: { path: "a.txt" } }), says("It is not there.")], tools: [broken] },
      { input: "Read it", tools: [own] },
    ),
  },
  {
    name: "built-in-as-functions",
    shows: "By configuration, as a function and its output.",
    play: one(
      {
        replies: [calls({ name: "read_file", input: { path: "a.txt" } }), says("Read.")],
        tools: [read],
        builtIn: "function",
      },
      { input: "Read it", tools: [own] },
    ),
  },
  {
    name: "approval",
    shows: "The question ends the response; the answer continues the run.",
    play: askedAndAllowed(),
  },
  {
    name: "approval-as-function",
    shows: "A built-in tool that shows as a function, and is asked for: the call and its output come with the answer.",
    play: askedAndAllowed("function"),
  },
  {
    name: "incomplete",
    shows: "A reply that ran into its length limit.",
    play: one(
      { replies: [streams([...texts("Once upon"), ...stop("truncated", "length")])] },
      { input: "A story", max_output_tokens: 2 },
    ),
  },
  {
    name: "function-cut-off",
    shows:
      "A reply that ran into its length limit in the middle of a call: nobody is to run it, nor the whole one before it.",
    play: one(
      {
        replies: [
          streams([
            piece(0, { name: "get_weather" }),
            piece(0, { input: '{"town":"Ulm"}' }),
            { type: "tool_call_end", index: 0 },
            piece(1, { name: "get_weather" }),
            piece(1, { input: '{"town":"Bo' }),
            // As some providers do: they say that it is complete, and then that it was cut off.
            { type: "tool_call_end", index: 1 },
            ...stop("truncated", "length"),
          ]),
        ],
      },
      { input: "Weather in Ulm and Bonn?", tools: [weather], max_output_tokens: 16 },
    ),
  },
  {
    name: "broken-reply",
    shows: "A reply that breaks off and is asked for again: what was said of it stays, as incomplete.",
    play: one(
      {
        replies: [
          streams([{ type: "text", text: "Once " }], { error: new ModelError("broken", "The connection broke") }),
          says("Once upon a time."),
        ],
      },
      { input: "A story" },
    ),
  },
  {
    name: "failed",
    shows: "A provider that refuses.",
    play: one({ replies: [fails("unauthorized", "The provider does not take the key")] }, { input: "Hello" }),
  },
  {
    name: "cancelled",
    shows: "Called off in the background: failed, with the status cancelled.",
    play: async (stage) => {
      const { create, responses } = open(stage, { replies: [says("One ", "two ", "three ", "four ")] });
      const created = await create({ input: "Count", background: true });
      await passes(520);
      await responses.cancel(created.stored);
      await created.events();
      return [created];
    },
  },
];

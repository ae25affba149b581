import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test, vi } from "vitest";
import { demoModel } from "../../src/model/demo.js";
import type { ModelCall, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import { builtinTools } from "../../src/tool/builtin/index.js";
import { checkInput } from "../../src/tool/check-input.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import type { ToolContext } from "../../src/tool/tool.js";

const workspace = mkdtempSync(join(tmpdir(), "heddle-demo-"));
mkdirSync(join(workspace, "src/deep"), { recursive: true });
for (const name of ["a.txt", "b.txt", "c.txt", "src/one.ts"]) writeFileSync(join(workspace, name), "12345");
afterAll(() => rmSync(workspace, { recursive: true }));

const never = new AbortController().signal;
const registry = new ToolRegistry(builtinTools({ workspace }));
const offered = (names: readonly string[] = [...registry.names()]): ModelTool[] =>
  names.map((name) => ({ name, description: "", inputSchema: registry.inputSchema(name) }));
const withoutWorkspace = offered([...new ToolRegistry(builtinTools({ workspace: undefined })).names()]);

describe("a turn with the real tools", () => {
  test.each<[string, string[][]]>([
    ["List the files", [["list_directory"]]],
    ["What is in this folder?", [["list_directory"]]],
    ["Ask me something", [["clarify"]]],
    ["Think about it", [["think"]]],
    ["Tell me something", [["inform_user"]]],
    ["Are you done?", [["work_complete"]]],
    ["Hello", [["think", "list_directory"], ["inform_user"]]],
    ["", [["think", "list_directory"], ["inform_user"]]],
    ["Make a plan, list the directories and tell me", [["think", "list_directory"], ["inform_user"]]],
    ["Tell me and ask me", [["inform_user", "clarify"]]],
    ["think, list, tell, finish", [["think", "list_directory"], ["inform_user"], ["work_complete"]]],
    ["A task for the planet: finishing untold lists", [["think", "list_directory"], ["inform_user"]]],
  ])("%j calls %j", async (text, rounds) => {
    const { replies } = await playTurn([{ role: "user", text }]);
    expect(replies.map(namesOf).filter((names) => names.length > 0)).toEqual(rounds);
  });

  test("it says first that it is a demo, and how to get a real model", async () => {
    const { replies } = await playTurn([{ role: "user", text: "Hello" }]);
    const [first] = replies;
    expect(first![0]!.type).toBe("text");
    for (const words of ["demo", "canned", "OPENAI_API_KEY", "--model openai:gpt-", "ANTHROPIC_API_KEY"])
      expect(textOf(first!)).toContain(words);
    expect(replies.slice(1).map(textOf).join("")).not.toContain("OPENAI_API_KEY");
  });

  test("later in the thread it is brief about that", async () => {
    const { messages } = await playTurn([{ role: "user", text: "Hello" }]);
    const { replies } = await playTurn([...messages, { role: "user", text: "Think" }]);
    expect(textOf(replies[0]!)).toContain("demo");
    expect(textOf(replies[0]!)).not.toContain("OPENAI_API_KEY");
  });

  test("the answer tells what the tools said", async () => {
    const { replies, messages } = await playTurn([{ role: "user", text: "Hello" }]);
    const update = callsOf(replies[1]!)[0]!;
    expect(JSON.parse(update.input).message).toBe(
      "list_directory found 4 entries in the workspace: a.txt, b.txt, c.txt and 1 more.",
    );
    const answer = textOf(replies.at(-1)!);
    expect(answer).toContain("list_directory found 4 entries in the workspace");
    const told = messages.find((message) => message.role === "tool" && message.text.startsWith("Noted"));
    expect(answer).toContain(`think answered “${told!.role === "tool" && told!.text}”`);
  });

  test.each([
    ["List the files in src/deep", "src/deep", "list_directory found 0 entries in src/deep/."],
    ["list `src`, please", "src", "list_directory found 2 entries in src/: deep/, one.ts."],
    ["What does the src folder hold?", "src", "list_directory found 2 entries in src/"],
    ["List the files in ./src.", "./src", "list_directory found 2 entries in src/"],
    ["Which directories are there in src?", "src", "What shall I do next"],
    ["List the files in src, then go on", "src", "list_directory found 2 entries in src/"],
    ["List the files in parallel.", ".", "in the workspace"],
    ["list and/or show the files in the current folder", ".", "in the workspace"],
    ["List the files in none/such", "none/such", "list_directory did not work: “No such directory: none/such"],
    ["List the files in ../..", "../..", "list_directory did not work"],
  ])("%j looks into %j and tells what came of it", async (text, path, answer) => {
    const { replies } = await playTurn([{ role: "user", text }]);
    expect(JSON.parse(callsOf(replies[0]!)[0]!.input)).toEqual({ path });
    const last = replies.at(-1)!;
    expect(textOf(last) + callsOf(last).map(({ input }) => input)).toContain(answer);
  });

  test("what a listing of another make says is quoted", async () => {
    const text = "List the files";
    const call = { id: "1", name: "list_directory", input: "{}" };
    const reply = await ask({
      messages: [
        { role: "user", text },
        { role: "assistant", text: "", calls: [call] },
        { role: "tool", callId: "1", text: "nothing\nto see", isError: false },
      ],
    });
    expect(textOf(reply)).toContain("list_directory answered “nothing to see”.");
  });

  test("a call whose result is missing did not work", async () => {
    const call = { id: "1", name: "think", input: "{}" };
    const reply = await ask({
      messages: [
        { role: "user", text: "Think" },
        { role: "assistant", text: "", calls: [call] },
      ],
    });
    expect(textOf(reply)).toContain("think did not work");
  });
});

describe("it keeps to what the request offers", () => {
  test("without a workspace it says so, and how to give one", async () => {
    const reply = await ask({
      messages: [{ role: "user", text: "List the files and think" }],
      tools: withoutWorkspace,
    });
    expect(textOf(reply)).toContain("no workspace");
    expect(textOf(reply)).toContain("--workspace");
    expect(namesOf(reply)).toEqual(["think"]);
  });

  test("without a workspace and asked for nothing in particular, it does the rest", async () => {
    const { replies } = await playTurn([{ role: "user", text: "Hello" }], { tools: withoutWorkspace });
    expect(replies.map(namesOf)).toEqual([["think"], ["inform_user"], []]);
    expect(textOf(replies[0]!)).not.toContain("--workspace");
  });

  test("a tool that is not there is named as missing", async () => {
    const reply = await ask({ messages: [{ role: "user", text: "Ask me" }], tools: offered(["think"]) });
    expect(textOf(reply)).toContain("clarify is not offered");
    expect(namesOf(reply)).toEqual([]);
    expect(reply.at(-1)).toMatchObject({ type: "end", reason: "stop" });
  });

  test.each<[string, ModelTool["inputSchema"]]>([
    ["wants more", { type: "object", properties: { thoughts: { type: "array" }, mood: {} }, required: ["mood"] }],
    ["wants another type", { type: "object", properties: { thoughts: { type: "string" } } }],
    ["knows no such field", { type: "object", properties: {}, additionalProperties: false }],
  ])("a tool of the same name that %s is left alone", async (_name, inputSchema) => {
    const reply = await ask({
      messages: [{ role: "user", text: "Think" }],
      tools: [{ name: "think", description: "", inputSchema }],
    });
    expect(namesOf(reply)).toEqual([]);
  });

  test("with tool choice none it calls nothing", async () => {
    const reply = await ask({ messages: [{ role: "user", text: "List the files" }], toolChoice: { type: "none" } });
    expect(namesOf(reply)).toEqual([]);
    expect(textOf(reply)).not.toContain("--workspace");
  });

  test("a named tool is the one that is called", async () => {
    const messages: ModelMessage[] = [{ role: "user", text: "List the files" }];
    expect(namesOf(await ask({ messages, toolChoice: { type: "named", name: "think" } }))).toEqual(["think"]);
  });

  test("where a tool is required there is one, also when the words ask for another", async () => {
    const messages: ModelMessage[] = [{ role: "user", text: "List the files" }];
    const tools = offered(["clarify"]);
    expect(namesOf(await ask({ messages, tools }))).toEqual([]);
    expect(namesOf(await ask({ messages, tools, toolChoice: { type: "required" } }))).toEqual(["clarify"]);
  });

  test("where calls may not be parallel, there is one a reply", async () => {
    const { replies } = await playTurn([{ role: "user", text: "Hello" }], { parallelToolCalls: false });
    expect(replies.map(namesOf)).toEqual([["think"], ["list_directory"], ["inform_user"], []]);
  });

  test("whatever is said and offered: only offered tools, inputs that fit, an end to each reply and to the turn", async () => {
    const anyText = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom("list ", "think ", "tell ", "ask ", "done ", "in ../x ", "`a` ", "😀", "\n") }),
    );
    await fc.assert(
      fc.asyncProperty(
        anyText,
        fc.subarray([...registry.names()]),
        fc.boolean(),
        async (text, names, parallelToolCalls) => {
          const { replies } = await playTurn([{ role: "user", text }], { tools: offered(names), parallelToolCalls });
          expect(replies.length).toBeLessThanOrEqual(1 + registry.names().size);
          for (const reply of replies) {
            expect(reply.filter(({ type }) => type === "end")).toEqual([reply.at(-1)]);
            for (const { name, input } of callsOf(reply)) {
              expect(names).toContain(name);
              expect(checkInput(registry.get(name)!, input)).toMatchObject({ ok: true });
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("how it streams", () => {
  const messages: ModelMessage[] = [{ role: "user", text: "Hello" }];

  test("text, then reasoning, then calls whose pieces interleave, in small pieces (M2)", async () => {
    const reply = await ask({ messages });
    const kinds = reply.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
    expect(kinds.slice(0, 3)).toEqual(["text", "reasoning", "tool_call"]);
    const indexes = reply.flatMap((event) => (event.type === "tool_call" ? [event.index] : []));
    expect(indexes.slice(0, 4)).toEqual([0, 1, 0, 1]);
    expect(indexes.lastIndexOf(0)).toBeGreaterThan(indexes.indexOf(1));
    for (const event of reply) {
      if (event.type === "tool_call") expect((event.input ?? "").length).toBeLessThanOrEqual(16);
      else if (event.type === "text") expect(event.text.trim()).not.toMatch(/\s/);
    }
    expect(reply.filter(({ type }) => type === "tool_call_end")).toHaveLength(2);
  });

  test("the same conversation gets the same reply, from any model object", async () => {
    const first = await playTurn(messages);
    const again = await ask({
      messages: first.messages.slice(0, first.messages.findIndex(({ role }) => role === "tool") + 2),
    });
    expect(again).toEqual(first.replies[1]);
    expect(await ask({ messages })).toEqual(first.replies[0]);
  });

  test("it takes its time, but not for long, however slow it is asked to be", async () => {
    vi.useFakeTimers();
    try {
      for (const [model, atLeastMs, atMostMs] of [
        [demoModel(), 500, 4_000],
        [demoModel({ paceMs: 1_000_000 }), 3_000, 4_200],
      ] as const) {
        const start = Date.now();
        let isOver = false;
        const asked = collect(model.stream(request({ messages }), never)).finally(() => {
          isOver = true;
        });
        while (!isOver) await vi.advanceTimersByTimeAsync(1);
        await asked;
        expect(Date.now() - start).toBeGreaterThanOrEqual(atLeastMs);
        expect(Date.now() - start).toBeLessThanOrEqual(atMostMs);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([0, 600_000])(
    "M5: with a pace of %d ms it ends when the request is aborted, with the signal's reason",
    async (paceMs) => {
      const caller = new AbortController();
      const reason = new Error("enough");
      const events = demoModel({ paceMs }).stream(request({ messages }), caller.signal)[Symbol.asyncIterator]();
      if (paceMs === 0) await events.next();
      const next = paceMs === 0 ? undefined : events.next();
      caller.abort(reason);
      await expect(next ?? events.next()).rejects.toBe(reason);
    },
  );
});

/** Asks, runs what is called with the real tools, and asks again, until there is an answer or a tool ends the turn. */
async function playTurn(
  start: readonly ModelMessage[],
  given: Partial<ModelRequest> = {},
): Promise<{ replies: ModelEvent[][]; messages: readonly ModelMessage[] }> {
  const replies: ModelEvent[][] = [];
  const messages = [...start];
  for (;;) {
    const reply = await ask({ ...given, messages });
    replies.push(reply);
    const calls = callsOf(reply);
    messages.push({ role: "assistant", text: textOf(reply), calls });
    const results = await Promise.all(calls.map(runCall));
    messages.push(...results.map(({ message }) => message));
    if (calls.length === 0 || results.some(({ isStop }) => isStop)) return { replies, messages };
  }
}

async function runCall({ id, name, input }: ModelCall): Promise<{ message: ModelMessage; isStop: boolean }> {
  const tool = registry.get(name)!;
  const checked = checkInput(tool, input);
  if (!checked.ok) throw new Error(checked.message);
  const quiet = { progress() {}, phase() {}, plan() {}, output() {} };
  const context: ToolContext = { toolCallId: id, threadId: "t", signal: never, workspace, ...quiet };
  try {
    const { result, stopIteration = false } = await tool.run(checked.input, context);
    const text = tool.toModel?.(result) ?? JSON.stringify(result);
    return { message: { role: "tool", callId: id, text, isError: false }, isStop: stopIteration };
  } catch (error) {
    return { message: { role: "tool", callId: id, text: (error as Error).message, isError: true }, isStop: false };
  }
}

function request(given: Partial<ModelRequest>): ModelRequest {
  return {
    instructions: "",
    messages: [],
    tools: offered(),
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
    ...given,
  };
}

const ask = (given: Partial<ModelRequest>): Promise<ModelEvent[]> =>
  collect(demoModel({ paceMs: 0 }).stream(request(given), never));

async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const seen: ModelEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

const namesOf = (events: readonly ModelEvent[]): string[] => callsOf(events).map(({ name }) => name);

function callsOf(events: readonly ModelEvent[]): ModelCall[] {
  const calls: { id: string; name: string; input: string }[] = [];
  for (const event of events) {
    if (event.type !== "tool_call") continue;
    calls[event.index] ??= { id: newId(), name: "", input: "" };
    const call = calls[event.index]!;
    call.name += event.name ?? "";
    call.input += event.input ?? "";
  }
  return calls;
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test, vi } from "vitest";
import { demoModel } from "../../src/model/demo.js";
import type { ModelCall, ModelMessage, ModelRequest, ModelTool } from "../../src/model/model.js";
import { builtinTools } from "../../src/tool/builtin/index.js";
import { checkInput } from "../../src/tool/check-input.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import * as support from "./demo-support.js";
import { callsOf, collect, namesOf, never, offeredBy, textOf } from "./demo-support.js";

const workspace = mkdtempSync(join(tmpdir(), "heddle-demo-"));
mkdirSync(join(workspace, "src/deep"), { recursive: true });
for (const name of ["a.txt", "b.txt", "c.txt", "src/one.ts"]) writeFileSync(join(workspace, name), "12345");
afterAll(() => rmSync(workspace, { recursive: true }));

const registry = new ToolRegistry(builtinTools({ workspace }));
const offered = (names?: readonly string[]): ModelTool[] => offeredBy(registry, names);
const withoutWorkspace = offered([...new ToolRegistry(builtinTools({ workspace: undefined })).names()]);

const playTurn = (start: readonly ModelMessage[], given: Partial<ModelRequest> = {}) =>
  support.playTurn({ registry, workspace }, start, given);
const request = (given: Partial<ModelRequest>) => support.requestWith({ tools: offered(), ...given });
const ask = (given: Partial<ModelRequest>) => support.ask({ tools: offered(), ...given });

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
    ["Look around", [["list_directory"]]],
    ["Find `**/*.ts` for me", [["glob_files"]]],
    ["Search for TODO", [["grep_files"]]],
    ["Where are the TODOs?", [["grep_files"]]],
    ["Read src/one.ts and tell me", [["read_file"], ["inform_user"]]],
    ["Write a to-do list", [["update_todos"]]],
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

  test.each([
    ["Find `src/**/*.ts`", "glob_files", { pattern: "src/**/*.ts" }, "glob_files answered “1 file src/one.ts”."],
    ["Search for `1(2` in it", "grep_files", { pattern: "1\\(2" }, "grep_files found no matches."],
    ["search everywhere for 234.", "grep_files", { pattern: "234" }, "grep_files found 4 matches in 4 files."],
    ["Please read a.txt.", "read_file", { path: "a.txt" }, "read_file answered “a.txt: 1 line"],
    ["Show me none/such.txt", "read_file", { path: "none/such.txt" }, "read_file did not work: “File not found"],
  ])("%j calls %s with %j", async (text, tool, input, answer) => {
    const { replies } = await playTurn([{ role: "user", text }]);
    const [call] = callsOf(replies[0]!);
    expect(call!.name).toBe(tool);
    expect(JSON.parse(call!.input)).toEqual(input);
    expect(textOf(replies.at(-1)!)).toContain(answer);
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

/** A repair that finds nothing, one call a reply. */
const mostReplies = 20;

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
      fc.string({
        unit: fc.constantFrom(
          "list ",
          "think ",
          "tell ",
          "ask ",
          "done ",
          "in ../x ",
          "`a` ",
          "**/*.ts ",
          "search for ",
          "read a.txt ",
          "fix ",
          "find the bug ",
          "😀",
          "\n",
        ),
      }),
    );
    // They start threads of their own: too slow for so many turns.
    const refuse = ({ name }: ModelCall) => (/^(?:glob|grep)_files$/.test(name) ? "The user said no" : undefined);
    await fc.assert(
      fc.asyncProperty(
        anyText,
        fc.subarray([...registry.names()]),
        fc.boolean(),
        async (text, names, parallelToolCalls) => {
          const given = { tools: offered(names), parallelToolCalls };
          const { replies } = await support.playTurn({ registry, workspace, refuse }, [{ role: "user", text }], given);
          expect(replies.length).toBeLessThanOrEqual(mostReplies);
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

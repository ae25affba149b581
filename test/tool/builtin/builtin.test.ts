import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { builtinTools } from "../../../src/tool/builtin/index.js";
import { checkInput } from "../../../src/tool/check-input.js";
import { checkOutput } from "../../../src/tool/check-output.js";
import { ToolRegistry } from "../../../src/tool/registry.js";
import type { ToolDefinition } from "../../../src/tool/tool.js";
import { everyTool } from "../every-tool.js";
import { KeptContext } from "../support.js";

const folder = join(import.meta.dirname, "../../../src/tool/builtin");
const all = everyTool();
const registry = new ToolRegistry(all);
const byName = (name: string): ToolDefinition => registry.get(name)!;

/** From a model's text to what the loop goes on with. */
async function ran(name: string, input: unknown) {
  const tool = byName(name);
  const checked = checkInput(tool, JSON.stringify(input));
  if (!checked.ok) throw new Error(checked.message);
  const outcome = await tool.run(checked.input, new KeptContext());
  const output = checkOutput(tool, outcome.result);
  if (!output.ok) throw new Error(output.message);
  return { started: tool.describe(checked.input), outcome, toModel: tool.toModel!(output.result) };
}

describe("the list of built-in tools", () => {
  test("is the folder", () => {
    const files = readdirSync(folder).filter((file) => file !== "index.ts");
    expect(all.map(({ name }) => `${name.replaceAll("_", "-")}.ts`).sort()).toEqual(files.sort());
  });

  test("has no tools for files where there is no workspace", () => {
    const without = builtinTools({ workspace: undefined }).map(({ name }) => name);
    expect(without.sort()).toEqual(["clarify", "inform_user", "think", "update_todos", "work_complete"]);
  });
});

describe.each(all.map((tool) => [tool.name, tool] as const))("%s", (name, tool) => {
  test("shows its schemas, with a word about each field that the model writes", () => {
    const { type, properties } = registry.inputSchema(name) as { type: string; properties: Record<string, object> };
    expect(type).toBe("object");
    expect(Object.values(properties).length).toBeGreaterThan(0);
    for (const property of Object.values(properties)) expect(property).toHaveProperty("description");
    expect(registry.outputSchema(name)).toHaveProperty("type", "object");
  });

  test.each([
    ["line breaks", "a\r\nb\u2028c\u0085d"],
    ["terminal codes", "\u001b[31mred\u001b]0;title\u0007\u009b1m"],
    ["marks that turn text around", "\u202etxt.exe\u2066"],
    ["half a character", "\ud800"],
    ["a megabyte", "n".repeat(1_000_000)],
    ["a megabyte of marks", "\u0301\u200d".repeat(500_000)],
    ["nothing", ""],
  ])("T5: describes a call with %s in one line", (_, text) => {
    const spoken = { question: text, options: [text], message: text, summary: text, thoughts: [text] };
    const changed = { content: text, old_text: text, new_text: text, from: text, to: text, patch: text, items: [text] };
    const fields = {
      path: text,
      pattern: text,
      command: text,
      revision: text,
      url: text,
      query: text,
      process_id: text,
      code: text,
      task: text,
      ...spoken,
      ...changed,
    };
    expect(tool.describe(fields)).toMatch(/^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Cs}]{1,1000}$/u);
  });

  test.each([
    "null",
    "[]",
    '{"path": 1, "question": 1, "message": 1, "summary": 1, "thoughts": 1, "revision": 1, "include_ended": 1}',
    "{",
  ])("does not take %s", (text) => {
    expect(checkInput(tool, text).ok).toBe(false);
  });
});

describe("clarify", () => {
  test("asks, and ends the turn", async () => {
    const input = { question: "Which environment?", options: ["staging", "production"] };
    expect(await ran("clarify", input)).toEqual({
      started: "Asking you a question",
      outcome: { result: input, summary: 'Asked: "Which environment?"', stopIteration: true },
      toModel: "The question is with the user. The answer comes as the user's next message.",
    });
  });

  test("keeps a long question's summary to a line", async () => {
    const { outcome } = await ran("clarify", { question: `Which\none?\u001b[0m ${"x".repeat(9_000)}` });
    expect(outcome.summary).toMatch(/^Asked: "Which one\? x{500,1000}…"$/);
  });

  test.each([{}, { question: " \n" }, { question: "a".repeat(10_001) }, { question: "a", options: [""] }])(
    "does not ask %j",
    (input) => {
      expect(checkInput(byName("clarify"), JSON.stringify(input)).ok).toBe(false);
    },
  );
});

test("inform_user tells, and the work goes on", async () => {
  expect(await ran("inform_user", { message: "Half of it is done." })).toEqual({
    started: "Sending you an update",
    outcome: { result: { message: "Half of it is done." }, summary: "Sent an update" },
    toModel: "The user has the update. Go on.",
  });
});

test("work_complete tells, and ends the turn", async () => {
  expect(await ran("work_complete", { summary: "All is done." })).toEqual({
    started: "Wrapping up",
    outcome: { result: { summary: "All is done." }, summary: "Work complete", stopIteration: true },
    toModel: "The work is complete, and the user has the summary.",
  });
});

test("people see what these say, and the code that is to run, while the model writes it", () => {
  const spoken = all.flatMap(({ name, textFields = [] }) =>
    textFields.map(({ field, purpose }) => [name, field, purpose]),
  );
  expect(spoken.sort()).toEqual([
    ["clarify", "question", "speech"],
    ["code_interpreter", "code", "code"],
    ["inform_user", "message", "speech"],
    ["work_complete", "summary", "speech"],
  ]);
});

describe("think", () => {
  test.each([
    [1, "Noted 1 consideration"],
    [3, "Noted 3 considerations"],
    [20, "Noted 20 considerations"],
  ])("notes %d", async (count, summary) => {
    const { started, outcome } = await ran("think", { thoughts: Array(count).fill("It may fail.") });
    expect(started).toBe("Thinking it through");
    expect(outcome).toEqual({ result: { considerations: count }, summary });
  });

  test.each([0, 21])("does not take %d thoughts", (count) => {
    expect(checkInput(byName("think"), JSON.stringify({ thoughts: Array(count).fill("a") })).ok).toBe(false);
  });
});

// What an executor offers, as a server understands it: the same inputs are taken, and people read the same words.
import { describe, expect, test } from "vitest";
import { executorToolNames } from "../../src/compose-executor.js";
import { offeredTools } from "../../src/executor/offered.js";
import { ToolPolicy } from "../../src/thread/schema.js";
import { checkInput } from "../../src/tool/check-input.js";
import { checkClientTools } from "../../src/tool/client/check-client-tool.js";
import { clientTool } from "../../src/tool/client/client-tool.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { everyTool } from "../tool/every-tool.js";
import { examplesWith } from "../tool/examples.js";

const tools = everyTool().filter(({ name }) => executorToolNames.includes(name));
const offered = offeredTools(new ToolRegistry(tools), { policy: { gather: "deny" }, trusted: false });
const examples = examplesWith({} as never);

test("every tool that an executor names is a built-in one, and can be offered", () => {
  expect(offered.map(({ name }) => name)).toEqual([...executorToolNames].sort());
  checkClientTools(offered, "tools");
});

test("with the policy of the executor", () => {
  const policies = new Map(offered.map(({ name, policy }) => [name, policy]));
  expect(policies.get("read_file")).toBe(ToolPolicy.ALLOW);
  expect(policies.get("run_command")).toBe(ToolPolicy.ASK);
  expect(policies.get("gather")).toBe(ToolPolicy.DENY);
});

describe.each(offered.map((tool) => [tool.name, tool] as const))("%s", (name, declared) => {
  const here = tools.find((tool) => tool.name === name)!;
  const there = clientTool(declared, "here");
  const input = JSON.stringify(examples[name]!.input);

  test("its example is taken on both sides, and described", () => {
    expect(checkInput(here, input).ok).toBe(true);
    expect(checkInput(there, input)).toMatchObject({ ok: true });
    expect(there.describe(JSON.parse(input))).not.toMatch(/[{}]/);
  });

  test("what is no input of it is refused by the server already", () => {
    expect(checkInput(there, '{"no":"such field"}').ok).toBe(checkInput(here, '{"no":"such field"}').ok);
    expect(checkInput(there, "[]").ok).toBe(false);
  });
});

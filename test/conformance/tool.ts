// What every tool must do, whichever it is: `toolConformance` runs over any definition. What a tool is for is its own tests'.
import { describe, expect, test } from "vitest";
import { definitionProblem } from "../../src/tool/check-definition.js";
import { checkInput } from "../../src/tool/check-input.js";
import { checkOutput } from "../../src/tool/check-output.js";
import { type JsonSchema, ToolRegistry } from "../../src/tool/registry.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { type SampleWorkspace, sampleWorkspace } from "../support/sample-workspace.js";
import { KeptContext } from "../tool/support.js";
import { endingSuite } from "./tool-endings.js";
import { type Example, edgeInputs } from "./tool-inputs.js";
import { previewSuite } from "./tool-preview.js";
import { refusalSuite } from "./tool-refusals.js";
import { summarySuite } from "./tool-summaries.js";

export interface ToolUnderTest {
  readonly tool: ToolDefinition;
  /** Succeeds in a sample workspace that was prepared. */
  readonly input: Example;
  /** Adds to the sample workspace what the input needs. */
  readonly prepare?: (workspace: string) => Promise<void>;
  /** A call that does not end by itself. */
  readonly endless?: Endless;
}

export interface Endless {
  readonly input: Example;
  readonly prepare?: (workspace: string) => Promise<void>;
  /** Resolves once the call is at work, where the tool itself reports nothing. */
  readonly begun?: () => Promise<unknown>;
  /** Stands in the command line of every process that the call starts. */
  readonly mark?: string;
}

export function toolConformance(under: ToolUnderTest): void {
  describe(`${under.tool.name} is a tool`, () => {
    definitionSuite(under);
    resultSuite(under);
    refusalSuite(under);
    endingSuite(under);
    previewSuite(under);
    summarySuite(under);
  });
}

/** The input as the loop would hand it over. */
export function checkedInput({ tool, input }: Pick<ToolUnderTest, "tool" | "input">): unknown {
  const checked = checkInput(tool, JSON.stringify(input));
  if (!checked.ok) throw new Error(`the example of ${tool.name} is refused: ${checked.message}`);
  return checked.input;
}

export const workspaceFor = ({ prepare }: Pick<ToolUnderTest, "prepare">): Promise<SampleWorkspace> =>
  sampleWorkspace(prepare);

/** Nothing that could break a line, hide text or turn it around. */
export const oneCleanLine = /^(?! )[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]+(?<! )$/u;

function definitionSuite({ tool }: ToolUnderTest): void {
  const registry = new ToolRegistry([tool]);
  const schemas = { input: registry.inputSchema(tool.name), output: registry.outputSchema(tool.name) };

  test("is well formed, and nobody can change it", () => {
    expect(definitionProblem(tool)).toBeUndefined();
    expect(tool).toSatisfy(Object.isFrozen);
  });

  test("has a title in one short line, and a description", () => {
    expect(tool.title).toMatch(oneCleanLine);
    expect(tool.title.length).toBeLessThanOrEqual(40);
    expect(tool.description.length).toBeGreaterThanOrEqual(20);
    expect(tool.description.length).toBeLessThanOrEqual(2_000);
    if (tool.isolation !== undefined) expect(tool.isolation).toMatch(oneCleanLine);
  });

  test.each(["input", "output"] as const)("shows its %s as JSON Schema 2020-12 of an object", (io) => {
    expect(schemas[io]).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" });
    expect(JSON.parse(JSON.stringify(schemas[io]))).toEqual(schemas[io]);
  });

  test.each(["input", "output"] as const)("says a word about each field of its %s, however deep", (io) => {
    expect([...undescribed(schemas[io])]).toEqual([]);
  });
}

function* undescribed(schema: JsonSchema, path = ""): Generator<string> {
  for (const [name, property] of Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>)) {
    if (!("description" in property)) yield `${path}${name}`;
    yield* undescribed(property, `${path}${name}.`);
  }
  if ("items" in schema) yield* undescribed(schema["items"] as JsonSchema, path);
  for (const option of (schema["anyOf"] ?? schema["oneOf"] ?? []) as JsonSchema[]) yield* undescribed(option, path);
}

function resultSuite(under: ToolUnderTest): void {
  const { tool } = under;

  test("gives what its schema says, in words for people and for the model", async () => {
    await using workspace = await workspaceFor(under);
    const outcome = await tool.run(checkedInput(under), new KeptContext({ workspace: workspace.path }));
    expect(outcome).not.toHaveProperty("isError", true);
    const checked = checkOutput(tool, outcome.result);
    if (!checked.ok) throw new Error(checked.message);
    // What is stored is the JSON: nothing may get lost on the way.
    expect(checkOutput(tool, JSON.parse(JSON.stringify(checked.result)))).toEqual(checked);
    expect(outcome.summary).toMatch(oneCleanLine);
    if (tool.toModel) expect(tool.toModel(checked.result)).toMatch(/\S/);
  });

  test("names its parts as parts can be named, and places inside the workspace", async () => {
    await using workspace = await workspaceFor(under);
    const { content = [], locations = [] } = await tool.run(
      checkedInput(under),
      new KeptContext({ workspace: workspace.path }),
    );
    const ids = content.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, mediaType } of content) {
      expect(id).toMatch(/^(?!(?:input|result|model)$)[a-z0-9._-]{1,64}$/);
      expect(mediaType).toMatch(/^[a-z]+\/[a-z0-9.+-]+(?:; ?charset=utf-8)?$/);
    }
    for (const { path, line = 1 } of locations) {
      const isDocument = /^document:[a-z0-9._-]+\/\S+$/.test(path);
      expect(isDocument || `${path}/`.startsWith(`${workspace.path}/`), path).toBe(true);
      expect(line).toBeGreaterThanOrEqual(1);
    }
  });

  test("touches nothing outside the workspace", async () => {
    await using workspace = await workspaceFor(under);
    const before = workspace.outside();
    await tool.run(checkedInput(under), new KeptContext({ workspace: workspace.path }));
    expect(workspace.outside()).toBe(before);
  });

  test("copes with the edges of what its schema allows, or fails in words", async () => {
    const schema = new ToolRegistry([tool]).inputSchema(tool.name);
    for (const { what, text } of edgeInputs(schema, under.input)) {
      const checked = checkInput(tool, text);
      if (!checked.ok) continue;
      await using workspace = await workspaceFor(under);
      const context = new KeptContext({ workspace: workspace.path });
      const ended = await tool.run(checked.input, context).catch((reason: unknown) => reason);
      if (ended instanceof Error) expect(ended, what).toMatchObject({ name: "ToolFailure" });
      else expect(checkOutput(tool, (ended as { result: unknown }).result), what).toMatchObject({ ok: true });
    }
  });

  test("fails in words where there is no workspace, or does without", async () => {
    const ended = await tool.run(checkedInput(under), new KeptContext()).catch((reason: unknown) => reason);
    if (ended instanceof Error) expect(ended).toMatchObject({ name: "ToolFailure" });
  });
}

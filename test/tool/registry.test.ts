import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolRegistry } from "../../src/tool/registry.js";
import { defineTool } from "../../src/tool/tool.js";

const tool = (name: string, changes: { title?: string; input?: z.ZodType; output?: z.ZodType; field?: string } = {}) =>
  defineTool({
    name,
    title: changes.title ?? "A tool",
    description: "Does something.",
    kind: "other",
    input: changes.input ?? z.object({ text: z.string() }),
    output: changes.output ?? z.object({}),
    ...(changes.field !== undefined && { textFields: [{ field: changes.field, purpose: "speech" as const }] }),
    describe: () => "Doing something",
    run: async () => ({ result: {}, summary: "Did something" }),
  });

describe("ToolRegistry", () => {
  test("gives tools by name and lists them in order of their names", () => {
    const [b, a, a2] = [tool("b"), tool("a"), tool("a-2")];
    const registry = new ToolRegistry([b, a2, a]);
    expect(registry.get("b")).toBe(b);
    expect(registry.get("c")).toBeUndefined();
    expect(registry.list()).toEqual([a, a2, b]);
    expect([...registry.names()]).toEqual(["a", "a-2", "b"]);
  });

  test.each(["__proto__", "constructor", "toString", ""])("knows no tool called %j that it was not given", (name) => {
    const registry = new ToolRegistry([tool("a")]);
    expect(registry.get(name)).toBeUndefined();
    expect(registry.names().has(name)).toBe(false);
    expect(() => registry.inputSchema(name)).toThrow(expect.objectContaining({ code: "internal" }));
  });

  test("refuses two tools of one name, and names both", () => {
    expect(() => new ToolRegistry([tool("a", { title: "Mine" }), tool("a", { title: "Yours" })])).toThrow(
      expect.objectContaining({
        code: "invalid_config",
        message: 'Two tools are called "a": "Mine" (other) and "Yours" (other); rename one',
      }),
    );
  });

  test("shows what the model writes, before defaults, and what the tool gives, after them", () => {
    const shape = z.object({ depth: z.number().int().default(1).describe("How deep"), name: z.string() });
    const registry = new ToolRegistry([tool("a", { input: shape, output: shape })]);
    expect(registry.inputSchema("a")).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { depth: { type: "integer", default: 1, description: "How deep" } },
      required: ["name"],
    });
    expect(registry.outputSchema("a")["required"]).toEqual(["depth", "name"]);
  });

  test("works a tool's schemas out once, for all registries that hold it, and lets nobody change them", () => {
    const one = tool("a");
    const schema = new ToolRegistry([one]).inputSchema("a");
    expect(new ToolRegistry([tool("b"), one]).inputSchema("a")).toBe(schema);
    expect(() => Object.assign(schema["properties"] as object, { extra: {} })).toThrow(TypeError);
  });

  test("takes an input that holds itself", () => {
    const tree = z.object({
      get children() {
        return z.array(tree);
      },
    });
    expect(new ToolRegistry([tool("a", { input: tree })]).inputSchema("a")["type"]).toBe("object");
  });

  test.each([
    ["an input that is not an object", { input: z.string() }, /"a": input must be an object/],
    ["an input that JSON cannot hold", { input: z.object({ at: z.date() }) }, /"a": input has no JSON Schema \(.+\)/],
    [
      "a result that JSON cannot hold",
      { output: z.object({ id: z.bigint() }) },
      /"a": output has no JSON Schema \(.+\)/,
    ],
    ["a text field that is not there", { field: "message" }, /"a": textFields names "message", which is no field/],
  ])("refuses %s", (_, changes, message) => {
    expect(() => new ToolRegistry([tool("a", changes)])).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringMatching(message) }),
    );
  });
});

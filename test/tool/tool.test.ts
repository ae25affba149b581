import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type ToolDefinition, ToolFailure } from "../../src/tool/tool.js";

const right: ToolDefinition = {
  name: "a",
  title: "A tool",
  description: "Does something.",
  kind: "other",
  input: z.object({}),
  output: z.object({}),
  describe: () => "Doing something",
  run: async () => ({ result: {}, summary: "Did something" }),
};

describe("defineTool", () => {
  test("gives back the definition, which nobody can change any more", () => {
    const tool = defineTool({ ...right });
    expect(tool).toEqual(right);
    expect(() => Object.assign(tool, { name: "b" })).toThrow(TypeError);
  });

  test.each(["", "A", "a b", "-a", "ä", "a".repeat(65), undefined, 7, "a\n"])("refuses the name %j", (name) => {
    expect(() => defineTool({ ...right, name: name as string })).toThrow(
      /^The tool name .+ must be 1 to 64 characters/,
    );
  });

  test.each([
    ["title", " ", "text that is not empty"],
    ["description", undefined, "text that is not empty"],
    ["kind", "toString", "one of read, edit, delete, move, search, execute, think, fetch, other"],
    ["input", { _def: {} }, "a schema of zod 4"],
    ["output", undefined, "a schema of zod 4"],
    ["textFields", [{ field: "a", purpose: "song" }], 'a list of { field, purpose: "speech" or "code" }'],
    ["timeoutMs", 0, "a whole number from 1 to 86400000"],
    ["timeoutMs", Number.NaN, "a whole number from 1 to 86400000"],
    ["describe", "text", "a function"],
    ["run", undefined, "a function"],
    ["toModel", "text", "a function"],
  ])("refuses %s = %j, and says what it must be", (key, value, rule) => {
    expect(() => defineTool({ ...right, [key]: value } as ToolDefinition)).toThrow(
      new TypeError(`The tool "a": ${key} must be ${rule}`),
    );
  });

  test.each([null, undefined, "text", 7])("refuses %j for a tool", (value) => {
    expect(() => defineTool(value as never)).toThrow(/^A tool must be an object made with defineTool/);
  });
});

describe("ToolFailure", () => {
  test("keeps the code and the cause", () => {
    const cause = new Error("why");
    expect(new ToolFailure("Not there", { code: "ENOENT", cause })).toMatchObject({ code: "ENOENT", cause });
    expect(new ToolFailure("Not there").code).toBe("");
  });

  test("is known by its mark, so that one of another copy of the package counts", () => {
    const foreign = Object.assign(new Error("Not there"), { [Symbol.for("heddle.ToolFailure")]: true, code: "ENOENT" });
    expect(foreign instanceof ToolFailure).toBe(true);
    expect(new ToolFailure("Not there") instanceof ToolFailure).toBe(true);
    expect(new ToolFailure("Not there") instanceof Error).toBe(true);
    for (const other of [new Error("no"), null, undefined, "text", {}])
      expect(other instanceof ToolFailure).toBe(false);
  });

  test("lets a subclass be itself", () => {
    class Gone extends ToolFailure {}
    expect(new Gone("Not there") instanceof Gone).toBe(true);
    expect(new Gone("Not there") instanceof ToolFailure).toBe(true);
    expect(new ToolFailure("Not there") instanceof Gone).toBe(false);
  });
});

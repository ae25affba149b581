// Every built-in tool passes `toolConformance`. A file in the folder that is not in the list, or has no example, is red.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { definitionProblem } from "../../src/tool/check-definition.js";
import { conformanceOf, startsSomething } from "./conformance-of.js";
import { everyTool } from "./every-tool.js";
import { examplesWith } from "./examples.js";
import { startSampleWeb } from "./sample-web.js";

const web = await startSampleWeb();
afterAll(() => web.close());

const examples = examplesWith(web);
const folder = join(import.meta.dirname, "../../src/tool/builtin");
const files = readdirSync(folder).filter((file) => file !== "index.ts");
const all = everyTool({ webHost: web.host });

describe("the list of built-in tools", () => {
  test("is the folder", () => {
    expect(all.map(({ name }) => `${name.replaceAll("_", "-")}.ts`).sort()).toEqual(files.sort());
  });

  test("has each name once", () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  test.each(files)("%s gives one tool, or one function that makes it", async (file) => {
    const exported = Object.values((await import(join(folder, file))) as object);
    const given = exported.filter((value) => typeof value === "function" || definitionProblem(value) === undefined);
    expect(given).toHaveLength(1);
  });

  test("has an example of each tool, and of nothing else", () => {
    expect(Object.keys(examples).sort()).toEqual(all.map(({ name }) => name).sort());
  });
});

for (const tool of all) if (!startsSomething.has(tool.name)) conformanceOf(tool, examples);

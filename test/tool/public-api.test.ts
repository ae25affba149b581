import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as api from "../../src/tool/index.js";

const root = join(import.meta.dirname, "../..");
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, { types: string; default: string }>;
};

test("authors of tools import defineTool and ToolFailure, and nothing else is promised to them", () => {
  expect(Object.keys(api).sort()).toEqual(["ToolFailure", "defineTool"]);
});

test("heddle/tool is the built file of src/tool/index.ts", () => {
  expect(exports["./tool"]).toEqual({ types: "./dist/src/tool/index.d.ts", default: "./dist/src/tool/index.js" });
  expect(existsSync(join(root, "src/tool/index.ts"))).toBe(true);
});

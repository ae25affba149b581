import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkInput } from "../../src/tool/check-input.js";
import { checkOutput } from "../../src/tool/check-output.js";
import { loadToolModules } from "../../src/tool/load-modules.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { KeptContext } from "./support.js";

const zodDirectory = dirname(fileURLToPath(import.meta.resolve("zod/package.json")));
const ourZod = pathToFileURL(join(zodDirectory, "index.js")).href;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "heddle-tools-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));
afterEach(() => {
  vi.useRealTimers();
});

async function written(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

/** A module as an operator writes it, without this package at hand. */
const toolText = (name: string, zod = ourZod): string => `
  import { z } from ${JSON.stringify(zod)};
  const tool = (name) => ({
    name,
    title: "Word count",
    description: "Counts words.",
    kind: "read",
    input: z.object({ text: z.string().max(5).describe("The text") }),
    output: z.object({ words: z.number() }),
    describe: () => "Counting words",
    run: async ({ text }) => ({ result: { words: text.length }, summary: "Counted" }),
  });
  export default ${name.startsWith("[") ? `${name}.map(tool)` : `tool(${name})`};`;

const refusal = async (...paths: readonly string[]): Promise<unknown> =>
  loadToolModules(paths).then(
    () => undefined,
    (reason: unknown) => reason,
  );

const invalid = (message: RegExp) => ({
  code: "invalid_config",
  detail: { field: "agent.tools" },
  message: expect.stringMatching(message),
});

describe("loadToolModules", () => {
  test("loads a tool and a list of tools, in the order of the paths", async () => {
    const paths = [await written("list.mjs", toolText('["b", "a"]')), await written("one.mjs", toolText('"c"'))];
    const tools = await loadToolModules(paths);
    expect(tools.map(({ name }) => name)).toEqual(["b", "a", "c"]);
    expect(tools.every((tool) => Object.isFrozen(tool))).toBe(true);
    expect(await loadToolModules([])).toEqual([]);
  });

  test("takes schemas of another copy of zod", async () => {
    await cp(zodDirectory, join(directory, "own/node_modules/zod"), {
      recursive: true,
      filter: (path) => !/\.(?:c?ts|cjs|map)$|\/src$/.test(path),
    });
    const [tool] = await loadToolModules([await written("own/tool.mjs", toolText('"a"', "zod"))]);
    expect(tool!.input.constructor).not.toBe((await import("zod")).ZodObject);
    expect(new ToolRegistry([tool!]).inputSchema("a")).toMatchObject({
      type: "object",
      properties: { text: { type: "string", maxLength: 5, description: "The text" } },
    });
    expect(checkInput(tool!, '{"text": "hello!"}')).toMatchObject({ message: "text: must have at most 5 characters" });
    const checked = checkInput(tool!, '{"text": "hello"}');
    const { result } = await tool!.run(checked.ok && checked.input, new KeptContext());
    expect(checkOutput(tool!, result)).toEqual({ ok: true, result: { words: 5 } });
  });

  test.each([
    ["missing.mjs", undefined, /missing\.mjs: there is no such file; give the path of an ES module/],
    ["syntax.mjs", "export default {", /syntax\.mjs: it cannot be loaded \(.*\); correct it/],
    ["throws.mjs", 'throw new Error("no\\nway")', /throws\.mjs: it cannot be loaded \(Error: no way\); correct it/],
    ["throws-text.mjs", 'throw "no"', /throws-text\.mjs: it cannot be loaded \(no\); correct it/],
    [
      "needs.mjs",
      'import "not-there-at-all"',
      /needs\.mjs: it cannot be loaded \(.*not-there-at-all.*\); install what it imports/,
    ],
    ["empty.mjs", "export const tool = {}", /empty\.mjs: it has no default export; write/],
    [
      "text.mjs",
      'export default "tool"',
      /text\.mjs: its default export is not a tool or a list of tools: A tool must/,
    ],
    ["no-name.mjs", "export default [{}]", /no-name\.mjs: its default export is not .*: The tool name undefined must/],
    [
      "zod-3.mjs",
      zod3Text(),
      /zod-3\.mjs: its default export is not .*: The tool "a": input must be a schema of zod 4/,
    ],
    ["twice.mjs", toolText('["a", "a"]'), /twice\.mjs: it gives two tools the name "a", or stands in the list twice/],
  ])("refuses %s, and says what to do", async (name, text, message) => {
    const path = text === undefined ? join(directory, name) : await written(name, text);
    expect(await refusal(path)).toMatchObject(invalid(message));
  });

  test("refuses a directory and a path that is not absolute", async () => {
    expect(await refusal(directory)).toMatchObject(invalid(/: it is not a file; give the path of an ES module/));
    expect(await refusal("tools.mjs")).toMatchObject(invalid(/^tools\.mjs: the path must be absolute/));
  });

  test("refuses a name that another module has, and names both files", async () => {
    const paths = [await written("first.mjs", toolText('"a"')), await written("second.mjs", toolText('"a"'))];
    const message = /second\.mjs: its tool "a" has the name of one in .*first\.mjs; rename one/;
    expect(await refusal(...paths)).toMatchObject(invalid(message));
  });

  test("does not wait for ever for a module that does", async () => {
    const path = await written("waits.mjs", "globalThis.heddleTestWaits?.(); await new Promise(() => {});");
    const reached = new Promise<void>((resolve) => vi.stubGlobal("heddleTestWaits", resolve));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refused = refusal(path);
    await reached;
    vi.advanceTimersByTime(30_000);
    expect(await refused).toMatchObject(invalid(/waits\.mjs: it did not load within 30 seconds; look for an await/));
    vi.unstubAllGlobals();
  });
});

function zod3Text(): string {
  return `const schema = { _def: {}, parse() {} };
    export default { name: "a", title: "A", description: "A", kind: "read", input: schema, output: schema, describe() {}, run() {} };`;
}

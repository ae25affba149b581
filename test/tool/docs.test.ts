// docs/tools.md shows a tool. It is loaded and run here as it stands there.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadToolModules } from "../../src/tool/load-modules.js";
import { called, play, replies, said, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();
const root = join(import.meta.dirname, "../..");
// Beside the dependencies, where `zod` is found.
mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
const dir = mkdtempSync(join(root, "node_modules/.cache/heddle-docs-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("the tool of docs/tools.md works as it is written there", async () => {
  const code = /```js\n(.*?)\n```/s.exec(readFileSync(join(root, "docs/tools.md"), "utf8"))?.[1];
  const file = join(dir, "word-count.mjs");
  // `heddle/tool` is found where heddle is installed: here it is what that name stands for.
  writeFileSync(file, code!.replace('"heddle/tool"', JSON.stringify(join(root, "dist/src/tool/index.js"))));
  const tools = await loadToolModules([file]);
  const model = replies(
    called({ name: "word_count", input: { text: "one two three" } }, { name: "word_count", input: { text: " " } }),
    said("ok"),
  );
  const { events } = await play(core({ model, tools }));
  expect(valuesOf(events, "toolCallStarted").map(({ summary }) => summary)).toEqual([
    "Counting the words of 13 characters",
    "Counting the words of 1 characters",
  ]);
  const ends = new Map(valuesOf(events, "toolCallComplete").map((end) => [end.summary, end]));
  expect(ends.get("Counted 3 words")).toMatchObject({ success: true });
  expect(ends.get("There are no words in it: send some text")).toMatchObject({ error: { code: "EMPTY" } });
  expect(model.requests[1]!.messages.filter(({ role }) => role === "tool")).toMatchObject([
    { text: "3 words", isError: false },
    { text: expect.stringContaining("no words"), isError: true },
  ]);
});

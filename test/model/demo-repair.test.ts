// The demo's repair with the real tools on copies of the sample project: sound, broken in other ways, and with tools that are
// denied or not there.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ModelCall, ModelMessage, ModelRequest } from "../../src/model/model.js";
import { builtinTools } from "../../src/tool/builtin/index.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { ask, callsOf, namesOf, offeredBy, type Played, playTurn, textOf } from "./demo-support.js";

const sample = join(import.meta.dirname, "../../examples/sample-project");
const prompt = "Look around, find the bug, fix it and run the tests";
const wrong = "if (amount > freeFrom) return 0;";
const right = "if (amount >= freeFrom) return 0;";

let workspace: string;
let registry: ToolRegistry;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "heddle-repair-"));
  cpSync(sample, workspace, { recursive: true });
  const commands = { sandbox: "auto", network: false, env: [], timeoutMs: 60_000 } as const;
  registry = new ToolRegistry(builtinTools({ workspace, commands }));
});
afterEach(() => rmSync(workspace, { recursive: true }));

const source = (path: string) => readFileSync(join(workspace, path), "utf8");
const change = (path: string, from: string, to: string) => {
  expect(source(path)).toContain(from);
  writeFileSync(join(workspace, path), source(path).replace(from, to));
};

interface Given extends Partial<ModelRequest> {
  readonly text?: string;
  readonly refuse?: (call: ModelCall) => string | undefined;
}

const repair = ({ text = prompt, refuse, ...given }: Given = {}): Promise<Played> =>
  playTurn({ registry, workspace, ...(refuse && { refuse }) }, [{ role: "user", text }], given);

const callsIn = ({ replies }: Played): ModelCall[] => replies.flatMap(callsOf);
const toolsIn = (played: Played): string[] => callsIn(played).map(({ name }) => name);
const lastWords = ({ replies }: Played): string => textOf(replies.at(-1)!);

describe("on the sample project", () => {
  test("it finds the bug by what the tools returned, mends it, and tries it", async () => {
    const played = await repair();
    expect(source("src/shipping.js")).toContain(right);
    expect(new Set(toolsIn(played)).size).toBeGreaterThanOrEqual(8);
    expect(toolsIn(played).filter((name) => name === "run_command")).toHaveLength(2);
    expect(toolsIn(played).at(-1)).toBe("work_complete");
    const { summary } = JSON.parse(callsIn(played).at(-1)!.input);
    for (const words of ["src/shipping.js, line 9", wrong, right, "npm test passes now"])
      expect(summary).toContain(words);
  });

  test("one call a reply leads to the same", async () => {
    const played = await repair({ parallelToolCalls: false });
    expect(played.replies.every((reply) => namesOf(reply).length <= 1)).toBe(true);
    expect(source("src/shipping.js")).toContain(right);
    expect(toolsIn(played).at(-1)).toBe("work_complete");
  });

  test("asked to find it only, it changes nothing", async () => {
    const played = await repair({ text: "Find the bug" });
    expect(toolsIn(played)).not.toContain("edit_file");
    expect(lastWords(played)).toContain(`I would change “${wrong}” to “${right}” in src/shipping.js, line 9`);
    expect(source("src/shipping.js")).toContain(wrong);
  });

  test("in a repository it looks at what is changed there", async () => {
    mkdirSync(join(workspace, ".git"));
    const refuse = ({ name }: ModelCall) => (/^(?:gather|git_diff)$/.test(name) ? "Not a git repository" : undefined);
    const tools = toolsIn(await repair({ refuse }));
    expect(tools).toContain("gather");
    expect(tools).toContain("git_diff");
  });
});

describe("where it is another bug, or none", () => {
  test("a loop that leaves out the last one is found in another file", async () => {
    change("src/shipping.js", wrong, right);
    change(
      "src/cart.js",
      "for (const { price, quantity } of cart) sum += price * quantity;",
      "for (let index = 0; index < cart.length - 1; index++) sum += cart[index].price * cart[index].quantity;",
    );
    const played = await repair();
    expect(source("src/cart.js")).toContain("index < cart.length; index++");
    expect(toolsIn(played).at(-1)).toBe("work_complete");
  });

  test("a slip that is none is put back, and the next one tried", async () => {
    const decoy = "  // At least one of them.\n  if (amount > 99) amount += 0;\n  if (amount === 0) return 0;";
    change("src/shipping.js", "  if (amount === 0) return 0;", decoy);
    const played = await repair();
    expect(toolsIn(played).filter((name) => name === "edit_file")).toHaveLength(3);
    expect(source("src/shipping.js")).toContain("if (amount > 99)");
    expect(source("src/shipping.js")).toContain(right);
    expect(toolsIn(played).at(-1)).toBe("work_complete");
  });

  test("where the tests pass it says so", async () => {
    change("src/shipping.js", wrong, right);
    const played = await repair();
    expect(lastWords(played)).toContain("npm test passes: there is no bug that the tests show");
    expect(toolsIn(played)).not.toContain("edit_file");
  });

  test("what it does not find is said to be not found", async () => {
    change("src/shipping.js", wrong, "if (amount >= freeFrom + 1) return 0;");
    const played = await repair();
    for (const words of ["src/shipping.js", "none of the 4 kinds of slip", "exactly 50.00", "nothing is changed"])
      expect(lastWords(played)).toContain(words);
    expect(toolsIn(played)).not.toContain("work_complete");
  });

  test("a folder without tests or sources", async () => {
    for (const name of ["src", "test", "package.json"]) rmSync(join(workspace, name), { recursive: true });
    const played = await repair();
    expect(lastWords(played)).toContain("I found no source to read");
    expect(lastWords(played)).toContain("There is no package.json");
  });
});

describe("where it may not, or cannot", () => {
  const says: Record<string, string> = {
    edit_file: "The call was not run. Nobody is here to say yes to edit_file. Go on without it, or ask the user.",
    run_command: "The user said no: not on my machine",
  };

  test("denied, it says what it would have done", async () => {
    const played = await repair({ refuse: ({ name }) => says[name] });
    for (const words of [
      "edit_file was denied: “Nobody is here to say yes to edit_file”",
      "Nothing is changed",
      `I would have changed “${wrong}” to “${right}”`,
      "--yes",
    ])
      expect(lastWords(played)).toContain(words);
    expect(source("src/shipping.js")).toContain(wrong);
    expect(toolsIn(played)).not.toContain("work_complete");
  });

  test("where only running is denied, it says that nothing was tried", async () => {
    const played = await repair({ refuse: ({ name }) => (name === "run_command" ? says[name] : undefined) });
    expect(source("src/shipping.js")).toContain(right);
    for (const words of ["the tests were not run", "run_command was denied: “The user said no: not on my machine”"])
      expect(lastWords(played)).toContain(words);
    expect(toolsIn(played).filter((name) => name === "run_command")).toHaveLength(1);
  });

  test.each(["glob_files", "read_file", "run_command", "edit_file", "work_complete"])(
    "without %s it comes to an end, and claims nothing that it has not done",
    async (missing) => {
      const names = [...registry.names()].filter((name) => name !== missing);
      const played = await repair({ tools: offeredBy(registry, names) });
      expect(toolsIn(played)).not.toContain(missing);
      const isTried = callsIn(played).filter(({ name }) => name === "run_command").length === 2;
      const said = played.replies.map((reply) => textOf(reply) + callsOf(reply).map(({ input }) => input)).join("\n");
      expect(said.includes("npm test passes now")).toBe(isTried);
      const isNeeded = missing !== "work_complete";
      if (isNeeded) expect(textOf(played.replies[0]!)).toMatch(/not offered|no workspace/);
    },
  );

  test("without a workspace it says how to give one, and calls nothing that needs one", async () => {
    const bare = new ToolRegistry(builtinTools({ workspace: undefined }));
    const played = await repair({ tools: offeredBy(bare) });
    expect(textOf(played.replies[0]!)).toContain("--workspace DIR");
    expect(new Set(toolsIn(played))).toEqual(new Set(["update_todos"]));
    expect(lastWords(played)).toContain("I can look at no files");
  });

  test("calls of somebody else in between are no reason to start again", async () => {
    const messages: ModelMessage[] = [
      { role: "user", text: prompt },
      { role: "assistant", text: "", calls: [{ id: "1", name: "delete_file", input: "{}" }] },
      { role: "tool", callId: "1", text: "Deleted", isError: false },
    ];
    const reply = await ask({ messages, tools: offeredBy(registry) });
    expect(namesOf(reply)).toEqual([]);
    expect(textOf(reply)).toContain("Something else was called in between");
  });
});

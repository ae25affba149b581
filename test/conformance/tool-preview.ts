// What people are told before a call: `describe` is pure and quick, `preview` changes nothing and says the same twice.
import { describe, expect, test } from "vitest";
import { checkInput } from "../../src/tool/check-input.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { checkedInput, oneCleanLine, type ToolUnderTest, workspaceFor } from "./tool.js";
import { hostileTexts } from "./tool-hostile.js";
import { withText } from "./tool-inputs.js";

/** Every call of a model waits for it. Far more than it takes, for machines that are busy. */
const describedWithinMs = 100;

export function previewSuite(under: ToolUnderTest): void {
  const { tool, input } = under;
  const schema = new ToolRegistry([tool]).inputSchema(tool.name);

  test("describes a call in one line, the same each time, and leaves the input as it is", () => {
    const given = deepFreeze(checkedInput(under));
    expect(tool.describe(given)).toMatch(oneCleanLine);
    expect(tool.describe(given)).toBe(tool.describe(given));
  });

  test("describes a megabyte as quickly as a word", () => {
    for (const text of ["n".repeat(1_000_000), "\u0301\u200d".repeat(500_000), "a\n".repeat(500_000)])
      for (const variant of withText(schema, input, text)) {
        // Beyond what its schema takes: a schema that grows must not make it slow.
        const given = JSON.parse(variant.text) as unknown;
        const took = Math.min(
          ...[1, 2, 3].map(() =>
            timed(() => tool.describe({ ...(checkedInput(under) as object), ...(given as object) })),
          ),
        );
        expect(took, variant.what).toBeLessThan(describedWithinMs);
      }
  });

  // Most tools change nothing, and have none.
  if (tool.preview === undefined) return;
  describe("preview", () => {
    const preview = (given: unknown, workspace: string | undefined, signal = new AbortController().signal) =>
      tool.preview!(given, { signal, workspace });

    test("changes nothing, and says the same twice", async () => {
      await using workspace = await workspaceFor(under);
      const before = [workspace.fingerprint(), workspace.outside()];
      const given = deepFreeze(checkedInput(under));
      const first = await preview(given, workspace.path);
      expect(await preview(given, workspace.path)).toEqual(first);
      expect([workspace.fingerprint(), workspace.outside()]).toEqual(before);
      if (first)
        expect(first).toEqual({ mediaType: expect.stringMatching(/^text\//), data: expect.stringMatching(/\S/) });
    });

    test("says the same of the same project in another place", async () => {
      await using one = await workspaceFor(under);
      await using other = await workspaceFor(under);
      const [first, second] = await Promise.all([one, other].map(({ path }) => preview(checkedInput(under), path)));
      expect(second?.data.replaceAll(other.path, "")).toBe(first?.data.replaceAll(one.path, ""));
    });

    test("fails in words for whatever could not succeed", async () => {
      await using workspace = await workspaceFor(under);
      const before = [workspace.fingerprint(), workspace.outside()];
      for (const { text } of hostileTexts)
        for (const variant of withText(schema, input, text)) {
          const checked = checkInput(tool, variant.text);
          if (!checked.ok) continue;
          const ended = await preview(checked.input, workspace.path).catch((reason: unknown) => reason);
          if (ended instanceof Error) expect(ended, variant.what).toMatchObject({ name: "ToolFailure" });
        }
      expect([workspace.fingerprint(), workspace.outside()]).toEqual(before);
    });
  });
}

function timed(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

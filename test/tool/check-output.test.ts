import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkOutput } from "../../src/tool/check-output.js";

const tool = { output: z.object({ entries: z.array(z.object({ name: z.string() })), total: z.number().default(0) }) };

describe("checkOutput", () => {
  test("gives the result as the schema makes it", () => {
    expect(checkOutput(tool, { entries: [{ name: "a", extra: 1 }] })).toEqual({
      ok: true,
      result: { entries: [{ name: "a" }], total: 0 },
    });
  });

  test.each([
    [undefined, "The result: is missing, must be an object"],
    ["text", "The result: must be an object, not a text"],
    [{ entries: [{ name: "a" }, { name: 5 }] }, "entries[1].name: must be a text, not a number"],
    [{ entries: [], total: Number.NaN }, "total: must be a number, not NaN"],
    [{ entries: [], total: 1n }, "total: must be a number, not bigint"],
  ])("refuses %o, and names the field", (result, message) => {
    expect(checkOutput(tool, result)).toEqual({ ok: false, kind: "invalid_output", message });
  });

  test("does not throw for a result that throws when it is read", () => {
    const hostile = {
      get entries() {
        throw new Error("no");
      },
    };
    expect(checkOutput(tool, hostile)).toMatchObject({ ok: false, kind: "invalid_output" });
  });
});

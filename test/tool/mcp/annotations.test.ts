import { describe, expect, test } from "vitest";
import { kindAndPolicy, titleOf } from "../../../src/tool/mcp/annotations.js";

describe("a tool's title", () => {
  test.each([
    ["its own", { name: "n", title: "T", annotations: { title: "A" } }, "T"],
    ["its annotations'", { name: "n", annotations: { title: "A" } }, "A"],
    ["its name", { name: "n", title: " ", annotations: {} }, "n"],
    ["one clean line", { name: "n", title: "two\nlines\u202e" }, "two lines"],
    ["no matter what stands there", { name: "n", title: 7, annotations: "?" }, "n"],
  ])("is %s", (_, tool, title) => expect(titleOf(tool)).toBe(title));
});

describe("kind and policy", () => {
  test.each([
    [{ readOnlyHint: true, openWorldHint: false }, "read", "allow"],
    [{ readOnlyHint: true, openWorldHint: true }, "fetch", "ask"],
    [{ readOnlyHint: true }, "fetch", "ask"],
    [{ destructiveHint: true }, "execute", "ask"],
    [{ readOnlyHint: false, destructiveHint: false }, "other", "ask"],
    [{ openWorldHint: false }, "other", "ask"],
    [{ readOnlyHint: "true", openWorldHint: false }, "other", "ask"],
    [undefined, "other", "ask"],
  ])("of %j are %s and %s, whatever the name says", (annotations, kind, policy) => {
    for (const name of ["delete_everything", "read", "x"])
      expect(kindAndPolicy({ name, annotations })).toEqual({ kind, policy });
  });
});

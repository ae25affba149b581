import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolNames } from "../../../src/tool/mcp/tool-names.js";
import { mcpPrefix } from "../../../src/tool/policy.js";

const named = (label: string, ...names: string[]) => Object.fromEntries(toolNames(label, names));

describe("names of a server's tools", () => {
  test("say whose they are", () => {
    expect(named("github", "createIssue", "list-issues")).toEqual({
      createIssue: "mcp__github__createIssue",
      "list-issues": "mcp__github__list-issues",
    });
  });

  test("have no characters that a provider refuses", () => {
    expect(named("my wiki", "pages/find")).toEqual({ "pages/find": "mcp__my_wiki__pages_find" });
  });

  test("are told apart where they would be one: the tool that is really called so keeps the name", () => {
    const names = named("a", "x.y", "x_y", "x y");
    expect(names["x_y"]).toBe("mcp__a__x_y");
    expect(names["x.y"]).toMatch(/^mcp__a__x_y_[0-9a-f]{8}$/);
    expect(new Set(Object.values(names)).size).toBe(3);
  });

  test("are cut with a hash of the whole", () => {
    const long = "x".repeat(80);
    const names = named("a", `${long}1`, `${long}2`);
    const [one, other] = Object.values(names);
    expect(one).toMatch(/^mcp__a__x{47}_[0-9a-f]{8}$/);
    expect(one).not.toBe(other);
  });

  test("begin with what policy knows a server by, however long its label is", () => {
    const label = "y".repeat(64);
    expect(named(label, "t")["t"]!.startsWith(mcpPrefix(label))).toBe(true);
    expect(mcpPrefix(label)).not.toBe(mcpPrefix(`${label.slice(1)}z`));
  });

  test("whatever a server calls its tools: unique, short, of plain characters, and the same in any order", () => {
    const name = fc.oneof(fc.string({ maxLength: 90 }), fc.constantFrom("a.b", "a_b", "a b", "a-b"));
    fc.assert(
      fc.property(fc.string({ maxLength: 64 }), fc.uniqueArray(name, { maxLength: 30 }), (label, names) => {
        const forward = toolNames(label, names);
        expect([...forward.values()].every((full) => /^[a-zA-Z0-9_-]{1,64}$/.test(full))).toBe(true);
        expect(new Set(forward.values()).size).toBe(names.length);
        const backward = toolNames(label, names.toReversed());
        for (const each of names) expect(backward.get(each)).toBe(forward.get(each));
      }),
    );
  });
});

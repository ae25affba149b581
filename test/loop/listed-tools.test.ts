import { describe, expect, test } from "vitest";
import { ToolPolicy } from "../../src/thread/schema.js";
import type { Kind, ToolDefinition } from "../../src/tool/tool.js";
import { tool } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();
const ofKind = (kind: Kind, extra: Partial<ToolDefinition> = {}): ToolDefinition =>
  tool(`a_${kind}`, undefined, { kind, ...extra });

describe("the list of tools", () => {
  test.each([
    ["read", "ALLOW"],
    ["search", "ALLOW"],
    ["think", "ALLOW"],
    ["other", "ALLOW"],
    ["edit", "ASK"],
    ["move", "ASK"],
    ["delete", "ASK"],
    ["execute", "ASK"],
    ["fetch", "ASK"],
  ] as const)("says that calls of kind %s are %s by default", async (kind, policy) => {
    const [listed] = await core({ tools: [ofKind(kind)] }).toolCalls.tools("");
    expect(listed?.policy).toBe(ToolPolicy[policy]);
  });

  test("says what the configuration says, before what the tool and its kind say", async () => {
    const tools = [ofKind("read"), ofKind("execute", { policy: "allow" }), ofKind("edit"), ofKind("fetch")];
    const listed = core({ tools, policy: { policy: { a_read: "deny", a_execute: "ask" }, trusted: true } });
    expect((await listed.toolCalls.tools("")).map(({ name, policy }) => [name, ToolPolicy[policy]])).toEqual([
      ["a_edit", "ALLOW"],
      ["a_execute", "ASK"],
      // Trust is in the workspace, not in what lies beyond it.
      ["a_fetch", "ASK"],
      ["a_read", "DENY"],
    ]);
  });

  test("says how what a tool starts is held in, in one line", async () => {
    const tools = [ofKind("execute", { isolation: "none:\nthe server's own rights" }), ofKind("read")];
    const listed = await core({ tools }).toolCalls.tools("");
    expect(listed.map(({ isolation }) => isolation)).toEqual(["none: the server's own rights", ""]);
  });
});

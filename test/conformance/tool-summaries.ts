// Whatever a model writes, what people read is one clean line without secrets (T5), every call ends (T1), and nothing outside
// the workspace is read or changed. Looked at from behind the recorder: in the events.
import { toJsonString } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { type ThreadEvent, ThreadEventSchema } from "../../src/thread/event.js";
import { limits } from "../../src/thread/limits.js";
import { ToolCallOutcome } from "../../src/thread/schema.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { readRecords } from "../loop/call-records.js";
import { checkLog } from "../loop/log-rules.js";
import { called, play, replies, said, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";
import { canary } from "../support/sample-workspace.js";
import { oneCleanLine, type ToolUnderTest, workspaceFor } from "./tool.js";
import { configuredSecret, hostileTexts } from "./tool-hostile.js";
import { withText } from "./tool-inputs.js";

const ends: ReadonlySet<ToolCallOutcome> = new Set([
  ToolCallOutcome.SUCCEEDED,
  ToolCallOutcome.FAILED,
  ToolCallOutcome.REJECTED,
]);

export function summarySuite(under: ToolUnderTest): void {
  const { tool, input } = under;
  const core = useCores();
  const schema = new ToolRegistry([tool]).inputSchema(tool.name);
  // Where nothing holds commands in they read what the server can: `heddle tools` says so, and policy asks.
  const isHeldIn = tool.isolation?.startsWith("none:") !== true;

  /** One call, from the model's text to the log. */
  async function recorded(text: string, workspace: string) {
    const opened = core({
      model: replies(called({ name: tool.name, input: text }), said("ok")),
      tools: [tool],
      policy: { policy: { [tool.name]: "allow" } },
      secrets: [configuredSecret],
      workspace,
    });
    const { events } = await play(opened);
    expect(opened.errors).toEqual([]);
    const records = [...(await readRecords(opened, events)).values()];
    // Inputs are kept as they are: whoever runs a call needs them exact.
    const bodies = records.flatMap(({ bodies }) => [...bodies].filter(([name]) => name !== "input"));
    return { events, bodies: bodies.map(([, body]) => body) };
  }

  test("T5: says in one line what its example does, and what came of it", async () => {
    await using workspace = await workspaceFor(under);
    const { events } = await recorded(JSON.stringify(input), workspace.path);
    checkLog(events);
    const [started] = valuesOf(events, "toolCallStarted");
    const [complete] = valuesOf(events, "toolCallComplete");
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED, success: true });
    // Words of its own: what the recorder puts in for a tool that says nothing would be these.
    expect([tool.title, ""]).not.toContain(started!.summary);
    expect(["Done", ""]).not.toContain(complete!.summary);
  });

  describe.each(hostileTexts)("with $what in any of its texts", ({ text, secret }) => {
    test("T1, T5: ends in clean lines, and reaches nothing outside", async () => {
      for (const variant of withText(schema, input, text)) {
        await using workspace = await workspaceFor(under);
        const before = workspace.outside();
        const { events, bodies } = await recorded(variant.text, workspace.path);
        checkLog(events);
        checkPlans(events);
        const [complete] = valuesOf(events, "toolCallComplete");
        expect(ends, `${variant.what}: ${complete!.summary}`).toContain(complete!.outcome);
        // An error that nobody foresaw would be told as "Failed: …".
        expect(complete!.summary, variant.what).not.toMatch(/^Failed: /);
        expect(workspace.outside()).toBe(before);
        const stored = [...events.map((event) => toJsonString(ThreadEventSchema, event)), ...bodies].join("\n");
        if (isHeldIn) expect(stored.includes(canary), `${variant.what}: the canary was read`).toBe(false);
        if (secret) expect(stored.includes(secret), `${variant.what}: the secret was stored`).toBe(false);
      }
    });
  });
}

function checkPlans(events: readonly ThreadEvent[]): void {
  for (const { entries } of valuesOf(events, "planUpdated"))
    for (const { content } of entries) {
      expect(content).toMatch(oneCleanLine);
      expect(content.length).toBeLessThanOrEqual(limits.summaryUnits);
    }
}

// Bad input never runs: what the schema refuses ends as rejected, before the tool hears of it.
import { expect, test } from "vitest";
import { ToolCallOutcome } from "../../src/thread/schema.js";
import { checkInput } from "../../src/tool/check-input.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import { called, play, replies, said, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";
import type { ToolUnderTest } from "./tool.js";
import { wrongInputs } from "./tool-inputs.js";

export function refusalSuite({ tool, input }: ToolUnderTest): void {
  const core = useCores();
  const schema = new ToolRegistry([tool]).inputSchema(tool.name);
  const wrong = wrongInputs(schema, input);

  test("takes its example, and nothing that its schema shows to be wrong", () => {
    expect(checkInput(tool, JSON.stringify(input))).toMatchObject({ ok: true });
    const taken = wrong.filter(({ text }) => checkInput(tool, text).ok);
    expect(taken.map(({ what }) => what)).toEqual([]);
  });

  test("does not hear of fields that it does not know", () => {
    for (const extra of ["extra", "constructor", "toString", "signal"]) {
      const checked = checkInput(tool, JSON.stringify({ ...input, [extra]: { nested: true } }));
      if (checked.ok) expect(Object.keys(checked.input as object)).not.toContain(extra);
    }
  });

  test("does not run for what is refused, and the model is told what to write", async () => {
    const ran: unknown[] = [];
    const spied = { ...tool, run: async (given: unknown) => Promise.reject(ran.push(given)) };
    const model = replies(called(...wrong.map(({ text }) => ({ name: tool.name, input: text }))), said("ok"));
    const policy = { policy: { [tool.name]: "allow" as const } };
    const { events } = await play(core({ model, tools: [spied], policy }));
    expect(ran).toEqual([]);
    expect(valuesOf(events, "toolCallStarted")).toEqual([]);
    const outcomes = valuesOf(events, "toolCallComplete").map(({ outcome }) => outcome);
    expect(outcomes).toEqual(wrong.map(() => ToolCallOutcome.REJECTED));
    for (const message of model.requests[1]!.messages)
      if (message.role === "tool")
        expect(message).toMatchObject({ text: expect.stringMatching(/^The call was not run\. \S/) });
  });
}

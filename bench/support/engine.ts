// The agent that the engine is measured with: a model that answers at once, and a tool that does nothing.
import { z } from "zod";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import type { BuiltCore } from "./built.js";

export const toolInput = '{"path":"src/server.ts","line":120}';

/** What the next message asks for. */
export interface Work {
  /** One after the other, one a reply; then a word, and the end. */
  calls: number;
}

/** Calls the tool as often as the message says, then says a word. */
export function busyModel(): Model {
  return {
    name: "bench:busy",
    async *stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
      const asked = messages.findLastIndex(({ role }) => role === "user");
      const replies = messages.slice(asked).filter(({ role }) => role === "assistant").length;
      const message = messages[asked];
      if (message?.role === "user" && replies < Number(message.text)) {
        yield { type: "tool_call", index: 0, id: `call_${replies}`, name: "nothing", input: toolInput };
        yield { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
      } else {
        yield { type: "text", text: "Done." };
        yield { type: "end", reason: "stop", providerReason: "stop" };
      }
    },
  };
}

export const nothingTool: ToolDefinition = {
  name: "nothing",
  title: "Nothing",
  description: "Does nothing.",
  kind: "other",
  input: z.object({ path: z.string(), line: z.number() }),
  output: z.object({ ok: z.boolean() }),
  describe: () => "Doing nothing",
  run: async () => ({ result: { ok: true }, summary: "Did nothing" }),
};

/** Sends a message that asks for so many calls. `ended` resolves when the run's last append is made. */
export async function runCalls(
  { threads }: Pick<BuiltCore, "threads">,
  { threadId, calls, ended }: { threadId: string; calls: number; ended: Promise<void> },
): Promise<void> {
  await threads.send(threadId, { requestId: newId(), text: String(calls), options: undefined });
  await ended;
}

// The same agent in the Vercel AI SDK: a mock model that calls a tool that does nothing, streamed to one reader. Nothing of it is
// stored.
import { simulateReadableStream, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { answerAsks } from "../support/ask.js";
import { type CallsTook, toolInput } from "../support/engine.js";
import { stopwatch } from "../support/stopwatch.js";

type StreamResult = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>;
type Part = StreamResult["stream"] extends ReadableStream<infer Value> ? Value : never;

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function parts(step: number, calls: number): Part[] {
  const id = `call_${step}`;
  const reply: Part[] =
    step < calls
      ? [
          { type: "tool-input-start", id, toolName: "nothing" },
          { type: "tool-input-delta", id, delta: toolInput },
          { type: "tool-input-end", id },
          { type: "tool-call", toolCallId: id, toolName: "nothing", input: toolInput },
          { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage },
        ]
      : [
          { type: "text-start", id: "text" },
          { type: "text-delta", id: "text", delta: "Done." },
          { type: "text-end", id: "text" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
        ];
  return [{ type: "stream-start", warnings: [] }, ...reply];
}

const asks = {
  /** So many conversations at once, each with so many calls, one after the other. */
  calls: async ({ runs, calls }: { runs: number; calls: number }): Promise<CallsTook> => {
    const read = stopwatch();
    await Promise.all(Array.from({ length: runs }, () => converse(calls)));
    return { ...read(), calls: runs * calls };
  },
};

async function converse(calls: number): Promise<void> {
  let step = 0;
  let results = 0;
  const model = new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: parts(step++, calls), initialDelayInMs: null, chunkDelayInMs: null }),
    }),
  });
  const result = streamText({
    model,
    prompt: String(calls),
    tools: {
      nothing: tool({
        description: "Does nothing.",
        inputSchema: z.object({ path: z.string(), line: z.number() }),
        execute: async () => ({ ok: true }),
      }),
    },
    stopWhen: stepCountIs(calls + 1),
  });
  for await (const part of result.fullStream) if (part.type === "tool-result") results++;
  if (results !== calls) throw new Error(`The AI SDK ran ${results} of ${calls} calls`);
}

export type AiSdkAsks = typeof asks;
answerAsks(asks);

// Gives a task to a sub-agent: a run in a thread of its own, with the same tools. Its last words are the result.
import { z } from "zod";
import { endWords } from "../delegate/end-words.js";
import { progressWords } from "../delegate/progress-words.js";
import type { SubProgress, SubRunEnd, SubRuns } from "../delegate/sub-runs.js";
import { defineTool, type ToolContext, type ToolDefinition } from "../tool.js";
import { oneLine } from "../words.js";

/** As long as any run: the limits of the runs hold before it. */
const timeoutMs = 24 * 3_600_000;

const outcomes = ["succeeded", "failed", "cancelled", "incomplete", "interrupted"] as const;

export const delegateTask = (subRuns: SubRuns): ToolDefinition =>
  defineTool({
    name: "delegate_task",
    title: "Delegate a task",
    description:
      "Give a task to a sub-agent that works in a thread of its own, with the same tools and workspace, and get its final message. It knows nothing of this conversation. Use it for work that can be told in a few sentences and whose details you need not see; call it several times in one reply to have tasks done at the same time.",
    kind: "think",
    policy: "allow",
    delegates: true,
    timeoutMs,
    input: z.object({
      task: z
        .string()
        .regex(/\S/, "must not be empty")
        .max(200)
        .describe('What the task is, in a few words, such as "review the plan"'),
      prompt: z
        .string()
        .regex(/\S/, "must not be empty")
        .max(50_000)
        .describe("All that the sub-agent must know: what to do, with what, and what to answer with"),
    }),
    output: z.object({
      childThreadId: z.string().describe("The thread in which it worked"),
      outcome: z.enum(outcomes).describe("How its run ended"),
      stopped: z.string().describe("Why it stopped, in words; empty when it finished"),
      toolCalls: z.number().int().describe("How many calls it made"),
      durationMs: z.number().describe("How long it took"),
      text: z.string().describe("Its last words; a long text without its middle"),
    }),
    describe: ({ task }) => `Delegating: ${oneLine(task)}`,
    run: async ({ task, prompt }, context) => {
      const { threadId, toolCallId, signal } = context;
      const onProgress = reporter(context);
      const end = await subRuns.run({ threadId, toolCallId, title: task, prompt, signal, onProgress });
      return outcomeOf(end);
    },
    toModel: ({ text, stopped }) => {
      const words = text || "The sub-agent said nothing.";
      return stopped === "" ? words : `${stopped}. ${text === "" ? words : `Its last words were:\n${text}`}`;
    },
  });

/** A call whose sub-agent waits for a person waits too, and says so in its phase. */
function reporter(context: ToolContext): (now: SubProgress) => void {
  let told = { toolCalls: 0, isWaiting: false };
  return (now) => {
    const isTurn = now.isWaiting !== told.isWaiting;
    // A call may be made and wait in the same moment: how far it has come is said of the phase that ends.
    if (!isTurn || now.toolCalls !== told.toolCalls)
      context.progress(now.toolCalls, undefined, progressWords({ ...now, isWaiting: told.isWaiting }));
    if (isTurn) context.phase(now.isWaiting ? "waiting" : undefined, progressWords(now));
    told = now;
  };
}

function outcomeOf(end: SubRunEnd) {
  const { childThreadId, outcome, toolCalls, durationMs, text } = end;
  const summary = endWords(end);
  const isError = outcome !== "succeeded";
  const result = { childThreadId, outcome, stopped: isError ? summary : "", toolCalls, durationMs, text };
  return { result, summary, isError };
}

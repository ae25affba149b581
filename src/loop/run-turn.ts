// The main flow: ask the model, run what it calls, tell it what came of it, until it is done.
import type { ModelMessage } from "../model/model.js";
import { RunOutcome } from "../thread/schema.js";
import { askModel } from "./ask-model.js";
import { buildRequest } from "./build-request.js";
import type { Reply } from "./record-reply.js";
import type { Run } from "./run.js";
import { type CallResult, runToolCall } from "./run-tool-call.js";
import { Stopped } from "./stop.js";

export interface TurnEnd {
  readonly outcome: RunOutcome;
  /** The provider's word, or Heddle's. */
  readonly finishReason: string;
}

/** Contract: the run's messages end with what the model has to answer. Throws a ModelError, or Stopped when it was called off. */
export async function runTurn(run: Run): Promise<TurnEnd> {
  for (;;) {
    const limit = limitReached(run);
    if (limit) return { outcome: RunOutcome.INCOMPLETE, finishReason: limit };
    const reply = await askModel(run, buildRequest(run));
    const running = runCalls(run, reply);
    await Promise.allSettled([running]);
    await reply.stored; // Its failure is heard first: what the calls then fail with only comes of it.
    const results = await running;
    if (results.length === 0) return answered(reply);
    run.messages.push(...exchange(reply, results));
    if (run.stopped) throw new Stopped(run.stopped);
    if (results.some(({ stopIteration }) => stopIteration)) return stoppedByTool;
  }
}

export const stoppedByTool: TurnEnd = { outcome: RunOutcome.SUCCEEDED, finishReason: "tool_stop" };

function limitReached({ options, steps, usage }: Run): string | undefined {
  if (steps >= options.maxSteps) return "step_limit";
  const used = usage.inputTokens + usage.outputTokens;
  return options.maxTokens > 0n && used >= options.maxTokens ? "token_limit" : undefined;
}

function answered({ end }: Reply): TurnEnd {
  const isWhole = end.reason === "stop" || end.reason === "tool_calls";
  return { outcome: isWhole ? RunOutcome.SUCCEEDED : RunOutcome.INCOMPLETE, finishReason: end.providerReason };
}

/** In parallel, a fast call's end never waits for a slow one. In order, each begins when the last one is over. */
async function runCalls(run: Run, { calls, end }: Reply): Promise<CallResult[]> {
  const runOne = (call: Reply["calls"][number]) => runToolCall(run, call, end.reason === "truncated");
  if (run.options.parallelToolCalls !== false) return allSettled(calls.map(runOne));
  const results: CallResult[] = [];
  for (const call of calls) results.push(await runOne(call));
  return results;
}

/** Every call has ended before a failure of one is heard: nothing runs on behind a run that has failed. */
async function allSettled(running: readonly Promise<CallResult>[]): Promise<CallResult[]> {
  await Promise.allSettled(running);
  return Promise.all(running);
}

function exchange({ text, calls }: Reply, results: readonly CallResult[]): ModelMessage[] {
  return [
    { role: "assistant", text, calls: calls.map(({ id, toolName, text }) => ({ id, name: toolName, input: text })) },
    ...results.map(
      ({ text, isError }, index): ModelMessage => ({ role: "tool", callId: calls[index]!.id, text, isError }),
    ),
  ];
}

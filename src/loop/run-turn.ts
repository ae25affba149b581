// The main flow: ask the model, run what it calls, tell it what came of it, until it is done.
import type { ModelMessage } from "../model/model.js";
import { askModel } from "./ask-model.js";
import { buildRequest } from "./build-request.js";
import { cutOff } from "./cut-off.js";
import { discoverTools } from "./discover-tools.js";
import type { Reply } from "./record-reply.js";
import type { Run } from "./run.js";
import { type CallResult, notRun, type Parked, parked, runToolCall, skipToolCall } from "./run-tool-call.js";
import { Stopped } from "./stop.js";
import { answered, limitReached, stoppedByTool, type TurnEnd } from "./turn-end.js";

/**
 * Contract: the run's messages end with what the model has to answer, or with what it has answered in `unfinished`. Undefined: the
 * run waits for somebody outside, and is gone on with from the log. Throws a ModelError, or Stopped when it was called off.
 */
export async function runTurn(run: Run, unfinished?: Reply): Promise<TurnEnd | undefined> {
  for (let reply = unfinished; ; reply = undefined) {
    const limit = reply ? undefined : limitOf(run);
    if (limit) return limitReached(limit);
    const discovering = discoverTools(run);
    if (discovering) await discovering;
    reply ??= await askModel(run, buildRequest(run));
    const isOver = endsCutOff(run, reply);
    const stored = run.stored();
    let results: CallResult[] | Parked;
    try {
      results = await (isOver ? endCutOff(run, reply) : runCalls(run, reply));
    } finally {
      await stored; // The reply's failure is what is heard: what the calls then fail with only comes of it.
    }
    if (results === parked) return undefined;
    if (isOver || results.length === 0) return answered(reply.end);
    run.messages.push(...exchange(run, reply, results));
    if (run.stopped) throw new Stopped(run.stopped);
    if (results.some(({ stopIteration }) => stopIteration)) return stoppedByTool;
  }
}

function limitOf({ options, steps, tokens }: Run): string | undefined {
  if (steps >= options.maxSteps) return "step_limit";
  return options.maxTokens > 0n && tokens >= options.maxTokens ? "token_limit" : undefined;
}

/**
 * In parallel, a fast call's end never waits for a slow one. In order, each begins when the last one is over, and none behind
 * one that has ended the run.
 */
async function runCalls(run: Run, { calls, end }: Reply): Promise<CallResult[] | Parked> {
  const beyond = beyondLimit(run, calls.length);
  if (run.options.parallelToolCalls !== false) {
    // One that waits must not suspend the run while others have not even begun.
    run.waits.begin();
    const running = calls.map((call, index) =>
      runToolCall(run, call, { reason: end.reason, isOneTooMany: beyond(index) }),
    );
    run.waits.end();
    return running.length === 1 ? alone(await running[0]!) : await allSettled(running);
  }
  const results: CallResult[] = [];
  for (const [index, call] of calls.entries()) {
    const isOver = results.some(({ stopIteration }) => stopIteration);
    const limits = { reason: end.reason, isOneTooMany: beyond(index) };
    const result = await (isOver
      ? skipToolCall(run, call, notRun("an earlier call ended the run"))
      : runToolCall(run, call, limits));
    if (result === parked) return parked;
    results.push(result);
  }
  return results;
}

/** Whether the run ends with a reply that was cut off in the middle of a call: whoever waits for it has seen how far it came. */
const endsCutOff = ({ options }: Run, { calls, end }: Reply): boolean =>
  options.endWhenCutOff && calls.some((call) => cutOff(call, end.reason));

/** None of its calls is run, and none waits for anybody. */
const endCutOff = (run: Run, { calls, end }: Reply): Promise<CallResult[]> =>
  Promise.all(
    calls.map((call) => skipToolCall(run, call, cutOff(call, end.reason) ?? notRun("the reply was cut off"))),
  );

/** Whether a call of the last reply, by its place, is one more than the run may make. */
function beyondLimit({ options, toolCalls }: Run, inReply: number): (index: number) => boolean {
  const before = toolCalls - inReply;
  return (index) => options.maxToolCalls > 0 && before + index >= options.maxToolCalls;
}

const alone = (result: CallResult | Parked): CallResult[] | Parked => (result === parked ? parked : [result]);

/** Every call has ended before a failure of one is heard: nothing runs on behind a run that has failed. */
async function allSettled(running: readonly Promise<CallResult | Parked>[]): Promise<CallResult[] | Parked> {
  await Promise.allSettled(running);
  const results = await Promise.all(running);
  const ended = results.filter((result) => result !== parked);
  return ended.length < results.length ? parked : ended;
}

/** Redacted as it is stored: a run that goes on from the log is told the same. */
function exchange(run: Run, { text, calls }: Reply, results: readonly CallResult[]): ModelMessage[] {
  return [
    {
      role: "assistant",
      text: run.recorder.redacted(text),
      calls: calls.map(({ id, toolName, text }) => ({ id, name: toolName, input: text })),
    },
    ...results.map(
      ({ text, isError }, index): ModelMessage => ({ role: "tool", callId: calls[index]!.id, text, isError }),
    ),
  ];
}

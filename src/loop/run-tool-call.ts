// One call from a complete input to its end. Started is stored before the first side effect, and every path ends in one
// Complete (T1, T4).
import type { EndReason } from "../model/model.js";
import { ToolCallOutcome, ToolChoiceMode } from "../thread/schema.js";
import { attempt, startOf } from "./attempt-call.js";
import { cutOff } from "./cut-off.js";
import { handOver, waitForClient } from "./hand-over.js";
import { lookFirst } from "./look-first.js";
import { permission } from "./permission.js";
import { type CallEnd, recordEnd } from "./record-end.js";
import type { Run, Scope } from "./run.js";
import { endingOf } from "./stop.js";
import { type CallInput, unnamed } from "./streamed-call.js";

/** What the loop goes on with. */
export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
  readonly stopIteration: boolean;
}

/** The call waits for somebody outside, and the run need not stay in memory. */
export type Parked = typeof parked;
export const parked = Symbol("parked");

/** How a call stands in its reply. */
export interface InReply {
  /** How the reply ended. One that was cut off may have cut off this call's input. */
  readonly reason: EndReason;
  /** The run has made as many calls as it may. */
  readonly isOneTooMany: boolean;
}

export async function runToolCall(run: Run, call: CallInput, inReply: InReply): Promise<CallResult | Parked> {
  if (call.standing?.kind === "over") return call.standing.result;
  const scope = run.callScope(call.id);
  run.waits.begin();
  try {
    if (call.standing?.kind === "handed_over") return await waitForClient(run, call, scope);
    const rejection = refusal(run, call, inReply);
    if (rejection) return recordEnd(run, call, rejection);
    const asked = permission(run, call, scope);
    const permitted = asked instanceof Promise ? await asked : asked;
    if (permitted.kind === "parked") return parked;
    if (permitted.kind === "ended") return permitted.result;
    if (permitted.kind === "allowed" && call.tool?.origin?.kind === "client") return await handOver(run, call, scope);
    const end = permitted.kind === "refused" ? permitted.end : await execute(run, call, scope);
    return recordEnd(run, call, end);
  } finally {
    run.endCall(call.id);
    run.waits.end();
  }
}

/** Ends a call that is not run because the run ends before it. */
export async function skipToolCall(run: Run, call: CallInput, end: CallEnd): Promise<CallResult> {
  if (call.standing?.kind === "over") return call.standing.result;
  try {
    return recordEnd(run, call, end);
  } finally {
    run.endCall(call.id);
  }
}

/** `Not run:` goes on with the reason. */
export function notRun(reason: string): CallEnd {
  const message = `Not run: ${reason}`;
  return { outcome: ToolCallOutcome.CANCELLED, summary: message, error: { kind: "run_ended", message } };
}

/** Why the call cannot run; undefined when it can. */
function refusal(run: Run, call: CallInput, { reason, isOneTooMany }: InReply): CallEnd | undefined {
  const { tool, toolName, checked } = call;
  // Who runs it has seen it, and checks it: taken back, it would leave a caller with an answer that nobody waits for.
  const isCallers = tool?.origin?.kind === "client" && run.options.endWhenUnclaimed;
  if (isOneTooMany && !isCallers)
    return rejected("tool_call_limit", "The run has used tools as often as it may", "Answer in words");
  // Not every server keeps to what it was asked for.
  if (run.options.toolChoice?.mode === ToolChoiceMode.NONE)
    return rejected("tool_not_allowed", "No tools may be used in this run", "Answer in words");
  if (!tool) {
    const known = run.tools.list().map(({ name }) => name);
    const rest = known.length > 0 ? `The tools are: ${known.join(", ")}` : "There are no tools";
    const what = toolName === unnamed ? "The call names no tool" : `There is no tool named ${toolName}`;
    return rejected("unknown_tool", what, rest);
  }
  const cut = cutOff(call, reason);
  if (cut) return cut;
  return isCallers || !checked || checked.ok ? undefined : rejected(checked.kind, checked.message);
}

const rejected = (kind: string, message: string, hint = ""): CallEnd => ({
  outcome: ToolCallOutcome.REJECTED,
  summary: message,
  error: { kind, message },
  modelText: `The call was not run. ${message}.${hint ? ` ${hint}.` : ""}`,
});

async function execute(run: Run, call: CallInput, scope: Scope): Promise<CallEnd> {
  if (call.tool!.onlyLooks) return lookFirst(run, call, scope);
  await run.recorder.record(startOf(call));
  return scope.stopped ? endingOf(scope.stopped) : await attempt(run, call, scope);
}

// Calls that wait for somebody outside: they survive a restart, and their run is suspended meanwhile. Everything here is a change
// of a draft: what is true in the log decides, and not what this process remembers.
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError } from "../thread/errors.js";
import { newEvent, type ThreadEvent, type ThreadEventInit } from "../thread/event.js";
import { limits } from "../thread/limits.js";
import type { OpenCall } from "../thread/open-call.js";
import {
  ApprovalDecision,
  Executor,
  type RunDocument,
  type RunOptions,
  SuspendReason,
  ToolCallOutcome,
} from "../thread/schema.js";
import { durationFromMs, durationMs, now, timestampMs } from "../thread/time.js";
import type { CallResult } from "./run-tool-call.js";
import { type Ending, endingOf, type RunStop, spanWords } from "./stop.js";
import { endOfStopped } from "./turn-end.js";

/** It waits for a person, for a client to claim it, or for the client that did. */
export const isParked = ({ state, call }: OpenCall): boolean =>
  state === "awaiting_approval" || state === "offered" || (state === "running" && call.executor === Executor.CLIENT);

/** Suspends the run, unless one of the calls has been answered: then there is something to do. */
export function suspendRun(draft: ThreadDraft, toolCallIds: readonly string[]): boolean {
  const calls = toolCallIds.map((id) => draft.state.calls.get(id));
  if (!calls.every((open) => open !== undefined && isParked(open))) return false;
  if (draft.state.run?.suspended) return true;
  const openToolCallIds = toolCallIds.slice(0, limits.openCallIds);
  const usage = draft.document.run?.usage;
  const reason = parkedReason(calls as OpenCall[]);
  record(draft, { case: "runSuspended", value: { reason, openToolCallIds, ...(usage && { usage }) } });
  // Whoever waited for it has an answer now.
  draft.changeRun({ suspendTime: now(), attended: false });
  return true;
}

const parkedReason = (calls: readonly OpenCall[]): SuspendReason =>
  calls.some(({ state }) => state === "awaiting_approval") ? SuspendReason.APPROVAL : SuspendReason.CLIENT_TOOL;

/** The time that it was suspended does not count. Returns the run; undefined when it was not suspended. */
export function resumeRun(draft: ThreadDraft): RunDocument | undefined {
  if (!draft.state.run?.suspended || !draft.document.run) return undefined;
  record(draft, { case: "runResumed", value: {} });
  const { suspendTime, suspended, ...run } = draft.document.run;
  const before = suspended ? durationMs(suspended) : 0;
  const waited = suspendTime ? Math.max(0, Date.now() - timestampMs(suspendTime)) : 0;
  draft.changeDocument({ run: { ...run, suspended: durationFromMs(before + waited) } });
  return draft.document.run;
}

/** The run goes on under other options: what they limit counts from here. */
export function askAnew(draft: ThreadDraft, options: RunOptions): void {
  const { run } = draft.document;
  if (!run) return;
  const { steps: askedSteps, toolCalls: askedToolCalls, startTime } = run;
  const suspended = startTime && durationFromMs(Math.max(0, Date.now() - timestampMs(startTime)));
  draft.changeRun({ options, askedSteps, askedToolCalls, ...(suspended && { suspended }) });
}

export interface ApprovalAnswer {
  readonly decision: ApprovalDecision.ALLOWED | ApprovalDecision.DENIED | ApprovalDecision.EXPIRED;
  readonly reason: string;
  readonly resolvedBy: string;
  /** What the answerer was shown. Undefined: nobody answered. */
  readonly sha256: Uint8Array | undefined;
}

/** Records the answer, and the end of a call that it refuses. Of two answers, the first counts. Returns that end. */
export function answerApproval(draft: ThreadDraft, toolCallId: string, answer: ApprovalAnswer): CallResult | undefined {
  const { approval } = waitingCall(draft, toolCallId).call;
  const { decision, reason, resolvedBy, sha256 } = answer;
  if (sha256 && approval && !Buffer.from(sha256).equals(approval.approvalSha256))
    throw new HeddleError("approval_mismatch", "approval_sha256 is not the question's: look at the call again");
  if (sha256 && approval?.expireTime && timestampMs(approval.expireTime) <= Date.now())
    throw new HeddleError("approval_not_pending", `Tool call ${toolCallId} waited for an answer until its time was up`);
  record(draft, { case: "toolCallApprovalResolved", value: { toolCallId, decision, reason, resolvedBy } });
  if (decision === ApprovalDecision.ALLOWED) return undefined;
  const { requestTime, expireTime } = approval ?? {};
  const askedForMs = requestTime && expireTime ? timestampMs(expireTime) - timestampMs(requestTime) : 0;
  const waitedMs = Math.ceil(askedForMs / 1_000) * 1_000; // The clock was set a moment before the question was stored.
  return endOpenCall(draft, toolCallId, decision === ApprovalDecision.DENIED ? saidNo(reason) : expired(waitedMs));
}

function waitingCall(draft: ThreadDraft, toolCallId: string): OpenCall {
  const open = draft.state.calls.get(toolCallId);
  if (!open) throw new HeddleError("tool_call_over", `Tool call ${toolCallId} is over: there is nothing to answer`);
  const { lease } = draft.document;
  if (lease)
    throw new HeddleError("tool_call_not_ours", `${lease.producer} runs this call: only it can answer`, {
      detail: { producer: lease.producer },
    });
  if (open.state === "awaiting_approval") return open;
  const isAnswered = open.call.approval?.resolveTime !== undefined;
  throw new HeddleError(
    "approval_not_pending",
    `Tool call ${toolCallId} ${isAnswered ? "has been answered already" : "does not wait for an answer"}`,
  );
}

const saidNo = (reason: string): Ending => ({
  outcome: ToolCallOutcome.DENIED,
  summary: reason ? `Denied: ${reason}` : "Denied",
  error: { kind: "denied", message: reason ? `The user said no: ${reason}` : "The user said no" },
});

const expired = (waitedMs: number): Ending => {
  const message = waitedMs > 0 ? `Nobody answered within ${spanWords(waitedMs)}` : "Nobody answered in time";
  return {
    outcome: ToolCallOutcome.DENIED,
    summary: `Denied: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
    error: { kind: "approval_expired", message },
  };
};

/** Ends a call that waits. The model is told what is recorded. Undefined when it is over already. */
export function endOpenCall(draft: ThreadDraft, toolCallId: string, end: Ending): CallResult | undefined {
  if (!draft.state.calls.has(toolCallId)) return undefined;
  const { outcome, summary, error } = end;
  const { payload } = record(draft, { case: "toolCallComplete", value: { toolCallId, outcome, summary, error } });
  const told = payload.case === "toolCallComplete" ? payload.value.error?.message : undefined;
  return { text: told ?? summary, isError: true, stopIteration: false };
}

/**
 * Calls off the parked calls of a suspended run: all of them and with them the run, or one. Returns the run when nothing is left
 * that it waits for, and it goes on.
 */
export function stopParked(draft: ThreadDraft, stop: RunStop, one?: StoppedCall): RunDocument | undefined {
  const ending = endingOf(stop);
  for (const id of one ? [one.toolCallId] : [...draft.state.calls.keys()]) endOpenCall(draft, id, ending);
  if (one === undefined) {
    const usage = draft.document.run?.usage;
    record(draft, { case: "runCompleted", value: { ...endOfStopped(stop), ...(usage && { usage }) } });
    return undefined;
  }
  return one.mayGoOn ? resumeUnlessParked(draft) : undefined;
}

interface StoppedCall {
  readonly toolCallId: string;
  /** The run can go on here. One whose model is not offered stays suspended, for a server that has it. */
  readonly mayGoOn: boolean;
}

/** One that waited does not any more. Returns the run when nothing is left that it waits for, and it goes on. */
export const resumeUnlessParked = (draft: ThreadDraft): RunDocument | undefined =>
  [...draft.state.calls.values()].some(isParked) ? undefined : resumeRun(draft);

const record = (draft: ThreadDraft, payload: NonNullable<ThreadEventInit["payload"]>): ThreadEvent =>
  draft.record(newEvent({ runId: draft.state.run?.runId ?? draft.document.runId, payload }));

// What a caller answers to a response that waits: outputs of functions that it has run, and its word on what it was asked.
import { claimCall, completeCall } from "./loop/claimed-call.js";
import { answerApproval } from "./loop/parked.js";
import type { ThreadDraft } from "./recorder/thread-draft.js";
import { HeddleError } from "./thread/errors.js";
import { newId } from "./thread/ids.js";
import { limits } from "./thread/limits.js";
import { ApprovalDecision, ToolCallOutcome } from "./thread/schema.js";

export interface Answers {
  /** What came of functions that the caller has run. */
  readonly outputs: readonly { readonly toolCallId: string; readonly output: string }[];
  readonly approvals: readonly { readonly toolCallId: string; readonly isAllowed: boolean; readonly reason: string }[];
}

export const answeredIds = ({ outputs, approvals }: Answers): string[] =>
  [...outputs, ...approvals].map(({ toolCallId }) => toolCallId);

/** Every call that waits must be answered: a run that goes on with half of its answers would wait again at once. */
export function answerWaiting(draft: ThreadDraft, { outputs, approvals }: Answers): void {
  for (const output of outputs) answerCall(draft, output);
  for (const { toolCallId, isAllowed, reason } of approvals) {
    const decision = isAllowed ? ApprovalDecision.ALLOWED : ApprovalDecision.DENIED;
    const sha256 = draft.state.calls.get(toolCallId)?.call.approval?.approvalSha256;
    answerApproval(draft, toolCallId, { decision, reason, resolvedBy: "the caller", sha256 });
  }
  const open = [...draft.state.calls.values()].find(
    ({ state }) => state === "awaiting_approval" || state === "offered",
  );
  if (open) throw unanswered(open.call.id);
}

/** The caller ran it: it claims the call, and ends it. */
function answerCall(draft: ThreadDraft, { toolCallId, output }: Answers["outputs"][number]): void {
  const leaseMs = limits.leaseMs.default;
  claimCall(draft, toolCallId, { executorName: "the caller", token: newId(), leaseMs });
  const { toolName = "the function" } = draft.state.calls.get(toolCallId)?.call ?? {};
  completeCall(draft, toolCallId, {
    complete: { toolCallId, outcome: ToolCallOutcome.SUCCEEDED, summary: `Ran ${toolName}` },
    result: Buffer.from(output),
  });
}

/** Where nothing waits. */
export function refuseAnswers({ outputs, approvals }: Answers): void {
  if (outputs.length + approvals.length > 0)
    throw new HeddleError("tool_call_over", "The response does not wait for this answer");
}

const unanswered = (toolCallId: string): HeddleError =>
  new HeddleError("tool_call_unanswered", `Tool call ${toolCallId} waits for an answer`, { detail: { toolCallId } });

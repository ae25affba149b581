// Whether a call may run. Policy allows it, forbids it, or wants a person's yes; then the question is recorded with what would
// happen, and the call waits. A yes counts once, and for exactly what was shown.
import { ApprovalMode, ContentRole, ToolCallOutcome } from "../thread/schema.js";
import { timestampFromMs } from "../thread/time.js";
import type { Preview } from "../tool/tool.js";
import { approvalHash } from "./approval-hash.js";
import { endOfThrown } from "./end-of-tool.js";
import { policyFor } from "./policy-for.js";
import { bounded, previewOf } from "./preview.js";
import type { CallEnd } from "./record-end.js";
import type { Run, Scope } from "./run.js";
import { type Ending, endingOf } from "./stop.js";
import type { CallInput } from "./streamed-call.js";
import { waitOutside } from "./wait-outside.js";
import type { Answer } from "./waits.js";

export type Permission = Answer | { readonly kind: "refused"; readonly end: CallEnd };

/** A promise only where somebody is asked, or has been. Contract: the call has a tool, and an input that fits it. */
export function permission(run: Run, call: CallInput, scope: Scope): Permission | Promise<Permission> {
  const { standing } = call;
  // One that waits may have been answered while the run was taken up again: what the log says decides.
  if (scope.stopped && standing?.kind !== "waiting") return refused(endingOf(scope.stopped));
  const tool = call.tool!;
  const policy = policyFor(run, tool);
  // Also of a call that was asked for under another policy.
  if (policy === "deny")
    return refused(denied("denied_by_policy", `The policy of this server does not allow ${tool.name}`));
  if (standing?.kind === "approved") return standingYes(run, call, { scope, ...standing });
  if (standing?.kind === "waiting") return waitForAnswer(run, call, { scope, sha256: standing.sha256 });
  switch (policy) {
    case "allow":
      return { kind: "allowed" };
    case "ask":
      if (run.options.approvalMode === ApprovalMode.DENY)
        return refused(denied("nobody_to_ask", `Nobody is here to say yes to ${tool.name}`));
      return ask(run, call, scope);
  }
}

/** A server that was away for long must not start by itself what was allowed before. */
async function standingYes(
  run: Run,
  call: CallInput,
  { scope, sha256, expiresMs }: Asked & { readonly expiresMs: number | undefined },
): Promise<Permission> {
  if (expiresMs !== undefined && expiresMs <= Date.now())
    return refused(denied("approval_expired", "The time of its approval is up", "Call it again to ask once more"));
  return verified(run, call, { scope, sha256 });
}

/** What cannot succeed is not asked for. */
async function ask(run: Run, call: CallInput, scope: Scope): Promise<Permission> {
  const looked = await lookAhead(run, call, scope);
  if (looked.kind === "refused") return looked;
  if (scope.stopped) return refused(endingOf(scope.stopped));
  const { preview, sha256 } = looked;
  const expiresMs = Date.now() + run.approvals.timeoutMs;
  const { id: toolCallId, tool } = call;
  const value = {
    toolCallId,
    summary: call.summary,
    reason: run.approvals.reasonFor(tool!),
    approvalSha256: Uint8Array.from(sha256),
    expireTime: timestampFromMs(expiresMs),
  };
  const bodies = preview ? [{ toolCallId, ...previewBody, ...preview, data: Buffer.from(preview.data) }] : [];
  // Not awaited: the answer cannot come before the question is stored, and whoever waits hears of a failure.
  const asked = run.recorder.record({ case: "toolCallApprovalRequested", value }, { bodies });
  run.approvals.startClock(run.key, toolCallId, expiresMs);
  await asked;
  return waitForAnswer(run, call, { scope, sha256 });
}

const previewBody = { contentId: "preview", role: ContentRole.PREVIEW } as const;

interface Asked {
  readonly scope: Scope;
  readonly sha256: Uint8Array;
}

async function waitForAnswer(run: Run, call: CallInput, asked: Asked): Promise<Permission> {
  const answer = await waitOutside(run, call.id, { waitsFor: "approval", scope: asked.scope });
  return answer.kind === "allowed" ? verified(run, call, asked) : answer;
}

/** A yes is for what was shown. What it would do is looked at once more, right before it is done. */
async function verified(run: Run, call: CallInput, { scope, sha256 }: Asked): Promise<Permission> {
  if (scope.stopped) return refused(endingOf(scope.stopped));
  const looked = await lookAhead(run, call, scope);
  if (looked.kind === "refused") return looked;
  if (looked.sha256.equals(sha256)) return { kind: "allowed" };
  return refused(
    denied("approval_changed", "What it would do has changed since it was approved", "Call it again to ask once more"),
  );
}

type Looked =
  | { readonly kind: "seen"; readonly preview: Preview | undefined; readonly sha256: Buffer }
  | Extract<Permission, { kind: "refused" }>;

async function lookAhead(run: Run, { tool, toolName, text, checked }: CallInput, scope: Scope): Promise<Looked> {
  try {
    const input = checked?.ok ? checked.input : undefined;
    const { workspace } = run;
    const preview = await previewOf(tool!, input, { signal: scope.signal, workspace });
    // Of all of it, also where not all of it is shown.
    const sha256 = approvalHash({ toolName, input: text, workspace, preview: preview?.data });
    return { kind: "seen", preview: preview && bounded(preview), sha256 };
  } catch (error) {
    if (scope.stopped) return refused(endingOf(scope.stopped));
    // It has not run, and is not going to.
    return refused({ ...endOfThrown(error), outcome: ToolCallOutcome.REJECTED });
  }
}

const refused = (end: CallEnd | Ending): Extract<Permission, { kind: "refused" }> => ({ kind: "refused", end });

const denied = (kind: string, message: string, hint = "Go on without it, or ask the user"): CallEnd => ({
  outcome: ToolCallOutcome.DENIED,
  summary: `Denied: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
  error: { kind, message },
  modelText: `The call was not run. ${message}. ${hint}.`,
});

// ToolCallService over the verbs: what was recorded of a call.

import type { ServiceImpl } from "@connectrpc/connect";
import type {
  ReportToolCallRequest,
  ResolveApprovalRequest,
  ToolCallService,
} from "../../../gen/heddle/v1/tool_call_service_pb.js";
import type { ExecutorCalls } from "../../executor-calls.js";
import { clampPageSize } from "../../request-fields.js";
import { invalidField } from "../../thread/errors.js";
import { ApprovalDecision, type ToolCall } from "../../thread/schema.js";
import { cleanSummary } from "../../thread/summary.js";
import { durationMs, timestampFromMs } from "../../thread/time.js";
import { type ApprovalAnswer, parseAfter, parsePlace, placeOf, type ToolCalls } from "../../tool-calls.js";
import { principalKey } from "./principal.js";

export const toolCallService = (
  calls: ToolCalls,
  executors: ExecutorCalls,
): Partial<ServiceImpl<typeof ToolCallService>> => ({
  getToolCall: async (request) => {
    const { call, contents } = await calls.get(request.toolCallId);
    return { toolCall: call, contents: [...contents] };
  },
  async *readToolCallContent(request) {
    let first = true;
    for await (const { info, offset, data } of calls.readContent(request)) {
      yield { offset: BigInt(offset), data, ...(first && { info }) };
      first = false;
    }
  },
  cancelToolCall: async ({ toolCallId, reason }) => {
    await calls.cancel(toolCallId, reason);
    return {};
  },
  listApprovals: (request) => waitingPage(request, (page) => calls.approvals(page)),
  listOfferedToolCalls: (request) => waitingPage(request, (page) => calls.offered(page)),
  resolveApproval: async (request, { values }) => {
    await calls.answer(request.toolCallId, answerOf(request, values.get(principalKey)));
    return {};
  },
  claimToolCall: async ({ leaseDuration, ...request }) => {
    const leaseMs = leaseDuration && durationMs(leaseDuration);
    const { claimToken, expiresMs } = await executors.claim({ ...request, leaseMs });
    return { claimToken, leaseExpireTime: timestampFromMs(expiresMs) };
  },
  reportToolCall: async ({ toolCallId, claimToken, ...report }) => ({
    leaseExpireTime: timestampFromMs(await executors.report(toolCallId, claimToken, reportOf(report))),
  }),
  writeToolCallContent: async ({ claimToken, chunk }) => {
    if (!chunk) throw invalidField("chunk", "must be set");
    return { sizeBytes: await executors.write(chunk, claimToken) };
  },
  completeToolCall: async ({ claimToken, complete, result }) => {
    if (!complete) throw invalidField("complete", "must be set");
    await executors.complete(complete.toolCallId, claimToken, { complete, result });
    return {};
  },
  listToolCalls: async ({ threadId, pageSize, pageToken }) => {
    const { calls: page, nextAfter } = await calls.list({ threadId, pageSize, after: parseAfter(pageToken) });
    return { toolCalls: page, nextPageToken: nextAfter === 0n ? "" : String(nextAfter) };
  },
});

type Reported = Pick<ReportToolCallRequest, "outputs" | "progress" | "reportSequence">;

/** What is written of the call itself is the server's to fill in. */
const reportOf = ({ outputs, progress, reportSequence }: Reported): Parameters<ExecutorCalls["report"]>[2] => {
  const { phase, completed, total, message } = progress ?? {};
  const numbers = { ...(completed !== undefined && { completed }), ...(total !== undefined && { total }) };
  return {
    outputs: outputs.map(({ stream, text }) => ({ stream, text })),
    progress: progress && { ...(phase && { phase }), ...numbers, message: message ?? "" },
    reportSequence,
  };
};

/** A page, and the place of its last call where more are behind it. */
async function waitingPage(
  { threadId, pageSize, pageToken }: { threadId: string; pageSize: number; pageToken: string },
  find: ToolCalls["approvals"],
): Promise<{ toolCalls: ToolCall[]; nextPageToken: string }> {
  const limit = clampPageSize(pageSize);
  const found = await find({ threadId, pageSize: limit + 1, after: parsePlace(pageToken) });
  const toolCalls = found.slice(0, limit);
  return { toolCalls, nextPageToken: found.length > limit ? placeOf(toolCalls.at(-1)!) : "" };
}

/** The token's name comes before the name that the caller gives: it is known, and not claimed. */
function answerOf(request: ResolveApprovalRequest, principal: string): ApprovalAnswer {
  const { decision, approvalSha256: sha256 } = request;
  if (decision !== ApprovalDecision.ALLOWED && decision !== ApprovalDecision.DENIED)
    throw invalidField("decision", "must be DECISION_ALLOWED or DECISION_DENIED");
  if (sha256.length !== 32) throw invalidField("approval_sha256", "must be the 32 bytes of the question");
  const resolvedBy = principal || cleanSummary(request.resolvedBy);
  return { decision, reason: cleanSummary(request.reason), resolvedBy, sha256 };
}

// ToolCallService over the verbs: what was recorded of a call.
import type { ServiceImpl } from "@connectrpc/connect";
import type { ResolveApprovalRequest, ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { ApprovalDecision } from "../../thread/schema.js";
import { cleanSummary } from "../../thread/summary.js";
import { clampPageSize, invalid } from "../../threads.js";
import { type ApprovalAnswer, parseAfter, parsePlace, placeOf, type ToolCalls } from "../../tool-calls.js";
import { principalKey } from "./principal.js";

export const toolCallService = (calls: ToolCalls): Partial<ServiceImpl<typeof ToolCallService>> => ({
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
  listApprovals: async ({ threadId, pageSize, pageToken }) => {
    const limit = clampPageSize(pageSize);
    const found = await calls.approvals({ threadId, pageSize: limit + 1, after: parsePlace(pageToken) });
    const page = found.slice(0, limit);
    return { toolCalls: page, nextPageToken: found.length > page.length ? placeOf(page.at(-1)!) : "" };
  },
  resolveApproval: async (request, { values }) => {
    await calls.answer(request.toolCallId, answerOf(request, values.get(principalKey)));
    return {};
  },
  listToolCalls: async ({ threadId, pageSize, pageToken }) => {
    const { calls: page, nextAfter } = await calls.list({ threadId, pageSize, after: parseAfter(pageToken) });
    return { toolCalls: page, nextPageToken: nextAfter === 0n ? "" : String(nextAfter) };
  },
});

/** The token's name comes before the name that the caller gives: it is known, and not claimed. */
function answerOf(request: ResolveApprovalRequest, principal: string): ApprovalAnswer {
  const { decision, approvalSha256: sha256 } = request;
  if (decision !== ApprovalDecision.ALLOWED && decision !== ApprovalDecision.DENIED)
    throw invalid("decision", "must be DECISION_ALLOWED or DECISION_DENIED");
  if (sha256.length !== 32) throw invalid("approval_sha256", "must be the 32 bytes of the question");
  const resolvedBy = principal || cleanSummary(request.resolvedBy);
  return { decision, reason: cleanSummary(request.reason), resolvedBy, sha256 };
}

// ToolCallService over the verbs: what was recorded of a call.
import type { ServiceImpl } from "@connectrpc/connect";
import type { ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { parseAfter, type ToolCalls } from "../../tool-calls.js";

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
  listToolCalls: async ({ threadId, pageSize, pageToken }) => {
    const { calls: page, nextAfter } = await calls.list({ threadId, pageSize, after: parseAfter(pageToken) });
    return { toolCalls: page, nextPageToken: nextAfter === 0n ? "" : String(nextAfter) };
  },
});

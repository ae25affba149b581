// ToolService over the verbs: what an agent can use.
import type { ServiceImpl } from "@connectrpc/connect";
import type { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import type { Threads } from "../../threads.js";
import type { ToolCalls } from "../../tool-calls.js";

export const toolService = (threads: Threads, calls: ToolCalls): Partial<ServiceImpl<typeof ToolService>> => ({
  listTools: async ({ threadId }) => {
    // Every thread has the same tools, but it must be one.
    if (threadId !== "") await threads.get(threadId);
    return { tools: [...calls.tools()] };
  },
});

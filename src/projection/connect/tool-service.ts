// ToolService over the verbs: what an agent can use.
import type { ServiceImpl } from "@connectrpc/connect";
import type { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import type { ToolCalls } from "../../tool-calls.js";

export const toolService = (calls: ToolCalls): Partial<ServiceImpl<typeof ToolService>> => ({
  listTools: async ({ threadId }) => ({
    tools: [...(await calls.tools(threadId))],
    mcpServers: [...(await calls.servers(threadId))],
  }),
  getToolDiscovery: ({ threadId, discoveryId }) => calls.discovery(threadId, discoveryId),
});

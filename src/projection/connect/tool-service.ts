// ToolService over the verbs: what an agent can use.
import { ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import type { ToolCalls } from "../../tool-calls.js";
import type { ToolOffers } from "../../tool-offers.js";

export const toolService = (calls: ToolCalls, offers: ToolOffers): Partial<ServiceImpl<typeof ToolService>> => ({
  listTools: async ({ threadId }) => ({
    tools: [...(await calls.tools(threadId))],
    mcpServers: [...(await calls.servers(threadId))],
  }),
  getToolDiscovery: ({ threadId, discoveryId }) => calls.discovery(threadId, discoveryId),
  async *offerTools(request, { signal }) {
    yield* offers.offer(request, signal);
    if (signal.reason instanceof ConnectError) throw signal.reason;
  },
});

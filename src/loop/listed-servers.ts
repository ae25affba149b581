// The MCP servers of a thread as the API lists them: how each stands. Looking does not ask them.
import { create } from "@bufbuild/protobuf";
import { type McpServer, McpServerSchema, McpServerState } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { timestampFromMs } from "../thread/time.js";
import type { ToolServer, ToolServerStatus } from "../tool/tool-server.js";
import type { ThreadTools, ToolSupply } from "./run-tools.js";

export const serversOfThread = ({ servers }: ToolSupply, thread: ThreadTools): readonly McpServer[] =>
  listedServers(servers.forThread(thread));

/** In order of their labels. */
export const listedServers = (servers: readonly ToolServer[]): readonly McpServer[] =>
  servers.map(listed).sort((a, b) => (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));

function listed({ label, status, offer }: ToolServer): McpServer {
  const { state, reason = "", retryAtMs, serverInfo = "" } = status;
  return create(McpServerSchema, {
    label,
    state: states[state],
    toolCount: offer?.tools.length ?? 0,
    errorMessage: cleanSummary(reason),
    ...(retryAtMs !== undefined && { retryTime: timestampFromMs(retryAtMs) }),
    serverInfo: cleanSummary(serverInfo),
  });
}

const states: Readonly<Record<ToolServerStatus["state"], McpServerState>> = {
  idle: McpServerState.IDLE,
  connecting: McpServerState.CONNECTING,
  ready: McpServerState.READY,
  down: McpServerState.DOWN,
};

// How MCP servers stand, for people: a line each. Not cut: why one cannot be had must be read to its end.
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type McpServer, McpServerState } from "../../gen/heddle/v1/tool_service_pb.js";
import { type Style, safeLine } from "./terminal.js";

/** None where there is no server. */
export function serverLines(servers: readonly McpServer[], style: Style): string[] {
  if (servers.length === 0) return [];
  return [
    "",
    style.dim("MCP SERVERS"),
    ...servers.map((server) => painted(server, `  ${safeLine(wordsOf(server))}`, style)),
  ];
}

function wordsOf({ label, state, toolCount, errorMessage, retryTime, serverInfo }: McpServer): string {
  switch (state) {
    case McpServerState.READY:
      return `${label}: ready, ${toolCount} ${toolCount === 1 ? "tool" : "tools"}${serverInfo && ` (${serverInfo})`}`;
    case McpServerState.DOWN:
      return `${label}: down, ${errorMessage || "for no known reason"}${retryWords(retryTime)}`;
    case McpServerState.CONNECTING:
      return `${label}: connecting`;
    case McpServerState.IDLE:
      return `${label}: idle, asked for its tools by the first run that needs it`;
    default:
      return `${label}: unknown`;
  }
}

/** When somebody next needs it. */
function retryWords(retryTime: Timestamp | undefined): string {
  const seconds = retryTime ? Math.ceil((timestampMs(retryTime) - Date.now()) / 1_000) : 0;
  return seconds > 0 ? `; tried again in ${seconds} s` : "";
}

const painted = ({ state }: McpServer, line: string, style: Style): string =>
  state === McpServerState.DOWN ? style.yellow(line) : line;

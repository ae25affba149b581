// Calls that run on an MCP server. The server itself is played; how it is asked, called and lost is not.
import { McpServer } from "../../../src/tool/mcp/mcp-server.js";
import { ServerLog } from "../../../src/tool/mcp/server-log.js";
import { type CallRequest, type McpSession, SessionError } from "../../../src/tool/mcp/session.js";
import type { ToolServers } from "../../../src/tool/tool-server.js";
import { calls, says } from "../agents.js";
import { type Cast, type Group, run } from "../scenario.js";
import { passes } from "../stage.js";

const found = { content: [{ type: "text", text: "3 issues\n#12 Login fails\n#15 Logout fails\n#31 No login" }] };

/** A server with one tool, which takes a while for everything. */
const offering = (callTool: McpSession["callTool"]): ToolServers => {
  const search = { name: "search", title: "Search issues", inputSchema: { type: "object" } };
  const server = new McpServer({
    settings: { label: "github", policy: "allow", startTimeoutMs: 30_000, idleTimeoutMs: 60_000, timeoutMs: 600_000 },
    open: async (_, signal) => {
      await passes(300, signal);
      return {
        serverInfo: "GitHub 1.0",
        hasTools: true,
        listTools: async () => ({ tools: [search], nextCursor: undefined }),
        callTool,
        close: async () => {},
      };
    },
    log: new ServerLog("github", () => {}),
    clean: (text) => text,
    onChange: () => {},
  });
  return { forThread: () => [server] };
};

const down: ToolServers = {
  forThread: () => [
    new McpServer({
      settings: { label: "github", policy: "allow", startTimeoutMs: 30_000, idleTimeoutMs: 60_000, timeoutMs: 600_000 },
      open: async () => {
        throw new SessionError(
          { kind: "unreachable", code: "ECONNREFUSED" },
          "example.com cannot be reached (ECONNREFUSED)",
        );
      },
      log: new ServerLog("github", () => {}),
      clean: (text) => text,
      onChange: () => {},
    }),
  ],
};

const searching: Cast = {
  text: "Which issues are about the login?",
  replies: [calls({ name: "mcp__github__search", input: { query: "login" } }), says("That is what I found.")],
};

async function pages({ signal, onProgress }: CallRequest): Promise<typeof found> {
  for (const page of [1, 2]) {
    await passes(700, signal);
    onProgress({ progress: page, total: 2, message: `Page ${page}` });
  }
  await passes(200, signal);
  return found;
}

async function dies({ signal }: CallRequest): Promise<never> {
  await passes(900, signal);
  throw new SessionError({ kind: "lost" }, "its process has ended with code 1");
}

export const mcp: Group = {
  title: "Tools of MCP servers",
  scenarios: [
    {
      name: "mcp-call",
      title: "A call on an MCP server",
      sentence: "The run that needs the server asks it for its tools first. The call is like any other.",
      play: run({ ...searching, servers: offering(pages) }),
    },
    {
      name: "mcp-lost",
      title: "An MCP server dies in a call",
      sentence: "Whether the call had an effect is not known: it is interrupted, and never sent again by itself.",
      play: run({ ...searching, servers: offering(dies) }),
    },
    {
      name: "mcp-down",
      title: "An MCP server that is down",
      sentence: "Its tools are not there, and the run goes on without them.",
      play: run({ ...searching, replies: [says("I cannot look at the issues now.")], servers: down }),
    },
  ],
};

// MCP servers as tools meet them, without a Heddle around: connected to, asked, and let go after each test.
import { afterEach, vi } from "vitest";
import { McpServers } from "../../../src/tool/mcp/mcp-servers.js";
import { defaultLimits, type McpSettings, type Place, type ServerSettings } from "../../../src/tool/mcp/settings.js";
import type { ToolContext, ToolDefinition, ToolOutcome } from "../../../src/tool/tool.js";
import { ToolFailure } from "../../../src/tool/tool.js";
import type { ToolServer } from "../../../src/tool/tool-server.js";

export interface Known {
  readonly servers: McpServers;
  readonly server: ToolServer;
  /** What was logged: level, message, facts. */
  readonly log: { level: string; message: string; facts: Record<string, unknown> }[];
  tool(name: string): Promise<ToolDefinition>;
  call(name: string, input?: object, context?: Partial<ToolContext>): Promise<ToolOutcome<unknown>>;
}

export const program = ({
  command,
  args,
  env = {},
}: {
  command: string;
  args: readonly string[];
  env?: object;
}): Place => ({
  kind: "program",
  command,
  args,
  env: env as Record<string, string>,
  cwd: process.cwd(),
});

export const address = (url: string, headers: Record<string, string> = {}): Place => ({
  kind: "address",
  url,
  headers,
});

/** Makes servers that are gone after each test, with all that they started. */
export function useServers(): (place: Place, settings?: Partial<ServerSettings>) => Known {
  const made: McpServers[] = [];
  afterEach(async () => {
    await Promise.all(made.splice(0).map((servers) => servers.close()));
  });
  return (place, settings = {}) => {
    const all: McpSettings = {
      servers: [{ ...defaultLimits, label: "odd", policy: undefined, place, ...settings }],
      threadServers: false,
      allowHosts: [],
    };
    const servers = new McpServers({ ...all, version: "0" });
    made.push(servers);
    return known(servers, servers.configured[0]!);
  };
}

export function known(servers: McpServers, server: ToolServer): Known {
  const log: Known["log"] = [];
  const write = (level: string) => (facts: object, message: string) =>
    void log.push({ level, message, facts: facts as Record<string, unknown> });
  const keeper = { text: (text: string) => text, hold: () => () => {} };
  servers.reportTo({ debug: write("debug"), info: write("info"), warn: write("warn") }, keeper);
  const tool = async (name: string): Promise<ToolDefinition> => {
    const { tools } = await server.discover(new AbortController().signal);
    const found = tools.find(({ origin }) => origin?.kind === "mcp" && origin.toolName === name);
    if (!found) throw new Error(`There is no ${name} among ${tools.map((each) => each.name).join(", ")}`);
    return found;
  };
  return {
    servers,
    server,
    log,
    tool,
    call: async (name, input = {}, context = {}) => (await tool(name)).run(input, callContext(context)),
  };
}

export const callContext = (more: Partial<ToolContext> = {}): ToolContext => ({
  toolCallId: "call",
  threadId: "thread",
  signal: new AbortController().signal,
  workspace: undefined,
  progress: vi.fn(),
  phase: vi.fn(),
  plan: vi.fn(),
  output: vi.fn(),
  ...more,
});

/** How a call fails. */
export async function failure(call: Promise<unknown>): Promise<ToolFailure> {
  const error: unknown = await call.then(
    () => new Error("the call did not fail"),
    (reason: unknown) => reason,
  );
  if (error instanceof ToolFailure) return error;
  throw error;
}

// heddle tools: what an agent is offered, what becomes of each call, and how what tools start is held in.
import { toJsonString } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { type McpServer, type Tool, ToolSchema } from "../../gen/heddle/v1/tool_service_pb.js";
import { loadConfig } from "../config.js";
import { endingOf } from "./exit.js";
import { Failure } from "./failure.js";
import { defaultServer, namedServer, serverOf, serverUrl, tokenOf, usualDataDir } from "./find-server.js";
import type { Io } from "./io.js";
import { catchOthers } from "./others.js";
import type { Context } from "./run.js";
import type { ServerPlace } from "./server-clients.js";
import { styleFor } from "./terminal.js";
import { serverLines } from "./tools-servers.js";
import { toolsTable } from "./tools-table.js";

interface ToolsFlags {
  readonly json: boolean;
  readonly connect: boolean;
  readonly workspace?: string;
  readonly config?: string;
  readonly server?: string;
  readonly token?: string;
}

/** The answer of a server must be there by then. */
const timeoutMs = 30_000;

const help = `
POLICY says what becomes of a call: allow (it runs), ask (it waits for a person's yes) or deny (it never runs).
Asks the server that holds the data directory. Where there is none, and with --workspace or --config, it says what
"heddle serve" would offer with these settings: no server is started, and no data is touched. MCP servers are asked by the
first run that needs them: until then they are idle, and their tools not known. --connect asks those of the settings now.

Examples:
  $ heddle tools
  $ heddle tools --workspace . --config heddle.json
  $ heddle tools --config heddle.json --connect
  $ heddle tools --json --server ${defaultServer} | jq -r 'select(.policy == "TOOL_POLICY_ASK").name'`;

export function addTools(program: Command, context: Context): void {
  program
    .command("tools")
    .summary("list the tools that agents are offered")
    .description(
      "Lists the tools: name, title, kind, source and policy, how MCP servers stand, and which isolation is in force.",
    )
    .option("--json", "print each tool as one line of JSON (proto3 JSON of Tool)", false)
    .option("--workspace <dir>", "the directory that the agent would work in (default: none)")
    .option("--config <file>", "a JSON file with settings")
    .option("--connect", "also ask the MCP servers of the settings: they are started for it, and ended", false)
    .addOption(
      new Option("--server <url>", "ask this server (default: HEDDLE_SERVER, else the one that holds .heddle)")
        .argParser(serverUrl)
        .conflicts(["workspace", "config", "connect"]),
    )
    .option("--token <token>", "the server's bearer token (default: HEDDLE_TOKEN)")
    .addHelpText("after", help)
    .action(context.action((flags: ToolsFlags) => tools(context, flags)));
}

async function tools({ io, signal }: Context, flags: ToolsFlags): Promise<void> {
  const place = await placeOf(io, flags);
  try {
    const listed = place ? await toolsOf(place, signal) : await untilAborted(ownTools(io, flags, signal), signal);
    const style = styleFor(io, "stdout");
    const lines = flags.json
      ? jsonOf(listed.tools)
      : [...toolsTable(listed.tools, style, io.stdout.columns), ...serverLines(listed.mcpServers, style)];
    for (const text of lines) await io.stdout.write(`${text}\n`);
  } catch (reason) {
    // What a library makes of our own abort is not the reason: the interruption is.
    throw new Failure(endingOf(signal.aborted ? signal.reason : reason, place?.url()), reason);
  }
}

/** Undefined: no server is asked. Settings of the command line are a question about them, whoever serves elsewhere. */
async function placeOf(io: Io, flags: ToolsFlags): Promise<ServerPlace | undefined> {
  const settings = (["workspace", "config", "connect"] as const).filter((name) => flags[name]);
  const named = namedServer(
    io,
    flags,
    settings.map((name) => `--${name}`),
  );
  if (named !== undefined || settings.length > 0) return named;
  return serverOf(usualDataDir(io), tokenOf(io, flags.token));
}

interface Listed {
  readonly tools: readonly Tool[];
  readonly mcpServers: readonly McpServer[];
}

async function toolsOf(place: ServerPlace, signal: AbortSignal): Promise<Listed> {
  const { openClients } = await import("./server-clients.js");
  const clients = openClients(place);
  try {
    return await clients.tools().listTools({}, { signal, timeoutMs });
  } finally {
    clients.close();
  }
}

/** What a server would offer that was started with these settings. */
async function ownTools(io: Io, flags: ToolsFlags, signal: AbortSignal): Promise<Listed> {
  const { workspace, config, json, connect } = flags;
  const env = { ...io.env, HEDDLE_TOKEN: io.env["HEDDLE_TOKEN"] || undefined };
  const { agent } = loadConfig({ flags: { workspace, config }, env });
  const { listTools } = await import("../compose.js");
  // Modules of the operator are loaded, and may print: standard output holds the list alone.
  const others = catchOthers(io);
  try {
    const listed = await listTools(agent, { connect, signal });
    if (agent.workspace === undefined && !json) await io.stderr.write(noWorkspaceHint);
    return listed;
  } finally {
    others.stop();
  }
}

const noWorkspaceHint =
  "There is no workspace: tools for files and commands are not offered. Give --workspace DIR to see them.\n";

const jsonOf = (listed: readonly Tool[]): string[] => listed.map((tool) => toJsonString(ToolSchema, tool));

/** A module that takes long to load must not hold up Ctrl-C. */
const untilAborted = <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });

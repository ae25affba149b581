// Builds what runs agents from the configuration: the models, the tools and the runs. With compose.ts the only file that names
// concrete models and tools.
import { type AgentConfig, packageVersion } from "./config.js";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import { listedServers } from "./loop/listed-servers.js";
import { toolsOfThread } from "./loop/listed-tools.js";
import { RecordedProcesses } from "./loop/process-journal.js";
import { type ToolSupply, threadTools } from "./loop/run-tools.js";
import { Runs } from "./loop/runs.js";
import { ChildRuns } from "./loop/sub-runs.js";
import { demoModel } from "./model/demo.js";
import type { Model } from "./model/model.js";
import { scriptedModel } from "./model/scripted.js";
import { readScript } from "./model/scripted-file.js";
import type { Recorder } from "./recorder/recorder.js";
import { HeddleError } from "./thread/errors.js";
import type { McpServer, Tool } from "./thread/schema.js";
import { builtinNames, builtinTools } from "./tool/builtin/index.js";
import { OfferedTools } from "./tool/client/offered-tools.js";
import { type CommandSettings, prepareCommands } from "./tool/command/commands.js";
import { SearchedDocuments } from "./tool/documents/searched-documents.js";
import { Interpreters } from "./tool/interpreter/interpreters.js";
import { loadToolModules } from "./tool/load-modules.js";
import { McpServers } from "./tool/mcp/mcp-servers.js";
import { mcpPrefix } from "./tool/policy.js";
import { Processes } from "./tool/process/processes.js";
import { ToolRegistry } from "./tool/registry.js";
import type { ThreadBound } from "./tool/thread-bound.js";

/** Waiting before a model is asked again for the first time. */
const firstBackoffMs = 500;

/** What must be known before the data is touched: a wrong setting should say so at once. */
export interface AgentParts extends ToolParts {
  readonly models: ReadonlyMap<string, Model>;
}

interface ToolParts {
  readonly supply: ToolSupply;
  /** What tools leave running between calls. */
  readonly bound: readonly ThreadBound[];
  readonly journal: RecordedProcesses;
  readonly subRuns: ChildRuns;
  /** What file_search looks into. */
  readonly documents: SearchedDocuments;
  readonly mcp: McpServers;
}

/** No models and no tools: for looking only. */
export function nobody(): AgentParts {
  const mcp = new McpServers({ servers: [], threadServers: false, allowHosts: [], version: packageVersion() });
  return {
    models: new Map(),
    supply: { tools: new ToolRegistry([]), servers: mcp, offered: new OfferedTools() },
    bound: [],
    journal: new RecordedProcesses(),
    subRuns: new ChildRuns(noDelegation),
    documents: new SearchedDocuments(),
    mcp,
  };
}

const noDelegation = { depth: 0, atOnce: 0, perRun: 0 };

/**
 * Rejects with `invalid_config` for a model that cannot be used, or a tool that cannot be loaded. `hidden`: absolute paths that
 * commands in a sandbox must not see.
 */
export async function loadAgent(agent: AgentConfig, hidden: readonly string[]): Promise<AgentParts> {
  const models = new Map<string, Model>();
  for (const name of [agent.model, ...agent.models]) models.set(name, await createModel(name, agent));
  return { models, ...(await loadTools(agent, hidden)) };
}

/** What `heddle serve` would offer, without a model or any data. `connect`: MCP servers are asked too, and let go again. */
export async function listTools(
  agent: AgentConfig,
  { connect, signal }: { connect: boolean; signal: AbortSignal },
): Promise<{ tools: readonly Tool[]; mcpServers: readonly McpServer[] }> {
  const { supply, mcp } = await loadTools(agent, []);
  try {
    // One that cannot be had is listed as such.
    if (connect) await Promise.allSettled(mcp.configured.map((server) => server.discover(signal)));
    signal.throwIfAborted();
    const tools = toolsOfThread(supply, threadTools("", { clientTools: [], mcpServers: [] }), agent);
    return { tools, mcpServers: listedServers(mcp.configured) };
  } finally {
    await mcp.close();
  }
}

async function loadTools(agent: AgentConfig, hidden: readonly string[]): Promise<ToolParts> {
  const journal = new RecordedProcesses();
  const subRuns = new ChildRuns(agent.delegation);
  const documents = new SearchedDocuments();
  const commands = { ...agent.commands, hidden };
  const processes = loadProcesses(agent.workspace, commands, journal);
  const { sandbox } = agent.commands;
  const interpreters = new Interpreters({ ...agent.interpreter, sandbox, workspace: agent.workspace });
  const mcp = new McpServers({ ...agent.mcp, policyNames: Object.keys(agent.policy), version: packageVersion() });
  const bound: ThreadBound[] = [interpreters, mcp, ...(processes ? [processes] : [])];
  const builtin = builtinTools({
    ...agent,
    documents,
    commands,
    interpreters,
    ...(processes && { processes }),
    ...(agent.delegation.depth > 0 && { subRuns }),
  });
  const tools = new ToolRegistry([...builtin, ...(await loadToolModules(agent.tools))]);
  checkPolicy(agent, tools);
  const supply = { tools, servers: mcp, offered: new OfferedTools() };
  return { supply, bound, journal, subRuns, documents, mcp };
}

/** They run in the workspace, as other commands do. */
const loadProcesses = (
  workspace: string | undefined,
  commands: CommandSettings,
  journal: RecordedProcesses,
): Processes | undefined =>
  workspace === undefined ? undefined : new Processes({ commands: prepareCommands(commands, workspace), journal });

/** What it says of an MCP server is the configuration's word like any other: a caller's yes does not count against it. */
function configuredPolicies({ policy, mcp }: AgentConfig): AgentConfig["policy"] {
  const ofServers = mcp.servers.flatMap((server) =>
    server.policy ? [[`${mcpPrefix(server.label)}*`, server.policy] as const] : [],
  );
  return { ...Object.fromEntries(ofServers), ...policy };
}

/** A slip in the name of a tool that is to be denied would allow it. */
function checkPolicy({ policy, mcp }: AgentConfig, registry: ToolRegistry): void {
  const known = new Set([...registry.names(), ...builtinNames]);
  const labels = mcp.servers.map(({ label }) => label);
  // What a server offers is known when it is asked, and which servers threads bring when they do.
  const isOfServer = (name: string): boolean =>
    name.startsWith("mcp__") && (mcp.threadServers || labels.some((label) => name.startsWith(mcpPrefix(label))));
  const unknown = Object.keys(policy).find((name) => !known.has(name) && !isOfServer(name));
  if (unknown === undefined) return;
  const rest = unknown.startsWith("mcp__")
    ? `there is no MCP server for ${unknown}; the names of their tools begin with ${labels.map(mcpPrefix).join(", ") || "nothing: there is none"}`
    : `there is no tool ${unknown}; the tools are ${[...known].sort().join(", ")}`;
  throw new HeddleError("invalid_config", `agent.policy: ${rest}`, { detail: { field: `agent.policy.${unknown}` } });
}

export function createRuns(
  agent: AgentConfig,
  { models, supply }: Pick<AgentParts, "models" | "supply">,
  around: { log: EventLog; recorder: Recorder; onError: (error: unknown, key: ThreadKey) => void },
): Runs {
  return new Runs({
    ...around,
    supply,
    modelFor: (name) => {
      const model = models.get(name);
      if (model) return model;
      throw new HeddleError(
        "model_not_offered",
        `The model ${JSON.stringify(name.slice(0, 100))} is not offered here: leave it empty, or choose one of ${[...models.keys()].join(", ")}`,
        { detail: { model: name.slice(0, 100) } },
      );
    },
    policy: { ...agent, policy: configuredPolicies(agent) },
    defaults: agent,
    limits: { ...agent, firstBackoffMs },
    delegation: agent.delegation,
    workspace: agent.workspace,
    afterRestart: agent.afterRestart,
  });
}

/** A provider's SDK is loaded only where it is used: it takes as long as the rest of a start. */
async function createModel(choice: string, { providers }: AgentConfig): Promise<Model> {
  const colon = choice.indexOf(":");
  const provider = colon < 0 ? choice : choice.slice(0, colon);
  const name = colon < 0 ? "" : choice.slice(colon + 1);
  switch (provider) {
    case "demo":
      return demoModel();
    case "scripted":
      return scriptedModel(readScript(named(choice, name, "the path of a script")));
    case "openai": {
      const { openaiModel } = await import("./model/openai.js");
      return openaiModel({ name: named(choice, name, "a model"), ...access(choice, providers.openai, "OPENAI") });
    }
    case "anthropic": {
      const { anthropicModel } = await import("./model/anthropic.js");
      return anthropicModel({
        name: named(choice, name, "a model"),
        ...access(choice, providers.anthropic, "ANTHROPIC"),
      });
    }
    default:
      throw wrong(`${choice} is no model: use openai:NAME, anthropic:NAME, scripted:FILE or demo:demo`);
  }
}

function named(choice: string, name: string, what: string): string {
  if (name === "") throw wrong(`${choice} needs ${what} behind the colon`);
  return name;
}

/** A local server may do without a key; the provider itself does not. */
function access(
  choice: string,
  { apiKey, baseUrl }: AgentConfig["providers"]["openai"],
  prefix: string,
): { apiKey: string | undefined; baseUrl?: string } {
  if (apiKey === undefined && baseUrl === undefined)
    throw wrong(
      `${choice} needs a key: set ${prefix}_API_KEY (or ${prefix}_BASE_URL, for a server that asks for none)`,
    );
  return { apiKey, ...(baseUrl !== undefined && { baseUrl }) };
}

const wrong = (message: string): HeddleError =>
  new HeddleError("invalid_config", `agent.model: ${message}`, { detail: { field: "agent.model" } });

// What an agent of Heddle's own is given: its model, its workspace, its tools and its limits. The keys of providers come from
// the variables that their own tools read; they stand in no file and in no message.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type CommandsConfig, commandsOf, defaultCommands } from "./commands.js";
import { type DelegationConfig, defaultDelegation, delegationOf } from "./delegation.js";
import { defaultInterpreter, type InterpreterConfig, interpreterOf } from "./interpreter.js";
import { defaultMcp, type McpConfig, mcpOf } from "./mcp.js";
import type { ApprovalMode, RestartPolicy } from "./schema.js";
import type { Environment, Layer, Problem } from "./sources.js";
import { defaultWeb, type WebConfig, webOf } from "./web.js";

export interface AgentConfig {
  /** `provider:name`, for runs whose caller chooses none. */
  readonly model: string;
  /** Further models that callers may choose. */
  readonly models: readonly string[];
  /** For runs whose caller gives none. Empty: nothing in particular. */
  readonly instructions: string;
  /** The directory that the agent works in, absolute; it was there when the configuration was read. Undefined: none. */
  readonly workspace: string | undefined;
  /** ES modules with further tools, as absolute paths. */
  readonly tools: readonly string[];
  /** How often a run may ask the model. */
  readonly maxSteps: number;
  /** Tokens after which a run does not ask again. 0: no limit. */
  readonly maxTokens: number;
  /** How long a run may take. */
  readonly timeLimitMs: number;
  /** How long a call may take whose tool says nothing else. */
  readonly toolTimeoutMs: number;
  /** A tool that says nothing for so long gets a "still running". */
  readonly quietMs: number;
  /** How long a tool that was called off may take to stop. */
  readonly stopGraceMs: number;
  /** The workspace may be changed, and commands run in it, without asking. */
  readonly trusted: boolean;
  /** By tool name, instead of the tool's own. */
  readonly policy: Readonly<Record<string, "allow" | "ask" | "deny">>;
  /** `deny`: nobody answers here, and calls that need a yes are denied at once. */
  readonly approvals: ApprovalMode;
  /** How long a call waits for a yes. */
  readonly approvalTimeoutMs: number;
  /** How long a call waits for a client to take it. */
  readonly claimTimeoutMs: number;
  readonly afterRestart: RestartPolicy;
  /** What web_search and web_fetch may do. */
  readonly web: WebConfig;
  /** How commands are held in, and what they are given. */
  readonly commands: CommandsConfig;
  /** What code_interpreter may use. */
  readonly interpreter: InterpreterConfig;
  /** How far delegate_task may go. */
  readonly delegation: DelegationConfig;
  /** Servers that offer tools of their own. */
  readonly mcp: McpConfig;
  readonly providers: { readonly openai: ProviderAccess; readonly anthropic: ProviderAccess };
}

/** Undefined: not set; the provider's own address, no key. */
export interface ProviderAccess {
  /** Secret. */
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
}

const unset: ProviderAccess = { apiKey: undefined, baseUrl: undefined };

export const defaultAgent: AgentConfig = {
  model: "demo:demo",
  models: [],
  instructions: "",
  workspace: undefined,
  tools: [],
  maxSteps: 50,
  maxTokens: 0,
  timeLimitMs: 1_800_000,
  toolTimeoutMs: 120_000,
  quietMs: 5_000,
  stopGraceMs: 2_000,
  trusted: false,
  policy: {},
  approvals: "ask",
  approvalTimeoutMs: 3_600_000,
  claimTimeoutMs: 3_600_000,
  afterRestart: "continue",
  web: defaultWeb,
  commands: defaultCommands,
  interpreter: defaultInterpreter,
  delegation: defaultDelegation,
  mcp: defaultMcp,
  providers: { openai: unset, anthropic: unset },
};

/** Key by key: a flag for the model leaves the file's limits alone. Layers come from the weakest to the strongest. */
export function agentOf(layers: readonly Layer[], env: Environment, problems: Problem[]): AgentConfig {
  const given = layers.flatMap(({ values }) =>
    Object.entries(values.agent ?? {}).filter(([, value]) => value !== undefined),
  );
  return {
    ...defaultAgent,
    ...Object.fromEntries(given),
    workspace: workspaceOf(layers, problems),
    web: webOf(layers, env, problems),
    commands: commandsOf(layers),
    interpreter: interpreterOf(layers),
    delegation: delegationOf(layers),
    mcp: mcpOf(layers, env, problems),
    providers: { openai: providerOf("OPENAI", env, problems), anthropic: providerOf("ANTHROPIC", env, problems) },
  };
}

function workspaceOf(layers: readonly Layer[], problems: Problem[]): string | undefined {
  const layer = layers.findLast(({ values }) => values.agent?.workspace !== undefined);
  if (layer === undefined) return undefined;
  const path = resolve(layer.values.agent!.workspace!);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return path;
  const rule = found === undefined ? `there is no directory ${path}` : `${path} is not a directory`;
  const text = `${layer.name(["agent", "workspace"])}: ${rule}; make it, or name another`;
  problems.push({ field: "agent.workspace", text, isFlag: layer.isFlags === true });
  return path;
}

const keyRule = "must be printable ASCII without spaces; unset it where it is not used";
const urlRule = "must be a URL such as http://127.0.0.1:11434/v1; unset it where it is not used";

function providerOf(name: "OPENAI" | "ANTHROPIC", env: Environment, problems: Problem[]): ProviderAccess {
  const read = (variable: string, isRight: (value: string) => boolean, rule: string): string | undefined => {
    const value = env[variable] || undefined;
    if (value !== undefined && !isRight(value)) problems.push({ field: "", text: `${variable} ${rule}` });
    return value;
  };
  return {
    apiKey: read(`${name}_API_KEY`, (value) => /^[\x21-\x7e]+$/.test(value), keyRule),
    baseUrl: read(`${name}_BASE_URL`, isHttpUrl, urlRule),
  };
}

const isHttpUrl = (value: string): boolean => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);

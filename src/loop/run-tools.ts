// The tools of one run: those that every run has, those of MCP servers, and those that clients run. They are fixed while the model
// answers, and may change between two replies: a server's list has changed, an executor has come or gone.
import { create } from "@bufbuild/protobuf";
import {
  type ClientTool,
  ClientToolSchema,
  type RunOptions,
  type ThreadDocument,
  ToolChoiceMode,
} from "../thread/schema.js";
import { clientTool } from "../tool/client/client-tool.js";
import type { OfferedTools } from "../tool/client/offered-tools.js";
import { mcpPrefix } from "../tool/policy.js";
import { ToolRegistry } from "../tool/registry.js";
import type { ToolDefinition } from "../tool/tool.js";
import type { ThreadServer, ToolOffer, ToolServer, ToolServers } from "../tool/tool-server.js";
import type { CalledAs } from "./conversation-fold.js";
import { isNamed } from "./tool-names.js";

/** Where tools come from. */
export interface ToolSupply {
  /** Those that every run has. */
  readonly tools: ToolRegistry;
  readonly servers: ToolServers;
  /** Of connected executors. */
  readonly offered: OfferedTools;
}

/** What a thread brings along. */
export interface ThreadTools {
  readonly threadId: string;
  /** Declared with it; clients run them. */
  readonly declared: readonly ClientTool[];
  readonly servers: readonly ThreadServer[];
}

export const threadTools = (
  threadId: string,
  { clientTools, mcpServers }: Pick<ThreadDocument, "clientTools" | "mcpServers">,
): ThreadTools => ({ threadId, declared: clientTools, servers: mcpServers });

/** Whose tools they are, and which of them may be used. */
interface RunToolsFor {
  readonly thread: ThreadTools;
  readonly options: RunOptions;
  /** Levels of threads that tasks may still be delegated to. */
  readonly levelsBelow: number;
}

export class RunTools {
  readonly #supply: ToolSupply;
  readonly #for: RunToolsFor;
  readonly #declared: readonly ToolDefinition[];
  readonly #offers = new Map<string, ToolOffer>();
  #registry: ToolRegistry | undefined;
  /** What executors offered when the registry was made. */
  #fromClients: readonly ToolDefinition[] = [];
  #hasAsked = false;

  constructor(supply: ToolSupply, runs: RunToolsFor) {
    this.#supply = supply;
    this.#for = runs;
    const declared = [...runs.thread.declared, ...runs.options.clientTools];
    this.#declared = declared.map((tool) => clientTool(tool, ""));
  }

  /** As they are now. */
  get registry(): ToolRegistry {
    this.#registry ??= this.#compose();
    return this.#registry;
  }

  /**
   * The tool of a call that was there before: it runs where it was called, and nowhere else. A client's may be away for a while; its
   * call waits for it.
   */
  calledAs(name: string, { title, isClients }: CalledAs): ToolDefinition | undefined {
    const tool = this.registry.get(name);
    if ((tool?.origin?.kind === "client") === isClients) return tool;
    return isClients ? clientTool(create(ClientToolSchema, { name, title }), "") : this.#supply.tools.get(name);
  }

  /** Servers whose tools the run could use. */
  servers(): readonly ToolServer[] {
    if (this.#for.options.toolChoice?.mode === ToolChoiceMode.NONE) return [];
    const isWanted = ({ label }: ToolServer): boolean =>
      this.#allowsAll || this.#for.options.allowedTools.some((name) => name.startsWith(mcpPrefix(label)));
    return this.#supply.servers.forThread(this.#for.thread).filter(isWanted);
  }

  /** What is used of a server. */
  offerOf({ label }: ToolServer): ToolOffer | undefined {
    return this.#offers.get(label);
  }

  use({ label }: ToolServer, offer: ToolOffer): void {
    this.#offers.set(label, offer);
    this.#registry = undefined;
  }

  /** True once: the first time asks every server, later ones only look at what has changed. */
  takeFirst(): boolean {
    const isFirst = !this.#hasAsked;
    this.#hasAsked = true;
    return isFirst;
  }

  /** Takes up what executors offer now. */
  refresh(): void {
    const now = this.#offeredNow();
    const isSame = now.length === this.#fromClients.length && now.every((tool, at) => tool === this.#fromClients[at]);
    if (!isSame) this.#registry = undefined;
  }

  #offeredNow(): ToolDefinition[] {
    return [...this.#supply.offered.forThread(this.#for.thread.threadId).values()];
  }

  /** What clients run replaces what the server has under the same name: it is nearer to the user. */
  #compose(): ToolRegistry {
    this.#fromClients = this.#offeredNow();
    const remote = [...this.#offers.values()].flatMap(({ tools }) => tools);
    const fromClients = [...this.#declared, ...this.#fromClients];
    const { tools } = this.#supply;
    const all =
      remote.length + fromClients.length === 0
        ? tools.list()
        : [...new Map([...tools.list(), ...remote, ...fromClients].map((tool) => [tool.name, tool])).values()];
    const allowed = all.filter((tool) => this.#isAllowed(tool));
    return all === tools.list() && allowed.length === all.length ? tools : new ToolRegistry(allowed);
  }

  /** At the deepest level nothing can be delegated any more. */
  #isAllowed({ name, delegates }: ToolDefinition): boolean {
    const { options, levelsBelow } = this.#for;
    return (this.#allowsAll || isNamed(options.allowedTools, name)) && (levelsBelow > 0 || !delegates);
  }

  get #allowsAll(): boolean {
    const { allowedTools, onlyAllowedTools } = this.#for.options;
    return allowedTools.length === 0 && !onlyAllowedTools;
  }
}

/** Whether a run of a thread might use a tool of this name: what an MCP server offers is known only when it is asked. */
export const mayBeTool = (name: string, { tools, offered }: ToolSupply, { threadId, declared }: ThreadTools): boolean =>
  tools.get(name) !== undefined ||
  name.startsWith("mcp__") ||
  declared.some((tool) => tool.name === name) ||
  offered.forThread(threadId).has(name);

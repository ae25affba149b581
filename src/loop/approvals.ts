// What the runs of this server know about approvals: whose calls need one, how long a question waits, and the clocks that end
// those that nobody answers.
import type { ThreadKey } from "../log/event-log.js";
import { type LeaseClock, LeaseClocks } from "../recorder/lease-clocks.js";
import { configuredPolicy, type PolicySettings, policyOf } from "../tool/policy.js";
import type { Policy, ToolDefinition } from "../tool/tool.js";

export interface ApprovalSettings extends PolicySettings {
  /** How long a question waits. */
  readonly approvalTimeoutMs: number;
}

export class Approvals {
  readonly #settings: ApprovalSettings;
  readonly #clocks: LeaseClocks;
  readonly #expire: (key: ThreadKey, toolCallId: string) => Promise<void>;

  #isDisposed = false;

  /** `expire` records that nobody answered. Tried again until it resolves. */
  constructor(
    settings: ApprovalSettings,
    expire: (key: ThreadKey, toolCallId: string) => Promise<void>,
    clock?: LeaseClock,
  ) {
    this.#settings = settings;
    this.#expire = expire;
    this.#clocks = new LeaseClocks(clock);
  }

  get settings(): ApprovalSettings {
    return this.#settings;
  }

  get timeoutMs(): number {
    return this.#settings.approvalTimeoutMs;
  }

  policyOf(tool: ToolDefinition): Policy {
    return policyOf(tool, this.#settings);
  }

  /** Whether the configuration says anything of the tool. */
  isConfigured(tool: ToolDefinition): boolean {
    return configuredPolicy(tool, this.#settings) !== undefined;
  }

  /** Why a person is asked. */
  reasonFor(tool: ToolDefinition): string {
    const { name, kind, origin } = tool;
    if (this.isConfigured(tool)) return `The configuration asks before ${name}`;
    if (origin?.kind === "mcp") return `Policy asks before this tool of the MCP server ${origin.serverLabel} is used`;
    return `Policy asks before ${kindWords[kind]}`;
  }

  startClock(key: ThreadKey, toolCallId: string, expiresMs: number): void {
    if (this.#isDisposed) return;
    const leaseMs = Math.min(Math.max(expiresMs - Date.now(), 0), longestTimerMs);
    this.#clocks.start(toolCallId, leaseMs, () => this.#expire(key, toolCallId));
  }

  stopClock(toolCallId: string): void {
    this.#clocks.stop(toolCallId);
  }

  /** The questions stay; the next process starts their clocks. */
  dispose(): void {
    this.#isDisposed = true;
    this.#clocks.dispose();
  }
}

/** What Node's timers take. */
const longestTimerMs = 2 ** 31 - 1;

const kindWords: Readonly<Record<ToolDefinition["kind"], string>> = {
  read: "it reads",
  search: "it searches",
  think: "it thinks",
  other: "this tool is used",
  edit: "files are changed",
  move: "files are moved",
  delete: "files are deleted",
  execute: "commands are run",
  fetch: "the web is reached",
};

// What is known of MCP servers before anybody has asked them anything.

import type { Policy } from "../tool.js";
import type { Network } from "../web/settings.js";
import type { Program } from "./stdio-process.js";

/** Where a server is. */
export type Place =
  | ({ readonly kind: "program" } & Program)
  | {
      readonly kind: "address";
      readonly url: string;
      /** Secret. */
      readonly headers: Readonly<Record<string, string>>;
    };

export interface ServerLimits {
  /** Until a server is connected to and has listed its tools. */
  readonly startTimeoutMs: number;
  /** Without a word of progress for so long, a call is given up. */
  readonly idleTimeoutMs: number;
  /** The longest that a call may take. */
  readonly timeoutMs: number;
}

export interface ServerSettings extends ServerLimits {
  readonly label: string;
  readonly place: Place;
  /** For all of its tools, before what they say of themselves. */
  readonly policy: Policy | undefined;
}

export interface McpSettings {
  readonly servers: readonly ServerSettings[];
  /** Whether threads may bring servers of their own. */
  readonly threadServers: boolean;
  /** `host:port` of single hosts that may be private. */
  readonly allowHosts: readonly string[];
  /** Names that the configuration has a policy for. */
  readonly policyNames?: readonly string[];
  readonly network?: Network;
}

export const defaultLimits: ServerLimits = { startTimeoutMs: 30_000, idleTimeoutMs: 120_000, timeoutMs: 600_000 };

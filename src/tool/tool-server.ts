// The port to servers elsewhere that offer tools of their own (MCP). The loop asks them what they offer and records it; how they are
// reached is their own business (mcp/).
import type { ToolDefinition } from "./tool.js";

/** What a server offers, as it said once. A value: a changed list is another offer. */
export interface ToolOffer {
  /** Each calls the server it comes from, whatever that offers later. */
  readonly tools: readonly ToolDefinition[];
  /** The list as the server gave it: JSON text. */
  readonly json: string;
  /** Of `json`: offers that are the same have the same. */
  readonly sha256: Uint8Array;
}

/** How a server stands, for people. */
export interface ToolServerStatus {
  readonly state: "idle" | "connecting" | "ready" | "down";
  /** Why it cannot be had: one line. Undefined unless it is down. */
  readonly reason?: string;
  /** When it may be tried again, in milliseconds since the epoch. Undefined unless it is down. */
  readonly retryAtMs?: number;
  /** What it calls itself, and its version. Undefined until it is known. */
  readonly serverInfo?: string;
}

export interface ToolServer {
  /** Its name in the configuration or in its thread. */
  readonly label: string;
  readonly status: ToolServerStatus;
  /** What it offers, as far as is known. Undefined: it has not been asked, or cannot be had. Replaced when its list changes. */
  readonly offer: ToolOffer | undefined;
  /**
   * Asks it, connecting first where needed; whoever asks at the same time shares the answer. Bounded in time by itself. Rejects
   * with a ToolFailure whose message is for people, at once when it is known to be down and not to be tried again yet.
   */
  discover(signal: AbortSignal): Promise<ToolOffer>;
}

/** A server that a thread brought along, as its document keeps it. */
export interface ThreadServer {
  readonly label: string;
  readonly url: string;
  /** It was given headers, which are held in memory only. */
  readonly hadHeaders: boolean;
}

/** A thread, as far as it decides which servers there are. */
export interface ThreadWithServers {
  readonly threadId: string;
  readonly servers: readonly ThreadServer[];
}

export interface ToolServers {
  /** The configuration's, then the thread's own. */
  forThread(thread: ThreadWithServers): readonly ToolServer[];
}

export const noToolServers: ToolServers = { forThread: () => [] };

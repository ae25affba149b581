// What an executor tells whoever started it.
import type { ConnectError } from "@connectrpc/connect";
import type { ToolCallOutcome } from "../thread/schema.js";

/** A call, for people. */
export interface ShownCall {
  readonly toolCallId: string;
  readonly threadId: string;
  readonly toolName: string;
  readonly title: string;
  /** What is about to happen: one line. */
  readonly summary: string;
}

export type ExecutorEvent =
  /** Agents may call the tools from now on. */
  | { readonly kind: "offered" }
  /** The connection is gone, and tried again. */
  | { readonly kind: "away"; readonly reason: ConnectError }
  | { readonly kind: "started"; readonly call: ShownCall }
  | {
      readonly kind: "ended";
      readonly call: ShownCall;
      readonly outcome: ToolCallOutcome;
      readonly summary: string;
      readonly durationMs: number;
    }
  /** It needs a yes, and nobody can be asked here. */
  | { readonly kind: "unanswered"; readonly call: ShownCall }
  /** It was called off before it began, for the reason. */
  | { readonly kind: "refused"; readonly call: ShownCall; readonly reason: string }
  /** Something went wrong that is neither a tool's fault nor the server's absence. */
  | { readonly kind: "problem"; readonly message: string };

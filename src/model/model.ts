// The port to whoever answers: a model that is asked with a conversation and streams its reply. One file a model beside it.
//
// What a model promises:
// M1 Events come as the provider sends them: nothing is held back until the reply is whole.
// M2 Pieces of a tool call carry the call's place in the reply (`index`); pieces of several calls may interleave. A name may
//    come in pieces, too; once it is a tool's whole name and another call has begun, it is taken as it is.
// M3 The last event is `end`. A stream that ends without it, or breaks, throws a ModelError.
// M4 Every failure is a ModelError, whose message is one line for a person and never holds a key.
// M5 When the signal is aborted the stream ends soon, by throwing the signal's reason or a ModelError. A stream that has ended listens to
//    it no more: one signal serves all questions of a run.

import type { MessageImage } from "../thread/images.js";

export interface Model {
  /** As people choose it: `provider:name`. */
  readonly name: string;
  /** What it can be asked for besides text. Undefined: nothing. */
  readonly formats?: readonly ReplyFormat["type"][];
  /** It can be asked to keep from words that it has used. */
  readonly takesPenalties?: boolean;
  /** Asks once. Nothing is retried inside. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

export interface ModelRequest {
  /** What the operator wants of the agent. Empty: nothing in particular. */
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** The longest reply. Undefined: the provider's own limit. */
  readonly maxOutputTokens?: number;
  /** How freely it chooses, as the provider counts it. Undefined: as the provider likes. */
  readonly temperature?: number;
  readonly topP?: number;
  /** How much it is kept from words that it has used, -2 to 2. Undefined: not at all. Contract: the model takes penalties. */
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** The form of the reply. Undefined: text. Contract: one of the model's `formats`. */
  readonly format?: ReplyFormat;
}

/** A reply that is JSON: any object, or one that a schema describes. */
export type ReplyFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly description: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict: boolean | undefined;
    };

/** `named` asks for one tool; `required` for any. */
export type ToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "named"; readonly name: string };

export type ModelMessage =
  /** Its text may be empty where there are images. */
  | { readonly role: "user"; readonly text: string; readonly images?: readonly MessageImage[] }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ModelCall[] }
  /** One for each call of the assistant's message before it, in the same order. */
  | { readonly role: "tool"; readonly callId: string; readonly text: string; readonly isError: boolean };

export interface ModelCall {
  /** Heddle's own id (T3), never the provider's. */
  readonly id: string;
  readonly name: string;
  /** As the model wrote it. It may be broken JSON: adapters that must send an object send one that holds the text. */
  readonly input: string;
}

export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** What the model says when it refuses to answer. */
  | { readonly type: "refusal"; readonly text: string }
  /** A piece of a call. Id, name and input come in any order, in one piece or in many. */
  | {
      readonly type: "tool_call";
      readonly index: number;
      readonly id?: string;
      readonly name?: string;
      readonly input?: string;
    }
  /** The input of a call is complete, where the provider says so before the end of the reply. */
  | { readonly type: "tool_call_end"; readonly index: number }
  /** So far in this reply; a later one replaces it. */
  | { readonly type: "usage"; readonly usage: ModelUsage }
  | { readonly type: "end"; readonly reason: EndReason; readonly providerReason: string };

/** `truncated`: the reply ran into its length limit. `filtered`: the provider cut it off. */
export type EndReason = "stop" | "tool_calls" | "truncated" | "filtered";

export interface ModelUsage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/**
 * `rate_limited`, `unavailable` (5xx, no connection) and `broken` (the stream ended in the middle) may pass; the others will not:
 * `unauthorized`, `rejected` (the provider does not take the request), `invalid_reply`, `unexpected_request` (a script has no
 * answer).
 */
export type ModelErrorKind =
  | "rate_limited"
  | "unavailable"
  | "broken"
  | "unauthorized"
  | "rejected"
  | "invalid_reply"
  | "unexpected_request";

export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  /** How long the provider asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options: { retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ModelError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export const mayPass = (kind: ModelErrorKind): boolean =>
  kind === "rate_limited" || kind === "unavailable" || kind === "broken";

// What a script says: which replies a scripted model gives, and what it expects to be asked. docs/scripted-model.md explains it
// with examples; scripted-file.ts reads and checks it; scripted.ts plays it.
import type { EndReason, ModelErrorKind, ModelUsage } from "./model.js";

/** Has `turns`, or `replies` for one turn that any user message starts. */
export interface Script {
  /** What messages call the script; `readScript` sets it to the file's path. Not a key of the file. */
  readonly name?: string;
  /** For whoever reads the script. */
  readonly comment?: string;
  /** Cuts texts and inputs into pieces of this many UTF-16 units; a character is never cut in two. Missing: they come whole. */
  readonly chunk?: number;
  readonly turns?: readonly ScriptTurn[];
  readonly replies?: readonly ScriptReply[];
}

export interface ScriptTurn {
  readonly comment?: string;
  /** Which last user message this turn is for. Missing: any. The first turn that fits is played. */
  readonly user?: TextMatch;
  /** The first answers the user's message, the second the results of the first one's calls, and so on. */
  readonly replies: readonly ScriptReply[];
}

/** A text is looked for inside the other; `"*"` fits every text; `exact` fits only itself. */
export type TextMatch = string | { readonly exact: string };

/** Has `events`, or `attempts`: the second is played when the same conversation is asked again. The last one repeats. */
export interface ScriptReply extends Partial<ScriptAttempt> {
  readonly comment?: string;
  readonly expect?: ScriptExpectation;
  readonly attempts?: readonly ScriptAttempt[];
}

export interface ScriptAttempt {
  /** In place of the script's own. */
  readonly chunk?: number;
  readonly events: readonly ScriptEvent[];
}

/** What a request must hold, or it fails as `unexpected_request`. */
export interface ScriptExpectation {
  readonly lastUser?: TextMatch;
  readonly lastTool?: TextMatch;
  /** Tools that must be offered, among others. */
  readonly tools?: readonly string[];
  /** How many results the reply before this one has brought. */
  readonly toolResults?: number;
}

/** One of them each. `end`, `fail` and `hang` stand last; without any, the end is derived: calls or none. */
export type ScriptEvent =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly refusal: string }
  /** A whole call, at the next free place of the reply. `input`: an object, or raw text, which may be broken JSON. */
  | { readonly toolCall: { readonly name: string; readonly input: object | string; readonly id?: string } }
  /** A piece of a call exactly as given, never cut. `isLast`: its input is complete. */
  | { readonly piece: ScriptPiece }
  | { readonly usage: Partial<ModelUsage> }
  | { readonly delayMs: number }
  | { readonly end: EndReason }
  | { readonly fail: { readonly kind: ModelErrorKind; readonly message?: string; readonly retryAfterMs?: number } }
  /** Nothing more comes until the request is aborted. */
  | { readonly hang: true };

export interface ScriptPiece {
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  readonly input?: string;
  readonly isLast?: boolean;
}

/** Every way to fail, and what the message says where the script gives none. */
export const failureWords: Readonly<Record<ModelErrorKind, string>> = {
  rate_limited: "too many requests",
  unavailable: "the provider is not there",
  broken: "the reply ended in the middle",
  unauthorized: "the key is refused",
  rejected: "the request is refused",
  invalid_reply: "the reply makes no sense",
  unexpected_request: "this request is not expected",
};

/** The script's turns, whichever way it gives them, each with its place in the script. */
export function turnsOf(script: Script): readonly (ScriptTurn & { readonly path: string })[] {
  if (script.turns === undefined) return [{ replies: script.replies ?? [], path: "replies" }];
  return script.turns.map((turn, index) => ({ ...turn, path: `turns[${index}].replies` }));
}

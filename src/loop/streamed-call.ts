// One call while the model writes it: named, then its input piece by piece, then complete.
import { create } from "@bufbuild/protobuf";
import type { ModelEvent } from "../model/model.js";
import type { Along, LifecycleInit } from "../recorder/run-recorder.js";
import { childThreadOf, type ToolCallId } from "../thread/ids.js";
import {
  ContentRole,
  TextPurpose,
  type ToolCallCreated,
  type ToolCallInputCompleted,
  type ToolCallInputDelta,
  ToolKind,
  type ToolSource,
  ToolSourceSchema,
} from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { type CheckedInput, checkInput } from "../tool/check-input.js";
import type { Kind, Origin, ToolDefinition } from "../tool/tool.js";
import { JsonTextReader } from "./json-text-reader.js";
import { willAsk } from "./policy-for.js";
import type { Run } from "./run.js";
import type { CallResult } from "./run-tool-call.js";
import type { Ending } from "./stop.js";
import { toolWords } from "./tool-words.js";

/** A call that the model has finished. */
export interface CallInput {
  readonly id: ToolCallId;
  readonly toolName: string;
  /** As the model wrote it. */
  readonly text: string;
  readonly tool: ToolDefinition | undefined;
  /** What is about to happen, for a person. Empty where nothing can be said. */
  readonly summary: string;
  /** Undefined when there is no such tool. */
  readonly checked: CheckedInput<unknown> | undefined;
  /** What the log says of a call that a run goes on with. Undefined: it is new, or has only been named. */
  readonly standing?: Standing;
}

/** Where a call stands that was there before this process worked on it. */
export type Standing =
  | { readonly kind: "waiting"; readonly sha256: Uint8Array }
  /** A yes that has not been acted on. */
  | { readonly kind: "approved"; readonly sha256: Uint8Array; readonly expiresMs: number | undefined }
  /** It was started for a client, which has not ended it. */
  | { readonly kind: "handed_over" }
  | { readonly kind: "over"; readonly result: CallResult };

interface StreamedCallParts {
  readonly run: Run;
  readonly id: ToolCallId;
  readonly index: number;
  readonly attempt: number;
  readonly record: (payload: LifecycleInit, along?: Along) => void;
}

const noBytes = new Uint8Array(0);

/** What a call is called whose name never came. */
export const unnamed = "unnamed_tool";

export class StreamedCall {
  readonly #parts: StreamedCallParts;
  readonly #pieces: string[] = [];
  #name = "";
  #providerCallId = "";
  #notedProviderCallId = "";
  #stage: "naming" | "streaming" | "complete" | "dropped" = "naming";
  #tool: ToolDefinition | undefined;
  #reader: JsonTextReader | undefined;
  #input: CallInput | undefined;

  constructor(parts: StreamedCallParts) {
    this.#parts = parts;
  }

  /** Contract: complete. */
  get input(): CallInput {
    return this.#input!;
  }

  take({ id, name, input }: Extract<ModelEvent, { type: "tool_call" }>): void {
    if (this.#stage === "complete" || this.#stage === "dropped") return;
    if (id) this.#providerCallId ||= id;
    if (name) this.#takeName(name);
    if (input) this.#takeInput(input);
  }

  /** Another call begins. A name that is a tool's is taken as it is; any other may still go on. */
  settleName(): void {
    if (this.#stage === "naming" && this.#parts.run.tools.get(this.#name)) this.#create();
  }

  get isComplete(): boolean {
    return this.#stage === "complete";
  }

  /** `change` goes into the same append. */
  complete(change?: Along["change"]): void {
    if (this.#stage === "complete" || this.#stage === "dropped") return;
    if (this.#stage === "naming") this.#create();
    const text = this.#pieces.join("");
    const checked = this.#tool && checkInput(this.#tool, text);
    const { id } = this.#parts;
    const summary = this.#tool && checked?.ok ? describe(this.#tool, checked.input) : "";
    this.#input = { id, toolName: this.#name, text, tool: this.#tool, checked, summary };
    this.#stage = "complete";
    const data = Buffer.from(text);
    const body = {
      toolCallId: id,
      contentId: "input",
      role: ContentRole.INPUT,
      mediaType: "application/json",
      data,
    } as const;
    const value = {
      $typeName: "heddle.v1.ToolCallInputCompleted",
      toolCallId: id,
      summary,
      inputBytes: BigInt(data.length),
      inputSha256: noBytes,
      deltasTruncated: false,
    } as const satisfies ToolCallInputCompleted;
    this.#parts.record(
      { case: "toolCallInputCompleted", value },
      {
        bodies: [body],
        ...both(this.#noteProviderCall().change, change),
      },
    );
  }

  /** The attempt is dropped. Nobody has heard of a call that was never named. */
  drop({ outcome, summary, error }: Ending): void {
    const { run, id, record } = this.#parts;
    if (this.#stage !== "naming" && this.#stage !== "dropped")
      record({ case: "toolCallComplete", value: { toolCallId: id, outcome, summary, error } });
    this.#stage = "dropped";
    run.endCall(id);
  }

  /** Some providers send the name in pieces, some repeat it. Once it is settled it does not change. */
  #takeName(piece: string): void {
    if (this.#stage !== "naming" || this.#isRepeated(piece)) return;
    this.#name += piece;
    if (this.#isWhole()) this.#create();
  }

  /** The same once more goes on with the name only where a tool's name does. */
  #isRepeated(piece: string): boolean {
    if (piece !== this.#name) return false;
    for (const name of this.#parts.run.tools.names()) if (name.startsWith(piece + piece)) return false;
    return true;
  }

  /** A name of a tool is whole, unless it is also the beginning of another one's. */
  #isWhole(): boolean {
    const names = this.#parts.run.tools.names();
    if (!names.has(this.#name)) return false;
    for (const other of names) if (other !== this.#name && other.startsWith(this.#name)) return false;
    return true;
  }

  #takeInput(piece: string): void {
    this.#pieces.push(piece);
    // The input may come before the name.
    if (this.#stage === "naming" && this.#name === "") return;
    if (this.#stage === "naming") this.#create();
    else this.#streamInput(piece);
  }

  #create(): void {
    const { run, id, index, attempt, record } = this.#parts;
    this.#stage = "streaming";
    this.#name = cleanSummary(this.#name) || unnamed;
    this.#tool = run.tools.get(this.#name);
    const fields = this.#tool?.textFields ?? [];
    if (fields.length > 0) this.#reader = new JsonTextReader(fields.map(({ field }) => field));
    run.callScope(id);
    const value = {
      $typeName: "heddle.v1.ToolCallCreated",
      toolCallId: id,
      toolName: this.#name,
      title: this.#tool?.title ?? "",
      kind: this.#tool ? wireKinds[this.#tool.kind] : ToolKind.OTHER,
      source: wireSource(this.#tool?.origin),
      index,
      attempt,
      parentToolCallId: run.parentToolCallId,
      childThreadId: this.#tool?.delegates ? childThreadOf(id) : "",
      needsApproval: this.#tool !== undefined && willAsk(run, this.#tool),
    } as const satisfies ToolCallCreated;
    record({ case: "toolCallCreated", value }, this.#noteProviderCall());
    for (const piece of this.#pieces) this.#streamInput(piece);
  }

  #streamInput(text: string): void {
    const { run, id: toolCallId } = this.#parts;
    const value = { $typeName: "heddle.v1.ToolCallInputDelta", toolCallId, text } as const satisfies ToolCallInputDelta;
    run.recorder.delta({ case: "toolCallInputDelta", value });
    // What is too much for the stream as input is too much as text.
    if (run.recorder.inputTruncated(toolCallId)) return;
    for (const { field, text: spoken } of this.#reader?.push(text) ?? []) {
      const purpose = purposes[this.#tool?.textFields?.find((known) => known.field === field)?.purpose ?? "speech"];
      run.recorder.delta({ case: "toolCallTextDelta", value: { toolCallId, field, purpose, text: spoken } });
    }
  }

  /** It may come with the name, or later. */
  #noteProviderCall(): Along {
    const { id } = this.#parts;
    const providerCallId = this.#providerCallId;
    if (providerCallId === this.#notedProviderCallId) return {};
    this.#notedProviderCallId = providerCallId;
    return { change: (draft) => draft.noteProviderCall(id, providerCallId) };
  }
}

function both(one: Along["change"], other: Along["change"]): Along {
  if (!one || !other) return one || other ? { change: (one ?? other)! } : {};
  return {
    change: (draft) => {
      one(draft);
      other(draft);
    },
  };
}

/** A tool that cannot describe its input is described by its title. */
export const describe = (tool: ToolDefinition, input: unknown): string => toolWords(() => tool.describe(input)) ?? "";

/** Where a tool comes from, as events and lists tell it. */
export function wireSource(origin: Origin | undefined): ToolSource {
  switch (origin?.kind) {
    case "mcp": {
      const { serverLabel, toolName } = origin;
      return create(ToolSourceSchema, { source: { case: "mcp", value: { serverLabel, toolName } } });
    }
    case "client":
      return create(ToolSourceSchema, { source: { case: "client", value: { name: origin.name } } });
    case undefined:
      return builtIn;
  }
}

const builtIn = create(ToolSourceSchema, { source: { case: "builtIn", value: {} } });

export const wireKinds: Readonly<Record<Kind, ToolKind>> = {
  read: ToolKind.READ,
  edit: ToolKind.EDIT,
  delete: ToolKind.DELETE,
  move: ToolKind.MOVE,
  search: ToolKind.SEARCH,
  execute: ToolKind.EXECUTE,
  think: ToolKind.THINK,
  fetch: ToolKind.FETCH,
  other: ToolKind.OTHER,
};

const purposes = { speech: TextPurpose.SPEECH, code: TextPurpose.CODE } as const;

// Turns what a model streams into events, as it comes: text and reasoning, and each call as soon as its name is known (T3: the
// id is made here, and is the only one that anybody sees). Nothing here waits for the disk: the recorder keeps the order, and
// `finish` waits for all of it.
import { ModelError, type ModelEvent, type ModelUsage } from "../model/model.js";
import type { Along, LifecycleInit } from "../recorder/run-recorder.js";
import { newId, type ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import { type MessageDelta, Role, ToolCallOutcome } from "../thread/schema.js";
import { splitToUtf8Bytes } from "../thread/text.js";
import type { Run } from "./run.js";
import type { Ending } from "./stop.js";
import { type CallInput, StreamedCall } from "./streamed-call.js";
import { answered } from "./turn-end.js";

/** What one reply may hold: far more than any model writes, and less than what would hurt. */
const replyBounds = { calls: 256, textUnits: 16 * 1024 * 1024 } as const;

export interface Reply {
  readonly text: string;
  readonly calls: readonly CallInput[];
  readonly end: Extract<ModelEvent, { type: "end" }>;
}

export class ReplyRecorder {
  readonly #run: Run;
  readonly #attempt: number;
  /** By the provider's index, in the order in which they began. */
  readonly #calls = new Map<number, StreamedCall>();
  /** The newest write. They are stored in order. */
  #last: Promise<unknown> = Promise.resolve();
  /** Of the first that could not be stored. */
  #failure: { readonly error: unknown } | undefined;
  #messageId: string | undefined;
  #reasoningId: string | undefined;
  #text = "";
  #refusal = "";
  #units = 0;
  #usage: ModelUsage | undefined;
  #end: Reply["end"] | undefined;

  constructor(run: Run, attempt: number) {
    this.#run = run;
    this.#attempt = attempt;
  }

  /** Nobody has seen anything of this attempt. */
  get isEmpty(): boolean {
    return this.#messageId === undefined && this.#reasoningId === undefined && this.#calls.size === 0;
  }

  /** Undefined: the provider has not said. */
  get usage(): ModelUsage | undefined {
    return this.#usage;
  }

  take(event: ModelEvent): void {
    switch (event.type) {
      case "text":
        this.#takeText(event.text);
        break;
      case "reasoning":
        this.#takeReasoning(event.text);
        break;
      case "refusal":
        this.#refusal += this.#counted(event.text);
        this.#openMessage();
        break;
      case "tool_call":
        this.#takeCall(event);
        break;
      case "tool_call_end":
        this.#calls.get(event.index)?.complete();
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      case "end":
        this.#end = event;
        break;
    }
  }

  /** The reply is whole. Nobody waits for the disk here: what a call records next is stored behind all of it, often with it. */
  finish(): Reply {
    const end = this.#end;
    if (!end) throw new ModelError("broken", "The model's reply ended in the middle");
    const calls = [...this.#calls.values()];
    const change = this.#run.countStep(this.#usage, {
      calls: calls.length,
      answered: calls.length === 0 ? answered(end) : undefined,
    });
    // With the last input that is completed here, where there is one: it saves a write.
    const last = calls.findLast((call) => !call.isComplete);
    for (const call of calls) call.complete(call === last ? change : undefined);
    this.#closeReasoning();
    if (this.#messageId !== undefined) {
      const [refusal = ""] = splitToUtf8Bytes(this.#refusal, limits.refusalBytes);
      const value = { messageId: this.#messageId, refusal };
      this.#record({ case: "messageCompleted", value });
    }
    // Where calls follow, their first event takes it along.
    if (!last) this.#await(this.#run.recorder[calls.length > 0 ? "noteSoon" : "note"](change));
    this.#run.goOnWhile(this.#settled());
    return { text: this.#text, calls: calls.map((call) => call.input), end };
  }

  /** The attempt is not used: its calls end without having run, and what was said is marked as cut off. */
  async drop(ending: Ending): Promise<void> {
    for (const call of this.#calls.values()) call.drop(ending);
    this.#closeReasoning();
    if (this.#messageId !== undefined) {
      const value = { messageId: this.#messageId, incomplete: true };
      this.#record({ case: "messageCompleted", value });
    }
    // It was used all the same.
    if (this.#usage) this.#await(this.#run.recorder.note((draft) => this.#run.noteUsage(draft)));
    await this.#settled();
  }

  #takeText(text: string): void {
    if (text === "") return;
    this.#closeReasoning();
    this.#text += this.#counted(text);
    const value: MessageDelta = { $typeName: "heddle.v1.MessageDelta", messageId: this.#openMessage(), text };
    this.#run.recorder.delta({ case: "messageDelta", value });
  }

  #openMessage(): string {
    if (this.#messageId !== undefined) return this.#messageId;
    this.#messageId = newId();
    this.#record({ case: "messageCreated", value: { messageId: this.#messageId, role: Role.ASSISTANT } });
    return this.#messageId;
  }

  #takeReasoning(text: string): void {
    if (text === "") return;
    this.#counted(text);
    if (this.#reasoningId === undefined) this.#flushMessage();
    this.#reasoningId ??= newId();
    this.#run.recorder.delta({ case: "reasoningDelta", value: { reasoningId: this.#reasoningId, text } });
  }

  #flushMessage(): void {
    if (this.#messageId !== undefined) this.#run.recorder.flush(this.#messageId);
  }

  #closeReasoning(): void {
    if (this.#reasoningId === undefined) return;
    this.#record({ case: "reasoningCompleted", value: { reasoningId: this.#reasoningId } });
    this.#reasoningId = undefined;
  }

  #takeCall(piece: Extract<ModelEvent, { type: "tool_call" }>): void {
    this.#closeReasoning();
    this.#counted(piece.name ?? "");
    this.#counted(piece.input ?? "");
    let call = this.#calls.get(piece.index);
    if (!call) {
      this.#flushMessage();
      if (this.#calls.size >= replyBounds.calls)
        throw new ModelError("invalid_reply", `The model made more than ${replyBounds.calls} calls in one reply`);
      // A tool's whole name does not go on after another call has begun.
      for (const other of this.#calls.values()) other.settleName();
      call = new StreamedCall({
        run: this.#run,
        id: newId<ToolCallId>(),
        index: this.#calls.size,
        attempt: this.#attempt,
        record: (payload, along) => this.#record(payload, along),
      });
      this.#calls.set(piece.index, call);
    }
    call.take(piece);
  }

  #counted(text: string): string {
    this.#units += text.length;
    if (this.#units > replyBounds.textUnits) throw new ModelError("invalid_reply", "The model's reply is too long");
    return text;
  }

  #record(payload: LifecycleInit, along?: Along): void {
    this.#await(this.#run.recorder.record(payload, along));
  }

  #await(write: Promise<unknown>): void {
    this.#last = write.catch(this.#fail);
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= { error };
  };

  async #settled(): Promise<void> {
    await this.#last;
    if (this.#failure) throw this.#failure.error;
  }
}

/** How the calls of an attempt end that is not used. */
export function droppedAttempt(error: unknown): Ending {
  const isRefused = error instanceof ModelError && error.kind === "invalid_reply";
  const why = isRefused ? "the model's reply cannot be used" : "the model's reply broke off";
  const what = isRefused ? error.message : "The model's reply broke off";
  return {
    outcome: ToolCallOutcome.DISCARDED,
    summary: `Discarded: ${why}`,
    error: { kind: "attempt_dropped", message: `${what}; nothing of it was run` },
  };
}

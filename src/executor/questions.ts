// Calls that need a yes, asked for next to whoever would be affected: with what would happen here, worked out here. One question at a
// time; whoever answers elsewhere is as good, and then the question goes away.
import type { ToolCall } from "../thread/schema.js";
import type { Preview, ToolDefinition } from "../tool/tool.js";
import type { ExecutorEvent, ShownCall } from "./executor-events.js";
import type { ExecutorServer } from "./executor-server.js";
import { readCall } from "./read-input.js";
import { digestOf, lookAhead } from "./run-call.js";

export interface Question {
  readonly call: ShownCall;
  /** Why somebody is asked: one line. */
  readonly why: string;
  /** What would happen. Undefined: the input says it. */
  readonly preview: Preview | undefined;
  readonly input: string;
}

export interface Answer {
  readonly isAllowed: boolean;
  /** The model reads it where the answer is no. May be empty. */
  readonly reason: string;
}

/** Who says yes. */
export type Asker =
  | { readonly kind: "yes" }
  | { readonly kind: "nobody" }
  /** Rejects with the signal's reason when the question is not wanted any more. */
  | { readonly kind: "person"; readonly ask: (question: Question, signal: AbortSignal) => Promise<Answer> };

/** The server asks, or this executor's own policy does. */
export type Asking = "server" | "here";

export interface CallToAsk {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
  readonly why: string;
  /** `shown`: what the answer is for. Called once. */
  readonly settle: (answer: Answer, shown: string, signal: AbortSignal) => Promise<void>;
}

interface QuestionsParts {
  readonly server: ExecutorServer;
  readonly asker: Asker;
  readonly workspace: string;
  readonly on: (event: ExecutorEvent) => void;
}

interface OpenQuestion {
  readonly threadId: string;
  readonly asking: Asking;
  readonly withdrawn: AbortController;
}

export class Questions {
  readonly #parts: QuestionsParts;
  /** Those that are asked, and those that were answered and are still listed. */
  readonly #open = new Map<string, OpenQuestion>();
  #before: Promise<void> = Promise.resolve();

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  hasOpen(threadId: string, asking: Asking): boolean {
    for (const open of this.#open.values()) if (open.threadId === threadId && open.asking === asking) return true;
    return false;
  }

  /** All calls of a thread that need a yes now. What is not among them any more is not asked. */
  see(threadId: string, asking: Asking, calls: readonly CallToAsk[]): void {
    const listed = new Set(calls.map(({ call }) => call.id));
    for (const [id, open] of this.#open) {
      if (open.threadId !== threadId || open.asking !== asking || listed.has(id)) continue;
      open.withdrawn.abort(new Error("the question was answered elsewhere"));
      this.#open.delete(id);
    }
    for (const asked of calls) if (!this.#open.has(asked.call.id)) this.#ask(asking, asked);
  }

  /** Nobody is asked any more. Resolves when the terminal is free. */
  async close(): Promise<void> {
    for (const { withdrawn } of this.#open.values()) withdrawn.abort(new Error("the executor is stopping"));
    await this.#before;
  }

  #ask(asking: Asking, asked: CallToAsk): void {
    const { asker, on } = this.#parts;
    const { call } = asked;
    const withdrawn = new AbortController();
    this.#open.set(call.id, { threadId: call.threadId, asking, withdrawn });
    if (asker.kind === "nobody") {
      on({ kind: "unanswered", call: shownCall(call) });
      return;
    }
    const work = async (): Promise<void> => {
      try {
        if (!withdrawn.signal.aborted) await this.#answer(asked, withdrawn.signal);
      } catch (error) {
        if (withdrawn.signal.aborted) return;
        on({
          kind: "problem",
          message: `${call.toolName} could not be asked for: ${String((error as Error).message)}`,
        });
        this.#open.delete(call.id); // Asked again when it is listed again.
      }
    };
    this.#before = asker.kind === "yes" ? Promise.all([this.#before, work()]).then(() => {}) : this.#before.then(work);
  }

  async #answer({ call, tool, why, settle }: CallToAsk, signal: AbortSignal): Promise<void> {
    const { server, asker, workspace } = this.#parts;
    const { input } = await readCall(server, call.id, signal);
    let preview: Preview | undefined;
    try {
      preview = await lookAhead(tool, input, { signal, workspace });
    } catch (error) {
      signal.throwIfAborted();
      // What cannot succeed is not asked for.
      return settle({ isAllowed: false, reason: (error as Error).message }, "", signal);
    }
    const question = { call: shownCall(call), why, preview, input };
    const answer = asker.kind === "person" ? await asker.ask(question, signal) : { isAllowed: true, reason: "" };
    await settle(answer, digestOf(preview), signal);
  }
}

export const shownCall = (call: ToolCall): ShownCall => ({
  toolCallId: call.id,
  threadId: call.threadId,
  toolName: call.toolName,
  title: call.title || call.toolName,
  summary: call.startedSummary,
});

// The agent that the engine is measured with: a model that answers at once, and a tool that does nothing.
import { z } from "zod";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import type { BuiltCore } from "./built.js";
import { stopwatch, type Took } from "./stopwatch.js";

export const toolInput = '{"path":"src/server.ts","line":120}';

/** What a message asks for. */
export interface Work {
  /** One after the other, one a reply; then a word, and the end. */
  readonly calls: number;
  /**
   * `at once`: the whole reply in one go, as an SDK's mock model has it. `in pieces`: as a provider streams it, the name before the input,
   * and each piece later than a flush takes.
   */
  readonly says: "at once" | "in pieces";
}

/** What so many calls took. */
export interface CallsTook extends Took {
  readonly calls: number;
}

/**
 * The calls of one run without the run's own beginning and end: from the asking behind the first to the asking behind the last, which is
 * as often from one call's end to the next one's.
 */
export class CallsOfRun {
  readonly #calls: number;
  #read: (() => Took) | undefined;
  #took: Took | undefined;

  constructor({ calls }: Work) {
    this.#calls = calls;
  }

  /** The model is asked behind so many calls. */
  asked(behind: number): void {
    if (behind === 1) this.#read = stopwatch();
    if (behind === this.#calls) this.#took = this.#read!();
  }

  /** Contract: the run is over, and had two calls at least. */
  get took(): CallsTook {
    if (!this.#took || this.#calls < 2) throw new Error(`A run of ${this.#calls} calls was not seen from call to call`);
    return { ...this.#took, calls: this.#calls - 1 };
  }
}

/**
 * Calls the tool as often as the message says, then says a word. `settled` resolves when nothing is on its way to the disk; `onAsked` is
 * told behind how many calls it is asked. What it does counts as the engine's: it makes nothing that it need not make.
 */
export function busyModel(settled: () => Promise<void>, onAsked: (behind: number) => void): Model {
  const works = new Map<string, Work>();
  return {
    name: "bench:busy",
    async *stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
      const [message] = messages;
      const text = message?.role === "user" ? message.text : "{}";
      const work = works.get(text) ?? (JSON.parse(text) as Work);
      works.set(text, work);
      const { calls, says } = work;
      const replies = (messages.length - 1) / 2; // An answer follows each.
      onAsked(replies);
      const pause = says === "in pieces" ? settled : undefined;
      if (pause) await pause();
      if (replies < calls) {
        yield { type: "tool_call", index: 0, id: `call_${replies}`, name: "nothing" };
        if (pause) await pause();
        yield { type: "tool_call", index: 0, input: toolInput };
        yield { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
      } else {
        yield { type: "text", text: "Done." };
        yield { type: "end", reason: "stop", providerReason: "stop" };
      }
    },
  };
}

/** Appends that are on their way. */
export class AppendsUnderWay {
  #count = 0;
  #onSettled: () => void = () => {};
  /** Where nobody waits for them, they are not counted: that costs something too. */
  isWatched = true;

  /** Returns what to call when it is stored. */
  begun(): (() => void) | undefined {
    if (!this.isWatched) return undefined;
    this.#count++;
    return this.#stored;
  }

  readonly #stored = (): void => {
    if (--this.#count === 0) this.#onSettled();
  };

  /** Contract: one waits at a time. What was said in this turn has begun when the turn is over. */
  readonly settled = async (): Promise<void> => {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (this.#count > 0)
      await new Promise<void>((resolve) => {
        this.#onSettled = resolve;
      });
  };
}

export const nothingTool: ToolDefinition = {
  name: "nothing",
  title: "Nothing",
  description: "Does nothing.",
  kind: "other",
  input: z.object({ path: z.string(), line: z.number() }),
  output: z.object({ ok: z.boolean() }),
  describe: () => "Doing nothing",
  run: async () => ({ result: { ok: true }, summary: "Did nothing" }),
};

export const sendWork = ({ threads }: Pick<BuiltCore, "threads">, threadId: string, work: Work): Promise<string> =>
  threads.send(threadId, { requestId: newId(), text: JSON.stringify(work), options: undefined });

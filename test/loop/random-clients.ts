// Clients that run calls: two go for each, at most one gets it; it reports, repeats itself, ends it well or badly, or vanishes.
import fc from "fast-check";
import { keyOf } from "../../src/request-fields.js";
import { isError } from "../../src/thread/errors.js";
import { ContentRole, OutputStream, ToolCallOutcome } from "../../src/thread/schema.js";
import type { Core } from "../support/core.js";
import { type Pause, pause, take, text } from "./random-text.js";

type Step =
  | { readonly kind: "print"; readonly text: string; readonly isRepeated: boolean }
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "renew" | "meddle" | "write" }
  | { readonly kind: "pause"; readonly pause: Pause };

const endings = ["succeeded", "succeeded", "failed", "cancelled", "ends twice", "vanishes", "never claims"] as const;

export interface ClientPlan {
  readonly pause: Pause;
  readonly steps: readonly Step[];
  readonly ending: (typeof endings)[number];
  readonly summary: string;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("print" as const), text: text(), isRepeated: fc.boolean() }),
  fc.record({ kind: fc.constant("progress" as const), text: text() }),
  fc.record({ kind: fc.constantFrom("renew" as const, "meddle" as const, "write" as const) }),
  fc.record({ kind: fc.constant("pause" as const), pause }),
);

export const clientPlan: fc.Arbitrary<ClientPlan> = fc.record({
  pause,
  steps: fc.array(step, { maxLength: 6 }),
  ending: fc.constantFrom(...endings),
  summary: text(300),
});

/** How long a client may be silent. */
const leaseMs = 15;

/** What a client may be told, whenever it asks. */
const typed = [
  "tool_call_over",
  "tool_call_claimed",
  "tool_call_not_offered",
  "claim_mismatch",
  "storage_full",
] as const;

export class RandomClient {
  readonly #core: () => Core;
  readonly #plan: ClientPlan;
  readonly #token: string;

  /** `core`: the server that is there. */
  constructor(core: () => Core, plan: ClientPlan, token: string) {
    this.#core = core;
    this.#plan = plan;
    this.#token = token;
  }

  /** Resolves when it is done with the call; never when its server died meanwhile. */
  async run(threadId: string, toolCallId: string): Promise<void> {
    await take(this.#plan.pause);
    if (this.#plan.ending === "never claims") return;
    try {
      const claim = { executorName: "somebody", token: this.#token, leaseMs };
      await this.#calls().claim(keyOf(threadId), toolCallId, claim);
      for (const [index, step] of this.#plan.steps.entries()) await this.#act(threadId, toolCallId, { step, index });
      await this.#end(threadId, toolCallId);
    } catch (error) {
      if (!typed.some((code) => isError(error, code))) throw error;
    }
  }

  #calls() {
    return this.#core().runs.clientCalls;
  }

  async #act(threadId: string, toolCallId: string, { step, index }: { step: Step; index: number }): Promise<void> {
    const key = keyOf(threadId);
    const nothing = { token: this.#token, outputs: [], progress: undefined, reportSequence: 0n };
    switch (step.kind) {
      case "pause":
        return take(step.pause);
      case "renew":
        await this.#calls().report(key, toolCallId, nothing);
        return;
      case "progress":
        await this.#calls().report(key, toolCallId, { ...nothing, progress: { message: step.text, completed: index } });
        return;
      case "meddle":
        await refused(this.#calls().report(key, toolCallId, { ...nothing, token: "somebody else's" }));
        return;
      case "write":
        await this.#write(threadId, toolCallId, index);
        return;
      case "print": {
        const outputs = [{ stream: index % 2 ? OutputStream.STDERR : OutputStream.STDOUT, text: step.text }];
        for (let times = 0; times < (step.isRepeated ? 2 : 1); times++)
          await this.#calls().report(key, toolCallId, { ...nothing, outputs, reportSequence: BigInt(index + 1) });
      }
    }
  }

  async #write(threadId: string, toolCallId: string, index: number): Promise<void> {
    const chunk = {
      $typeName: "heddle.v1.ContentChunk" as const,
      toolCallId,
      contentId: `part-${index}`,
      role: ContentRole.PART,
      mediaType: "text/plain",
      offset: 0n,
      data: Uint8Array.from(Buffer.from("a part")),
    };
    await this.#calls().write(keyOf(threadId), chunk, this.#token);
  }

  async #end(threadId: string, toolCallId: string): Promise<void> {
    const { ending, summary } = this.#plan;
    if (ending === "vanishes" || ending === "never claims") return;
    const outcome = outcomes[ending];
    const complete = { toolCallId, outcome, summary };
    const end = () =>
      this.#calls().complete(keyOf(threadId), toolCallId, { token: this.#token, complete, result: Buffer.from("{}") });
    await end();
    if (ending === "ends twice") await refused(end());
  }
}

const outcomes = {
  succeeded: ToolCallOutcome.SUCCEEDED,
  "ends twice": ToolCallOutcome.SUCCEEDED,
  failed: ToolCallOutcome.FAILED,
  cancelled: ToolCallOutcome.CANCELLED,
} as const;

async function refused(work: Promise<unknown>): Promise<void> {
  const isTaken = await work.then(
    () => true,
    (error: unknown) => {
      if (!typed.some((code) => isError(error, code))) throw error;
      return false;
    },
  );
  if (isTaken) throw new Error("What must be refused was taken");
}

// The calls of a run that wait for somebody's answer, beside those that are at work. When only waiting ones are left, the run
// need not stay in memory: whoever answers wakes it up again, from the log.
import type { CallResult } from "./run-tool-call.js";

/** What becomes of a call that waited. */
export type Answer =
  | { readonly kind: "allowed" }
  /** It is over, and recorded as such. */
  | { readonly kind: "ended"; readonly result: CallResult }
  /** The run leaves memory; the call goes on waiting. */
  | { readonly kind: "parked" };

/** Whom a call waits for: a person's yes, or the client that runs it. */
export type WaitsFor = "approval" | "client";

interface Waiting {
  readonly waitsFor: WaitsFor;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class Waits {
  /** Suspends the run, unless one of the calls was answered in the meantime. */
  readonly #suspend: (toolCallIds: readonly string[]) => Promise<boolean>;
  readonly #waiting = new Map<string, Waiting>();
  /** A run that was taken up again may hear of an answer before it has come to the call. */
  readonly #early = new Map<string, Answer>();
  #atWork = 0;

  constructor(suspend: (toolCallIds: readonly string[]) => Promise<boolean>) {
    this.#suspend = suspend;
  }

  /** A call is worked on. Contract: followed by one `end`. */
  begin(): void {
    this.#atWork++;
  }

  end(): void {
    this.#atWork--;
    this.#look();
  }

  /** Rejects when the run could not be suspended. */
  async wait(toolCallId: string, waitsFor: WaitsFor): Promise<Answer> {
    const early = this.#early.get(toolCallId);
    if (early && isFor(waitsFor, early)) return early;
    const answered = new Promise<Answer>((resolve, reject) =>
      this.#waiting.set(toolCallId, { waitsFor, resolve, reject }),
    );
    this.end();
    try {
      return await answered;
    } finally {
      this.#waiting.delete(toolCallId);
      this.begin();
    }
  }

  answer(toolCallId: string, answer: Answer): void {
    const waiting = this.#waiting.get(toolCallId);
    if (!waiting) this.#early.set(toolCallId, answer);
    else if (isFor(waiting.waitsFor, answer)) waiting.resolve(answer);
  }

  #look(): void {
    if (this.#atWork > 0 || this.#waiting.size === 0) return;
    const waiting = new Map(this.#waiting);
    this.#suspend([...waiting.keys()]).then(
      (isSuspended) => {
        if (isSuspended) for (const { resolve } of waiting.values()) resolve({ kind: "parked" });
      },
      (error) => {
        for (const { reject } of waiting.values()) reject(error);
      },
    );
  }
}

/** A yes that was heard of late, when its call had been handed over already, is not what the client says. */
const isFor = (waitsFor: WaitsFor, { kind }: Answer): boolean => waitsFor === "approval" || kind !== "allowed";

// The tools that connected executors offer. In memory only: an offer lasts as long as its executor is there.
import type { ToolDefinition } from "../tool.js";

export interface Offer {
  /** Undefined: for every thread. */
  readonly threadId: string | undefined;
  readonly tools: readonly ToolDefinition[];
}

export class OfferedTools {
  readonly #offers = new Set<Offer>();

  /** Returns what withdraws it. */
  add(offer: Offer): () => void {
    this.#offers.add(offer);
    return () => this.#offers.delete(offer);
  }

  /** By name, for the runs of a thread. Of several with one name the newest counts, and those for this thread before others. */
  forThread(threadId: string): ReadonlyMap<string, ToolDefinition> {
    if (this.#offers.size === 0) return none; // Every step of every run asks.
    const offers = [...this.#offers];
    const general = offers.filter((offer) => offer.threadId === undefined);
    const own = offers.filter((offer) => offer.threadId === threadId);
    return new Map([...general, ...own].flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)));
  }
}

const none: ReadonlyMap<string, ToolDefinition> = new Map();

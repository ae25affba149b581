// Tools whose work the test ends by hand, and turns of the event loop counted one by one.
import type { Model } from "../../src/model/model.js";
import type { ToolContext } from "../../src/tool/tool.js";
import { called, said, tool } from "../support/agent.js";

/** Work that goes on until it is finished or called off, each with a timer of its own as its child. */
export class Workbench {
  /** Of all work that has not stopped. */
  readonly children = new Set<NodeJS.Timeout>();
  readonly #finish = new Map<string, () => void>();
  #isReady: () => void = () => {};

  readonly tool = tool("work", (_, { toolCallId, signal }) => this.#work(toolCallId, signal));

  finish(toolCallId: string): void {
    this.#finish.get(toolCallId)?.();
  }

  /** Resolves with the calls that are at work when there are so many. */
  async started(count: number): Promise<string[]> {
    if (this.#finish.size < count)
      await new Promise<void>((resolve) => {
        this.#isReady = () => this.#finish.size >= count && resolve();
      });
    return [...this.#finish.keys()];
  }

  clear(): void {
    this.#finish.clear();
  }

  #work(toolCallId: string, signal: ToolContext["signal"]): Promise<Record<string, never>> {
    return new Promise((resolve, reject) => {
      const child = setInterval(() => {}, 1_000);
      this.children.add(child);
      const stop = (): void => {
        clearInterval(child);
        this.children.delete(child);
        signal.removeEventListener("abort", abort);
      };
      const abort = (): void => {
        stop();
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#finish.set(toolCallId, () => {
        stop();
        resolve({});
      });
      this.#isReady();
    });
  }
}

/** Calls the tool so often whenever somebody says something, and then has nothing more to say. */
export const busyModel = (calls: number): Model => ({
  name: "test:busy",
  async *stream({ messages }) {
    const isAsked = messages.at(-1)?.role === "user";
    yield* isAsked ? called(...Array.from({ length: calls }, () => ({ name: "work" }))) : said("Done.");
  },
});

export async function microtasks(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await Promise.resolve();
}
export const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// The calls that an executor is to run: so many at a time, the others wait their turn unclaimed, so that another may take them.
import { Scope } from "../loop/scope.js";

/** What is waited for and what runs, together. More are looked for when these are done. */
export const mostWaiting = 1000;

interface Entry {
  readonly threadId: string;
  readonly work: (scope: Scope) => Promise<void>;
}

interface QueueOptions {
  readonly concurrency: number;
  readonly onProblem: (error: unknown) => void;
  /** Nothing waits any more. */
  readonly onEmpty: () => void;
}

export class CallQueue {
  readonly #options: QueueOptions;
  readonly #waiting = new Map<string, Entry>();
  readonly #running = new Map<string, { readonly scope: Scope; readonly done: Promise<void> }>();
  #isClosed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  has(toolCallId: string): boolean {
    return this.#waiting.has(toolCallId) || this.#running.has(toolCallId);
  }

  get isFull(): boolean {
    return this.#waiting.size >= mostWaiting;
  }

  /** Calls of a thread that wait here. */
  waitingIn(threadId: string): number {
    let count = 0;
    for (const entry of this.#waiting.values()) if (entry.threadId === threadId) count++;
    return count;
  }

  /** Contract: the call is not in it, and was not before. */
  add(toolCallId: string, entry: Entry): void {
    if (this.#isClosed) return;
    this.#waiting.set(toolCallId, entry);
    this.#startNext();
  }

  /** Nothing begins any more, and what runs is told to stop. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    for (const { scope } of this.#running.values()) scope.stop({ kind: "executor_stopping" });
  }

  /** Resolves when nothing runs. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #startNext(): void {
    while (this.#running.size < this.#options.concurrency) {
      const [next] = this.#waiting;
      if (!next) return;
      const [toolCallId, { work }] = next;
      this.#waiting.delete(toolCallId);
      const scope: Scope = new Scope(() => {});
      const done = work(scope)
        .catch((error: unknown) => this.#options.onProblem(error))
        .finally(() => {
          this.#running.delete(toolCallId);
          this.#startNext();
          if (this.#waiting.size === 0 && !this.#isClosed) this.#options.onEmpty();
        });
      this.#running.set(toolCallId, { scope, done });
    }
  }
}

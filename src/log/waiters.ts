// Who waits for a thread to grow. Adding, waking and leaving cost the same however many wait.
import type { HeddleError } from "../thread/errors.js";
import { closed } from "./log-errors.js";
import { onAbort } from "./on-abort.js";

type Outcome = "appended" | "removed";

interface Waiter {
  readonly after: bigint;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (reason: unknown) => void;
  readonly forgetSignal: () => void;
}

/** Contract: the caller has looked at the head in the same turn, so that no append falls between the look and the wait (L5). */
export class Waiters {
  readonly #threads = new Map<string, Set<Waiter>>();

  wait(thread: string, after: bigint, signal: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = this.#threads.get(thread) ?? new Set();
      const leave = (): void => {
        waiting.delete(waiter);
        if (waiting.size === 0) this.#threads.delete(thread);
        reject(signal.reason);
      };
      const waiter: Waiter = { after, resolve, reject, forgetSignal: onAbort(signal, leave) };
      waiting.add(waiter);
      this.#threads.set(thread, waiting);
    });
  }

  /** Whether anybody waits for the thread. */
  has(thread: string): boolean {
    return this.#threads.has(thread);
  }

  appended(thread: string, head: bigint): void {
    const waiting = this.#threads.get(thread);
    if (waiting === undefined) return;
    for (const waiter of waiting) {
      if (waiter.after >= head) continue;
      waiting.delete(waiter);
      waiter.forgetSignal();
      waiter.resolve("appended");
    }
    if (waiting.size === 0) this.#threads.delete(thread);
  }

  removed(thread: string): void {
    for (const waiter of this.#releaseAll(thread)) waiter.resolve("removed");
  }

  failed(thread: string, error: HeddleError): void {
    for (const waiter of this.#releaseAll(thread)) waiter.reject(error);
  }

  closed(): void {
    const error = closed();
    for (const thread of this.threads()) this.failed(thread, error);
  }

  /** Threads that somebody waits for. */
  threads(): string[] {
    return [...this.#threads.keys()];
  }

  #releaseAll(thread: string): Iterable<Waiter> {
    const waiting = this.#threads.get(thread);
    if (waiting === undefined) return [];
    this.#threads.delete(thread);
    for (const waiter of waiting) waiter.forgetSignal();
    return waiting;
  }
}

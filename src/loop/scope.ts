// What a call or an attempt is worked on under: it can be called off once, for one reason.
import { type Stop, Stopped } from "./stop.js";

/** Something that can be called off by itself, and is called off with the run. */
export class Scope {
  readonly #release: (scope: Scope) => void;
  readonly #listeners = new Set<() => void>();
  /** Made when somebody asks for its signal: most tools never do, and every call has a scope. */
  #controller: AbortController | undefined;
  #reason: Stopped | undefined;

  constructor(release: (scope: Scope) => void) {
    this.#release = release;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get stopped(): Stop | undefined {
    return this.#reason?.stop;
  }

  /** The reason that its signal has, once it was called off. */
  get reason(): Stopped | undefined {
    return this.#reason;
  }

  /** Calls back when it is called off. Returns what takes the callback away again. Contract: it was not called off yet. */
  onStop(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => void this.#listeners.delete(callback);
  }

  /** The first reason counts. */
  stop(stop: Stop): void {
    if (this.#reason) return;
    this.#reason = new Stopped(stop);
    this.#controller?.abort(this.#reason);
    for (const callback of this.#listeners) callback();
  }

  close(): void {
    this.#release(this);
  }
}

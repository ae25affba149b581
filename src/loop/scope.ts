// What a call or an attempt is worked on under: it can be called off once, for one reason.
import { type Stop, Stopped } from "./stop.js";

/** Something that can be called off by itself, and is called off with the run. */
export class Scope {
  readonly #release: (scope: Scope) => void;
  /** One or two at a time. */
  #listeners: readonly (() => void)[] = [];
  /** Made when somebody asks for its signal: most tools never do, and every call has a scope. */
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  /** `controller`: one that is there already, and not aborted. */
  constructor(release: (scope: Scope) => void, controller?: AbortController) {
    this.#release = release;
    this.#controller = controller;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get stopped(): Stop | undefined {
    return this.#reason instanceof Stopped ? this.#reason.stop : undefined;
  }

  /** The reason that its signal has, once it was called off or has failed. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Calls back when it has a reason. Returns what takes the callback away again. Contract: it has none yet. */
  onStop(callback: () => void): () => void {
    this.#listeners = [...this.#listeners, callback];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== callback);
    };
  }

  /** The first reason counts. */
  stop(stop: Stop): void {
    if (!this.#reason) this.#end(new Stopped(stop));
  }

  /** Nobody has called it off, but what it is for cannot be used any more. The first reason counts. */
  fail(error: Error): void {
    if (!this.#reason) this.#end(error);
  }

  #end(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(this.#reason);
    // One may take another away.
    for (const callback of this.#listeners) if (this.#listeners.includes(callback)) callback();
  }

  close(): void {
    this.#release(this);
  }
}

// What a call or an attempt is worked on under: it can be called off once, for one reason.
import { type Stop, Stopped } from "./stop.js";

/** Something that can be called off by itself, and is called off with the run. */
export class Scope {
  readonly #controller = new AbortController();
  readonly #release: (scope: Scope) => void;

  constructor(release: (scope: Scope) => void) {
    this.#release = release;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopped(): Stop | undefined {
    return this.signal.aborted ? (this.signal.reason as Stopped).stop : undefined;
  }

  /** The first reason counts. */
  stop(stop: Stop): void {
    if (!this.signal.aborted) this.#controller.abort(new Stopped(stop));
  }

  close(): void {
    this.#release(this);
  }
}

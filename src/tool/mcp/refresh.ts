// Does something again some time after it was asked for: once for many that come together, one at a time, and not without end.
import { bounds } from "./bounds.js";

/** Waiting: it has not begun. Again: it was asked for while it works. */
type State = "waiting" | "ready" | "due" | "working" | "again" | "closed";

export class Refresh {
  readonly #work: () => Promise<void>;
  #state: State = "waiting";
  #timer: NodeJS.Timeout | undefined;
  #wasAskedEarly = false;

  /** Contract: `work` does not reject. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** What was asked for before is done from now on. */
  begin(): void {
    if (this.#state !== "waiting") return;
    this.#state = "ready";
    if (this.#wasAskedEarly) this.ask();
  }

  ask(): void {
    if (this.#state === "waiting") this.#wasAskedEarly = true;
    if (this.#state === "working") this.#state = "again";
    if (this.#state === "ready") this.#wait(bounds.refreshDebounceMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#state = "closed";
  }

  #wait(ms: number): void {
    this.#state = "due";
    this.#timer = setTimeout(() => void this.#run(), ms);
  }

  async #run(): Promise<void> {
    this.#state = "working";
    await this.#work();
    const after = this.#state as State;
    if (after === "again") this.#wait(bounds.refreshEveryMs);
    else if (after === "working") this.#state = "ready";
  }
}

// A server that can stop, lose a write to a full disk, or die with one under way; and its next start upon the same log.
import type { EventLog } from "../../src/log/event-log.js";
import { recover } from "../../src/recorder/recover.js";
import { HeddleError } from "../../src/thread/errors.js";
import { type Core, type CoreOptions, openCore, replaced } from "../support/core.js";
import { take } from "./random-text.js";

export type Death = "before the write" | "after the write";

interface Life {
  state: "alive" | Death | "dead";
  /** The next write fails. */
  isFull: boolean;
}

export class MortalCore {
  readonly #log: EventLog;
  readonly #options: CoreOptions;
  #core: Core;
  #life: Life = { state: "alive", isFull: false };
  /** What the servers reported as their own fault. */
  readonly errors: unknown[] = [];

  constructor(log: EventLog, options: CoreOptions) {
    this.#log = log;
    this.#options = options;
    this.#core = this.#open();
  }

  get core(): Core {
    return this.#core;
  }

  /** In good order. */
  async restart(): Promise<void> {
    await this.#core.runs.close();
    await this.#next();
  }

  /** As if killed: the next write of this process lands or does not, and it never hears of it. */
  async dieAndRestart(how: Death): Promise<void> {
    this.#life.state = how;
    // What is under way is decided before the next process looks.
    await take("timer");
    this.#life.state = "dead";
    await take("immediate");
    await this.#next();
  }

  loseNextWrite(): void {
    this.#life.isFull = true;
  }

  close(): void {
    this.#core.feeds.close();
    this.#core.recordings.dispose();
    this.errors.push(...this.#core.errors);
  }

  async #next(): Promise<void> {
    this.close();
    this.#core = this.#open();
    await recover(this.#log, this.#core.recordings);
  }

  #open(): Core {
    const life: Life = { state: "alive", isFull: false };
    this.#life = life;
    const never = new Promise<never>(() => {});
    const written = async <Result>(write: () => Promise<Result>): Promise<Result> => {
      if (life.isFull) {
        life.isFull = false;
        throw new HeddleError("storage_full", "No space is left", { detail: { path: "memory" } });
      }
      if (life.state === "dead" || life.state === "before the write") return never;
      if (life.state === "after the write") life.state = "dead";
      const result = await write();
      // It may have died while it waited.
      return life.state === "alive" ? result : never;
    };
    const log = replaced(this.#log, {
      append: (...args) => written(() => this.#log.append(...args)),
      create: (...args) => written(() => this.#log.create(...args)),
    });
    return openCore({ ...this.#options, log });
  }
}

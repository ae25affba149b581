import type { Ending } from "./exit.js";

/** A command that came to its end early, and what to say about it. */
export class Failure extends Error {
  readonly ending: Ending;

  constructor(ending: Ending, cause: unknown) {
    super(ending.message, { cause });
    this.ending = ending;
  }
}

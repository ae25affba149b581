import type { Masks } from "./masks.js";

/** Looks for one sort of secret in a text that arrives in pieces. Its state is bounded, whatever the text. */
export interface Scan {
  /** Reads the next piece and hides what turns out to be secret in it. */
  take(piece: string, masks: Masks): void;
  /** The piece is over, the text goes on: hides what may become a secret. */
  pause(length: number, masks: Masks): void;
  /** The text is over: hides what is a secret, now that nothing follows it. */
  finish(length: number, masks: Masks): void;
  /** An independent copy. */
  fork(): Scan;
}

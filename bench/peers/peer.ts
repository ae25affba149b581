// What a peer of the fan-out figures is: a server of StreamThreadEvents that passes events on to everybody.
import type { ThreadEvent } from "../../src/thread/event.js";

export interface Peer {
  readonly port: number;
  /** Makes ready what can be made ready before the clock runs. Calling the result sends the batch to all subscribers. */
  prepare(batch: readonly ThreadEvent[]): () => void;
}

/** Every peer greets like Heddle: Ready and CaughtUp. */
export const streamPath = "/heddle.v1.ThreadService/StreamThreadEvents";

// Following a thread for as long as it takes. A stream of a thread ends when it is old, and its reader is to go on where it was: this is
// the reader who does.
import type { ThreadEvent } from "../thread/event.js";
import { ClosingReason } from "../thread/schema.js";

/** Stored events only. Ends where a stream ends for any other reason than its age. */
export async function* followOn(
  follow: (afterSequence: bigint) => AsyncGenerator<ThreadEvent>,
  afterSequence: bigint,
): AsyncGenerator<ThreadEvent> {
  for (let after = afterSequence, isOld = true; isOld; ) {
    isOld = false;
    for await (const event of follow(after)) {
      if (event.payload.case === "closing") isOld = event.payload.value.reason === ClosingReason.MAX_AGE;
      if (event.sequence === 0n) continue;
      after = event.sequence;
      yield event;
    }
  }
}

// The chunks of a request's body, for Connect's handler: it reads a body for as long as the body takes.
import { HeddleError } from "../../thread/errors.js";
import { toWire } from "./wire-error.js";

export interface TimeBounds {
  /** Nothing more comes for so long. */
  readonly quietMs?: number | undefined;
  /** It is not complete by then. */
  readonly longestMs?: number | undefined;
  /** What the caller will wait for its answer, from now on. */
  readonly deadlineMs?: number | undefined;
}

/** Chunks as they come. Throws DEADLINE_EXCEEDED when a bound is passed. The clocks start with the first chunk asked for. */
export async function* bodyInTime(body: AsyncIterable<Uint8Array>, bounds: TimeBounds): AsyncGenerator<Uint8Array> {
  const clocks = startClocks(bounds);
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), clocks.late]);
      if (next.done === true) return;
      clocks.heard();
      yield next.value;
    }
  } finally {
    clocks.stop();
    chunks.return?.().catch(() => {}); // Not awaited: it may stand behind a chunk that never comes.
  }
}

function startClocks({ quietMs, longestMs, deadlineMs }: TimeBounds) {
  let fail: (reason: unknown) => void = () => {};
  const late = new Promise<never>((_, reject) => {
    fail = reject;
  });
  late.catch(() => {}); // Nobody waits for it while a chunk is worked on.
  const failAfter = (ms: number | undefined, message: string): NodeJS.Timeout | undefined =>
    ms === undefined ? undefined : setTimeout(() => fail(toWire(new HeddleError("deadline_exceeded", message))), ms);
  const quiet = failAfter(quietMs, "The request did not arrive in time");
  const longest = failAfter(longestMs, "The request did not arrive in time");
  const deadline = failAfter(deadlineMs, "The caller's deadline has passed");
  return {
    late,
    heard: () => void quiet?.refresh(),
    stop: () => [quiet, longest, deadline].forEach((timer) => void clearTimeout(timer)),
  };
}

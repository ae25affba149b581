// A request that is made again until it is answered. Only for those that may be made twice.
import { ConnectError } from "@connectrpc/connect";
import { type Backoff, countAttempts, defaultBackoff } from "./backoff.js";
import { isResumable } from "./resumable.js";
import { pause } from "./wait.js";

export interface InsistOptions {
  /** Ends the tries; what is thrown then is its reason. */
  readonly signal: AbortSignal;
  readonly backoff?: Partial<Backoff>;
}

/** `attempt`: 1 for the first. Throws what the server decided about the request. */
export async function insist<Answer>(
  request: (attempt: number) => Promise<Answer>,
  { signal, backoff }: InsistOptions,
): Promise<Answer> {
  const attempts = countAttempts({ ...defaultBackoff, ...backoff });
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await request(attempt);
    } catch (reason) {
      signal.throwIfAborted();
      const error = ConnectError.from(reason);
      const delayMs = isResumable(error) ? attempts.nextDelayMs() : undefined;
      if (delayMs === undefined) throw error;
      await pause(delayMs, signal);
    }
  }
}

// How long to wait before the next try, and when to stop trying.

export interface Backoff {
  /** Before the first retry, at most. Doubles with each try that brought nothing new. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Tries in a row without a sign of the server before the caller gets the last error. */
  readonly maxAttempts: number;
  /** The same, as long as the server has never answered. */
  readonly maxFirstAttempts: number;
  /** From 0 up to 1. Spreads the clients of one server, so that they do not all return in the same moment. */
  readonly random: () => number;
}

export const defaultBackoff: Backoff = {
  firstDelayMs: 200,
  maxDelayMs: 10_000,
  maxAttempts: 100,
  maxFirstAttempts: 100,
  random: Math.random,
};

export interface Attempts {
  /** The server has answered: it is there. */
  answered(): void;
  /** Something new arrived: the next wait is short again. An answer alone does not do: a server may answer and break each time. */
  progressed(): void;
  /** The wait before the next try, between half and all of the current step; undefined when it is time to give up. */
  nextDelayMs(): number | undefined;
}

export function countAttempts(backoff: Backoff): Attempts {
  let everAnswered = false;
  let unanswered = 0;
  let step = 0;
  return {
    answered() {
      everAnswered = true;
      unanswered = 0;
    },
    progressed() {
      step = 0;
    },
    nextDelayMs() {
      unanswered++;
      if (unanswered >= (everAnswered ? backoff.maxAttempts : backoff.maxFirstAttempts)) return undefined;
      const delay = Math.min(backoff.maxDelayMs, backoff.firstDelayMs * 2 ** step);
      step++;
      return delay * (0.5 + backoff.random() / 2);
    },
  };
}

// Two waits that end early when the caller leaves. Timers of the platform only: this runs in browsers too.
import { Code, ConnectError } from "@connectrpc/connect";

/** The next value, or DEADLINE_EXCEEDED when none comes in time. A value that comes later is lost: drop the iterator then. */
export function nextWithin<Value>(
  iterator: AsyncIterator<Value>,
  limitMs: number,
  signal: AbortSignal,
): Promise<IteratorResult<Value>> {
  return withTimer(limitMs, signal, (resolve, reject) => {
    iterator.next().then(resolve, reject);
    return () => reject(new ConnectError(`the server was silent for ${limitMs} ms`, Code.DeadlineExceeded));
  });
}

export const pause = (delayMs: number, signal: AbortSignal): Promise<void> =>
  withTimer(delayMs, signal, (resolve) => () => resolve());

/** Contract: `start` returns what happens when the time is up. Rejects with the signal's reason when it is aborted first. */
function withTimer<Value>(
  ms: number,
  signal: AbortSignal,
  start: (resolve: (value: Value) => void, reject: (reason: unknown) => void) => () => void,
): Promise<Value> {
  let cleanUp = () => {};
  const promise = new Promise<Value>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(start(resolve, reject), ms);
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave);
    cleanUp = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    };
  });
  return promise.finally(cleanUp);
}

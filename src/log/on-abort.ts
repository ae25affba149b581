// One listener a signal, however many wait on it: an EventTarget looks through all its listeners on every add and remove,
// which is quadratic when thousands of streams share a signal. The listener stays until the signal aborts or is forgotten: who
// waits once waits again.
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back once when the signal aborts. Returns what takes the callback away again. The signal must not be aborted yet. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = callbacks.get(signal) ?? listen(signal);
  waiting.add(callback);
  return () => void waiting.delete(callback);
}

function listen(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  callbacks.set(signal, waiting);
  signal.addEventListener("abort", callAll, { once: true });
  return waiting;
}

function callAll(event: Event): void {
  const signal = event.target as AbortSignal;
  const waiting = callbacks.get(signal);
  callbacks.delete(signal);
  for (const callback of waiting ?? []) callback();
}

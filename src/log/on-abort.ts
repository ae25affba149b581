// One listener a signal, however many wait on it: an EventTarget looks through all its listeners on every add and remove,
// which is quadratic when thousands of streams share a signal.
const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back once when the signal aborts. Returns what takes the callback away again. The signal must not be aborted yet. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = callbacks.get(signal) ?? listen(signal);
  waiting.add(callback);
  return () => {
    waiting.delete(callback);
    if (waiting.size === 0) stopListening(signal);
  };
}

function listen(signal: AbortSignal): Set<() => void> {
  const waiting = new Set<() => void>();
  callbacks.set(signal, waiting);
  signal.addEventListener("abort", callAll);
  return waiting;
}

function stopListening(signal: AbortSignal): void {
  signal.removeEventListener("abort", callAll);
  callbacks.delete(signal);
}

function callAll(event: Event): void {
  const signal = event.target as AbortSignal;
  const waiting = callbacks.get(signal);
  stopListening(signal);
  for (const callback of waiting ?? []) callback();
}

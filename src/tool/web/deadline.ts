// Work under a caller's signal and a limit of time. Whatever the work breaks with once it was stopped, what is thrown is why
// it was stopped.

export interface Limit {
  readonly signal: AbortSignal;
  readonly ms: number;
  /** What is thrown when time is up. */
  late(): Error;
}

export async function within<Result>(
  { signal, ms, late }: Limit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const control = new AbortController();
  const onAbort = (): void => control.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => control.abort(late()), ms);
  try {
    return await work(control.signal);
  } catch (reason) {
    throw control.signal.aborted ? control.signal.reason : reason;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

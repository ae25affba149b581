// Work under two signals. Not AbortSignal.any: with Node 20 what it makes stays for as long as the longer-lived signal does.

export async function either<T>(a: AbortSignal, b: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  a.throwIfAborted();
  b.throwIfAborted();
  const control = new AbortController();
  const onA = (): void => control.abort(a.reason);
  const onB = (): void => control.abort(b.reason);
  a.addEventListener("abort", onA, { once: true });
  b.addEventListener("abort", onB, { once: true });
  try {
    return await work(control.signal);
  } finally {
    a.removeEventListener("abort", onA);
    b.removeEventListener("abort", onB);
  }
}

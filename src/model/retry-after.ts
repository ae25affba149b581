// How long a provider asks to wait, whichever way it says so.

/** Nobody waits longer, whatever is asked. */
export const maxRetryAfterMs = 10 * 60_000;

/** From `retry-after-ms`, or from `retry-after` in seconds or as a date. Undefined: nothing that can be understood. */
export function retryAfterMs(headers: Headers): number | undefined {
  const exact = decimal(headers.get("retry-after-ms"));
  if (exact !== undefined) return bounded(exact);
  const text = headers.get("retry-after");
  const seconds = decimal(text);
  if (seconds !== undefined) return bounded(seconds * 1000);
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : bounded(at - Date.now());
}

const decimal = (text: string | null): number | undefined =>
  text !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;

const bounded = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), maxRetryAfterMs);

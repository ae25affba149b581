// The end of the server: say goodbye, let open work end, cut what is left.
import type { Http1Side } from "./http1.js";
import type { Http2Side } from "./http2.js";
import type { PingSweep } from "./ping-sweep.js";
import type { Port } from "./port.js";

/** Once nothing is open any more: how long peers may take to close their side. */
const lingerMs = 500;
const pollMs = 10;

interface DrainOptions {
  readonly port: Port;
  readonly http1: Http1Side;
  readonly http2: Http2Side;
  readonly pings: PingSweep;
  readonly shutdown: AbortController;
  readonly drainMs: number;
}

/** Resolves when the last socket is closed, at the latest a moment after `drainMs`. */
export async function drain({ port, http1, http2, pings, shutdown, drainMs }: DrainOptions): Promise<void> {
  port.stopAccepting();
  http2.drain();
  shutdown.abort();
  http1.drain();

  const isIdle = () => http1.open.size === 0 && http2.openStreams() === 0;
  await until(() => isIdle(), drainMs);
  if (isIdle()) await until(() => port.sockets.size === 0, Math.min(lingerMs, drainMs));

  pings.stop();
  http1.close();
  port.destroyAll();
  await until(() => port.sockets.size === 0, lingerMs);
}

/** Polls: the end of a server is no hot path, and this cannot miss an event. */
async function until(done: () => boolean, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!done() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, pollMs));
}

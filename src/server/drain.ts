// The end of the server: say goodbye, let open work end, cut what is left.
import type { Http1Side } from "./http1.js";
import type { Http2Side } from "./http2.js";
import type { PingSweep } from "./ping-sweep.js";
import type { Port } from "./port.js";

/** How long peers may take to close their side once nothing of theirs is open any more. */
const lingerMs = 500;

interface DrainOptions {
  readonly port: Port;
  readonly http1: Http1Side;
  readonly http2: Http2Side;
  readonly pings: PingSweep;
  readonly shutdown: AbortController;
  readonly drainMs: number;
}

/** Resolves when the last socket is closed. Open work gets `drainMs`, and nothing more. */
export async function drain({ port, http1, http2, pings, shutdown, drainMs }: DrainOptions): Promise<void> {
  port.stopAccepting();
  shutdown.abort();
  http2.drain();
  http1.drain();

  const ended = await within(drainMs, Promise.all([http1.requests.whenEmpty(), http2.streams.whenEmpty()]));
  if (ended) await within(lingerMs, port.sockets.whenEmpty());

  pings.stop();
  http1.close();
  port.destroyAll();
  await port.sockets.whenEmpty();
}

/** False when the time ran out first. */
async function within(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  const ended = await Promise.race([work.then(() => true), limit]);
  clearTimeout(timer);
  return ended;
}

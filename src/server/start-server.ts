// Puts the pieces together: port → HTTP/1.1 or HTTP/2 → edge → doors. Composition calls this and nothing else here.
import { setMaxListeners } from "node:events";
import type { AddressInfo } from "node:net";
import { checkBind, isLoopback } from "./bind-policy.js";
import { drain } from "./drain.js";
import { createEdge } from "./edge.js";
import { createHttp1Side } from "./http1.js";
import { createHttp2Side } from "./http2.js";
import type { ServerOptions } from "./options.js";
import { startPingSweep } from "./ping-sweep.js";
import { createPort } from "./port.js";

export interface RunningServer {
  /** As bound, such as `127.0.0.1`. */
  readonly address: string;
  readonly port: number;
  gauges(): ServerGauges;
  /** Stops taking requests, lets open ones end for `drainMs`, then cuts them. Never rejects; a second call joins the first. */
  close(options?: { drainMs?: number }): Promise<void>;
  /** Aborted when `close` begins: streams should end themselves. */
  readonly shutdownSignal: AbortSignal;
}

/** Open now, except where said. */
export interface ServerGauges {
  readonly sockets: number;
  /** HTTP/2 connections. */
  readonly sessions: number;
  /** HTTP/2 streams. */
  readonly streams: number;
  /** HTTP/1.1 requests. */
  readonly requests: number;
  /** Connections ever closed because there were too many. */
  readonly refusedConnections: number;
  /** HTTP/2 connections ever given up because a ping stayed unanswered. */
  readonly lostPeers: number;
}

/** Rejects with `invalid_config` that says what to change. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  checkBind(options.listen.host, { hasTokens: options.tokens.length > 0 });
  const shutdown = options.shutdown ?? new AbortController();
  setMaxListeners(0, shutdown.signal); // One listener a stream is normal, not a leak.

  const edge = createEdge({ ...options, isClosing: () => shutdown.signal.aborted });
  const http1 = createHttp1Side({ ...options, onRequest: edge.request });
  const http2 = createHttp2Side({ ...options, onStream: edge.stream });
  const port = createPort({
    ...options,
    onConnection: (socket, protocol) => (protocol === "h2" ? http2 : http1).accept(socket),
  });
  const bound = await port.listen().catch((error: unknown) => {
    http1.close();
    throw error;
  });
  const pings = startPingSweep(http2.sessions, {
    ...options.timing,
    onLost: () => options.logger.debug({}, "an HTTP/2 peer left a ping unanswered"),
  });
  if (!options.tls && !isLoopback(bound.address)) warnAboutPlaintext(options, bound);

  let closed: Promise<void> | undefined;
  return {
    address: bound.address,
    port: bound.port,
    shutdownSignal: shutdown.signal,
    gauges: () => ({
      sockets: port.sockets.size,
      sessions: http2.sessions.size,
      streams: http2.streams.size,
      requests: http1.requests.size,
      refusedConnections: port.refused(),
      lostPeers: pings.lost(),
    }),
    close({ drainMs = options.timing.drainMs } = {}) {
      closed ??= drain({ port, http1, http2, pings, shutdown, drainMs });
      return closed;
    },
  };
}

function warnAboutPlaintext({ logger }: ServerOptions, { address, port }: AddressInfo): void {
  logger.warn(
    { address, port },
    "tokens and events travel in the clear here: configure `tls`, or put a proxy with TLS in front",
  );
}

// One listening socket for every protocol. Plaintext: the first bytes decide. TLS: ALPN does.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import { HeddleError } from "../thread/errors.js";
import { defaultTiming, type Logger, type ServerOptions } from "./options.js";
import { type Protocol, sniff } from "./sniff.js";

/** Idle time after which the kernel asks whether a peer is still there. */
const tcpKeepAliveMs = 30_000;

export interface Port {
  listen(): Promise<AddressInfo>;
  readonly sockets: ReadonlySet<Socket>;
  /** Connections closed because there were too many. */
  refused(): number;
  /** Takes no more connections, and drops those that have not asked for anything yet. */
  stopAccepting(): void;
  destroyAll(): void;
}

type PortOptions = Pick<ServerOptions, "listen" | "limits" | "timing" | "tls" | "logger"> & {
  /** Contract: the socket is paused, and holds every byte that came. */
  readonly onConnection: (socket: Socket, protocol: Protocol) => void;
};

export function createPort(options: PortOptions): Port {
  const { sniffMs } = { ...defaultTiming, ...options.timing };
  const sockets = new Set<Socket>();
  /** Accepted, and still silent about what they want. */
  const undecided = new Set<Socket>();
  const refusals = countRefusals(options.logger, options.limits.connections);
  const secure = options.tls && createSecure(options.tls, sniffMs, options.logger);

  const server = createServer({
    allowHalfOpen: true, // HTTP/1.1 clients may end their side and wait for the answer.
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
  });

  server.on("connection", (socket) => {
    if (sockets.size >= options.limits.connections) {
      refusals.add();
      return void socket.destroy();
    }
    sockets.add(socket);
    undecided.add(socket);
    socket.on("error", (error) => options.logger.debug({ err: error }, "a connection failed"));
    socket.once("close", () => {
      sockets.delete(socket);
      undecided.delete(socket);
    });
    if (secure) return void secure.emit("connection", socket);
    sniff(socket, sniffMs, (protocol) => {
      undecided.delete(socket);
      options.onConnection(socket, protocol);
    });
  });

  secure?.on("secureConnection", (socket) => {
    socket.on("error", (error) => options.logger.debug({ err: error }, "a TLS connection failed"));
    options.onConnection(socket, socket.alpnProtocol === "h2" ? "h2" : "http/1.1");
  });

  return {
    sockets,
    refused: refusals.total,
    listen: () =>
      new Promise((resolve, reject) => {
        server.once("error", (error) => reject(listenError(error, options.listen)));
        server.listen(options.listen, () => resolve(server.address() as AddressInfo));
      }),
    stopAccepting() {
      server.close(() => undefined);
      for (const socket of undecided) socket.destroy();
    },
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function createSecure(tls: NonNullable<ServerOptions["tls"]>, handshakeTimeout: number, logger: Logger): TlsServer {
  try {
    const server = createTlsServer({
      cert: tls.cert,
      key: tls.key,
      ALPNProtocols: ["h2", "http/1.1"],
      minVersion: "TLSv1.2",
      handshakeTimeout,
    });
    return server.on("tlsClientError", (error, socket) => {
      logger.debug({ err: error }, "a TLS handshake failed");
      socket.destroy();
    });
  } catch (cause) {
    throw new HeddleError(
      "invalid_config",
      "the TLS certificate and key cannot be used: give a matching pair of PEM files",
      {
        cause,
        detail: { field: "tls" },
      },
    );
  }
}

/** A flood of refusals is one line of the log a second. */
const refusalLogMs = 1_000;

function countRefusals(logger: Logger, limit: number): { add(): void; total(): number } {
  let total = 0;
  let logged = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    total: () => total,
    add() {
      total += 1;
      if (performance.now() - loggedAt < refusalLogMs) return;
      logger.warn(
        { limit, refused: total - logged },
        "too many connections: raise limits.connections if they are wanted",
      );
      logged = total;
      loggedAt = performance.now();
    },
  };
}

function listenError(error: NodeJS.ErrnoException, { host, port }: ServerOptions["listen"]): HeddleError {
  const where = `${host}:${port}`;
  const text =
    {
      EADDRINUSE: `${where} is in use: stop the process that listens there, or listen on another port (0 picks a free one)`,
      EACCES: `no permission to listen on ${where}: choose a port above 1023`,
      EADDRNOTAVAIL: `${where} is not an address of this machine: listen on 127.0.0.1, or on one that it has`,
      ENOTFOUND: `the host of ${where} cannot be resolved: listen on 127.0.0.1, or on a name that it has`,
    }[error.code ?? ""] ?? `cannot listen on ${where}: ${error.message}`;
  return new HeddleError("invalid_config", text, { cause: error, detail: { field: "listen" } });
}

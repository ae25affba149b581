// One listening socket for every protocol. Plaintext: the first bytes decide. TLS: ALPN does.
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import { HeddleError } from "../thread/errors.js";
import { listen } from "./listen.js";
import { OpenSet } from "./open-set.js";
import { defaultTiming, type Logger, type ServerOptions } from "./options.js";
import { createRareLog } from "./rare-log.js";
import { type Protocol, sniff } from "./sniff.js";

/** Idle time after which the kernel asks whether a peer is still there. */
const tcpKeepAliveMs = 30_000;

export interface Port {
  listen(): Promise<AddressInfo>;
  readonly sockets: OpenSet<Socket>;
  /** Connections ever closed because there were too many. */
  refused(): number;
  /** Takes no more connections, nor those that have not said yet what they speak. */
  stopAccepting(): void;
  destroyAll(): void;
}

type PortOptions = Pick<ServerOptions, "listen" | "limits" | "timing" | "tls" | "logger"> & {
  /** The socket holds every byte that came, and may be paused. */
  readonly onConnection: (socket: Socket, protocol: Protocol) => void;
};

export function createPort({ limits, timing, tls, logger, ...options }: PortOptions): Port {
  const { sniffMs } = { ...defaultTiming, ...timing };
  const sockets = new OpenSet<Socket>();
  const secure = tls && createSecure(tls, { handshakeTimeout: sniffMs, logger });
  const refusals = createRareLog((facts) =>
    logger.warn(
      { ...facts, limit: limits.connections },
      "too many connections: raise limits.connections if all are wanted",
    ),
  );
  const acceptFailures = createRareLog((facts) => logger.error(facts, "a connection could not be accepted"));
  let accepting = true;

  const server = createServer({
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
  });

  server.on("connection", (socket) => {
    if (sockets.size >= limits.connections) {
      refusals.add();
      return void socket.destroy();
    }
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", (error) => logger.debug({ err: error }, "a connection failed"));
    if (secure) secure.emit("connection", socket);
    else sniff(socket, sniffMs, (protocol) => take(socket, protocol));
  });

  secure?.on("secureConnection", (socket) => {
    socket.on("error", (error) => logger.debug({ err: error }, "a TLS connection failed"));
    take(socket, socket.alpnProtocol === "h2" ? "h2" : "http/1.1");
  });

  const take = (socket: Socket, protocol: Protocol): void => {
    if (accepting) options.onConnection(socket, protocol);
    else socket.destroy();
  };

  return {
    sockets,
    refused: refusals.total,
    async listen() {
      const bound = await listen(server, options.listen);
      server.on("error", (error) => acceptFailures.add({ err: error }));
      return bound;
    },
    stopAccepting() {
      accepting = false;
      server.close(() => undefined);
    },
    destroyAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface SecureOptions {
  readonly handshakeTimeout: number;
  readonly logger: Logger;
}

function createSecure(tls: NonNullable<ServerOptions["tls"]>, { handshakeTimeout, logger }: SecureOptions): TlsServer {
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
    const message = "the TLS certificate and key cannot be used: give a matching pair of PEM files";
    throw new HeddleError("invalid_config", message, { cause, detail: { field: "tls" } });
  }
}

// The HTTP/1.1 side: an http.Server that never listens, and is given its sockets.
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { lingerForBody } from "./body.js";
import { OpenSet } from "./open-set.js";
import { defaultTiming, type Logger, type ServerLimits, type ServerTiming } from "./options.js";

/** The parser gives up at so many times the limit. In between, the edge refuses with words. */
const parserHeaderFactor = 2;

export interface Http1Side {
  accept(socket: Socket): void;
  /** Those whose answer is not over. */
  readonly requests: OpenSet<ServerResponse>;
  /** No connection outlives the request it carries now. */
  drain(): void;
  close(): void;
}

interface Connection {
  /** Those that are not over. */
  readonly responses: Set<ServerResponse>;
  /** What had been read when the last one was over: more is the beginning of the next request. */
  bytesAtRest: number;
}

interface Http1Options {
  readonly limits: ServerLimits;
  readonly timing: ServerTiming;
  readonly logger: Logger;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
}

export function createHttp1Side(options: Http1Options): Http1Side {
  const timing = { ...defaultTiming, ...options.timing };
  const requests = new OpenSet<ServerResponse>();
  const connections = new Map<Socket, Connection>();
  let draining = false;

  const server: Server = createServer({
    maxHeaderSize: parserHeaderFactor * options.limits.headerBytes,
    headersTimeout: timing.headersMs,
    requestTimeout: timing.requestMs,
    keepAliveTimeout: timing.keepAliveMs,
    connectionsCheckingInterval: Math.ceil(Math.min(timing.headersMs, timing.requestMs) / 4),
  });
  // Their bytes are bounded. Of more than 2,000 Node would leave the rest out, unseen and uncounted.
  server.maxHeadersCount = 0;
  // Only a listening server checks its timeouts: without this, a client that sends its headers a byte a minute stays.
  server.emit("listening");

  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const connection = connections.get(socket);
    requests.add(response);
    connection?.responses.add(response);
    response.once("close", () => {
      requests.delete(response);
      connection?.responses.delete(response);
      if (connection) connection.bytesAtRest = socket.bytesRead;
      if (draining) socket.destroySoon();
    });
    lingerForBody(request, response);
    if (draining) response.setHeader("connection", "close");
    options.onRequest(request, response);
  };
  server.on("request", receive);
  // The body is invited by the edge, once it knows who asks.
  server.on("checkContinue", receive);
  server.on("clientError", (error, socket) => {
    options.logger.debug({ err: error }, "a client sent something that is not HTTP");
    answerBadRequest(error, socket as Socket);
  });

  return {
    requests,
    accept(socket) {
      const connection: Connection = { responses: new Set(), bytesAtRest: 0 };
      connections.set(socket, connection);
      socket.once("close", () => {
        connections.delete(socket);
        connection.responses.forEach(giveUp);
      });
      server.emit("connection", socket);
      socket.resume();
    },
    drain() {
      draining = true;
      for (const response of requests) if (!response.headersSent) response.setHeader("connection", "close");
      // Not closeIdleConnections(): it takes a connection for idle whose answer has been ended and not yet been read.
      for (const [socket, { responses, bytesAtRest }] of connections)
        if (responses.size === 0 && socket.bytesRead === bytesAtRest) socket.destroy();
    },
    close() {
      // Never listened, so that there is nothing to close but the timers and what is idle.
      server.close(() => undefined);
    },
  };
}

/**
 * An answer that waits behind another one of its connection (pipelining) has no socket yet, and Node never tells it that
 * the connection is gone. Whoever writes it would wait for ever.
 */
function giveUp(response: ServerResponse): void {
  if (response.socket !== null) return;
  response.destroy();
  response.emit("close");
}

function answerBadRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const status = clientErrorStatus[error.code ?? ""] ?? 400;
  // In the middle of an answer, a second status line would be read as a part of its body.
  const answering = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage?.headersSent ?? false;
  if (!answering)
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  socket.destroySoon();
}

const clientErrorStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

// Node's requests to Connect's handlers and back. Beside what connect-node's own adapter does, a body has a bound of time.
import { Http2ServerRequest } from "node:http2";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
} from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Exchange } from "../../server/exchange.js";
import type { RequestHandler } from "../../server/options.js";
import { longestMs, quietMs } from "../../server/read-body.js";
import { bodyInTime, type TimeBounds } from "./body-in-time.js";
import { dialectOf } from "./dialect.js";
import { timeoutOf } from "./lane-call.js";
import { contextOf } from "./principal.js";
import { outliveReader, stopBodyWhenAnswered } from "./unread-body.js";

export interface AdapterOptions extends Pick<ConnectRouterOptions, "interceptors" | "readMaxBytes" | "binaryOptions"> {
  readonly routes: (router: ConnectRouter) => void;
  /** Answers what has no route. */
  readonly notFound: (exchange: Exchange) => void;
}

const acceptCompression: Compression[] = [compressionGzip, compressionBrotli];

export function createAdapter({ routes, notFound, ...options }: AdapterOptions): RequestHandler {
  const router = createConnectRouter({ ...options, acceptCompression });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response, exchange) => {
    const handler = handlers.get(exchange.path);
    return handler ? serve(handler, { request, response, exchange }) : notFound(exchange);
  };
}

interface Call {
  readonly request: Parameters<RequestHandler>[0];
  readonly response: Parameters<RequestHandler>[1];
  readonly exchange: Exchange;
}

async function serve(handler: UniversalHandler, { request, response, exchange }: Call): Promise<void> {
  outliveReader(request);
  if (request instanceof Http2ServerRequest) stopBodyWhenAnswered(request.stream, { body: request, trailers: true });
  const values = contextOf(exchange.principal);
  const body = bodyInTime(request, boundsOf(handler, exchange));
  try {
    const asked = { ...universalRequestFromNodeRequest(request, response, undefined, values), body };
    await universalResponseToNodeResponse(await handler(asked), response);
  } catch (reason) {
    if (ConnectError.from(reason).code !== Code.Aborted) throw reason; // Aborted: the caller has gone.
  }
}

/** A caller that sends message after message may be quiet between them; one that sends a single one may not. */
function boundsOf({ method }: UniversalHandler, exchange: Exchange): TimeBounds {
  const deadlineMs = deadlineOf(exchange);
  const isOneMessage = method.methodKind === "unary" || method.methodKind === "server_streaming";
  return isOneMessage ? { quietMs, longestMs, deadlineMs } : { deadlineMs };
}

function deadlineOf(exchange: Exchange): number | undefined {
  try {
    return timeoutOf({ exchange, dialect: dialectOf(exchange.contentType) });
  } catch {
    return undefined; // The handler says what is wrong with it.
  }
}

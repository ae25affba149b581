// Node's requests to Connect's handlers and back. Beside what connect-node's own adapter does, a body has a bound of time, and
// what the handlers refuse by themselves has details like every other error.
import { Http2ServerRequest } from "node:http2";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createContextKey,
  type Interceptor,
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
import { HeddleError } from "../../thread/errors.js";
import { bodyInTime, type TimeBounds } from "./body-in-time.js";
import { dialectOf } from "./dialect.js";
import { withDetails } from "./handler-error.js";
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
  const interceptors = [noteArrival, ...(options.interceptors ?? [])];
  const router = createConnectRouter({ ...options, interceptors, acceptCompression });
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
    const answer = await handler(asked);
    // An answer of many messages is never read here: it may last for as long as its thread does.
    const isOurs = values.get(arrivedKey) || handler.method.methodKind !== "unary";
    await universalResponseToNodeResponse(
      isOurs ? answer : await withDetails(answer, dialectOf(exchange.contentType), acceptCompression),
      response,
    );
  } catch (reason) {
    if (reason instanceof URIError && !values.get(arrivedKey)) throw unquotable(reason);
    if (ConnectError.from(reason).code !== Code.Aborted) throw reason; // Aborted: the caller has gone.
  }
}

/** The handler wants to quote a text of the request in a header, and cannot. */
function unquotable(cause: URIError): HeddleError {
  const rule = "must be text of whole Unicode characters, without half of a surrogate pair";
  return new HeddleError("invalid_field", `What the request says ${rule}`, { detail: { field: "", rule }, cause });
}

/** Whether a call has come to our code: its errors are translated there. */
const arrivedKey = createContextKey(false, { description: "arrived" });

const noteArrival: Interceptor = (next) => (request) => {
  request.contextValues.set(arrivedKey, true);
  return next(request);
};

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

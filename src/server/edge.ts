// What happens to every request before a door sees it, in one order for all of them:
//   /healthz → closing? → target → Host → Origin → preflight → header size → token → doors → fallback.
// No body is read before the token has been checked. Neighbours: port.ts brings the bytes, doors answer.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { HeddleError } from "../thread/errors.js";
import { answer, handOver } from "./answer.js";
import { checkHost } from "./bind-policy.js";
import { createOriginPolicy } from "./cors.js";
import type { Exchange, Http1Transport, Http2Transport } from "./exchange.js";
import type { ServerOptions } from "./options.js";
import { createAuthenticate } from "./tokens.js";

export interface Edge {
  request(request: IncomingMessage, response: ServerResponse): void;
  stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void;
}

type EdgeOptions = Pick<
  ServerOptions,
  "listen" | "doors" | "fallback" | "reject" | "limits" | "tokens" | "allowedOrigins" | "logger"
> & {
  readonly isClosing: () => boolean;
};

export function createEdge(options: EdgeOptions): Edge {
  const origins = createOriginPolicy(options.allowedOrigins);
  const authenticate = createAuthenticate(options.tokens);

  function serve(exchange: Exchange): void {
    try {
      if (exchange.path === "/healthz") return void answerHealth(exchange);
      admit(exchange);
      if (isPreflight(exchange)) return void answerPreflight(exchange);
      checkHeaderBytes(exchange, options.limits.headerBytes);
      open({ ...exchange, principal: authenticate(exchange.headers.authorization) });
    } catch (error) {
      refuse(exchange, error);
    }
  }

  function answerHealth(exchange: Exchange): void {
    answer(exchange, options.isClosing() ? { status: 503, text: "closing\n" } : { status: 200, text: "ok\n" });
  }

  function admit(exchange: Exchange): void {
    if (options.isClosing()) throw new HeddleError("shutting_down", "the server is closing: try again shortly");
    const authority = checkTarget(exchange);
    if (options.tokens.length === 0) checkHost(authority, options.listen.host);
    origins.check(exchange.headers.origin, authority);
  }

  function answerPreflight(exchange: Exchange): void {
    answer(exchange, { status: 204, headers: origins.preflightHeaders(exchange.headers.origin ?? "") });
  }

  function open(exchange: Exchange): void {
    inviteBody(exchange);
    for (const door of options.doors) if (door(exchange)) return;
    const promised = handOver(exchange, options.fallback);
    if (promised instanceof Promise) promised.catch((error: unknown) => refuse(exchange, error));
  }

  function refuse(exchange: Exchange, reason: unknown): void {
    const error = reason instanceof HeddleError ? reason : unexpected(exchange, reason);
    try {
      if (isAnswering(exchange)) return void destroy(exchange);
      options.reject({ ...exchange, responseHeaders: refusalHeaders(exchange, error) }, error);
      discardBody(exchange);
    } catch (cause) {
      options.logger.error({ err: cause, path: exchange.path }, "a refusal could not be written");
      destroy(exchange);
    }
  }

  function unexpected(exchange: Exchange, reason: unknown): HeddleError {
    options.logger.error({ err: reason, path: exchange.path }, "a request failed for a reason nobody foresaw");
    return new HeddleError("internal", "the server failed; its log says more", { cause: reason });
  }

  const exchangeOf = (parts: Pick<Exchange, "method" | "headers" | "transport"> & { target: string }): Exchange => ({
    method: parts.method,
    path: before(parts.target, "?"),
    headers: parts.headers,
    contentType: before(parts.headers["content-type"] ?? "", ";")
      .trim()
      .toLowerCase(),
    transport: parts.transport,
    responseHeaders: origins.responseHeaders(parts.headers.origin),
    principal: "",
  });

  return {
    request(request, response) {
      response.on("error", (error) => options.logger.debug({ err: error }, "an answer could not be written"));
      const transport: Http1Transport = { version: 1, request, response };
      serve(
        exchangeOf({ method: request.method ?? "", target: request.url ?? "", headers: request.headers, transport }),
      );
    },
    stream(stream, headers, rawHeaders) {
      stream.on("error", (error) => options.logger.debug({ err: error }, "a stream failed"));
      const transport: Http2Transport = { version: 2, stream, rawHeaders };
      serve(exchangeOf({ method: headers[":method"] ?? "", target: headers[":path"] ?? "", headers, transport }));
    },
  };
}

/** The authority that the request names. Refuses targets that no handler could make sense of. */
function checkTarget(exchange: Exchange): string {
  const authority = (exchange.headers as IncomingHttpHeaders)[":authority"] ?? exchange.headers.host;
  if (!authority) throw invalid("host", "a Host (or :authority) header");
  if (!/^\/(?!\/)/.test(exchange.path)) throw invalid("path", "a path that starts with one slash");
  return authority;
}

const invalid = (field: string, rule: string) =>
  new HeddleError("invalid_field", `the request needs ${rule}`, { detail: { field, rule } });

const isPreflight = ({ method, headers }: Exchange): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

function checkHeaderBytes({ transport }: Exchange, limit: number): void {
  const raw = transport.version === 1 ? transport.request.rawHeaders : transport.rawHeaders;
  let bytes = transport.version === 1 ? (transport.request.url?.length ?? 0) : 0;
  for (const part of raw) bytes += part.length;
  if (bytes <= limit) return;
  throw new HeddleError(
    "limit_exceeded",
    `the headers have ${bytes} bytes, and at most ${limit} are accepted: send fewer`,
    {
      detail: { limit: "headerBytes" },
    },
  );
}

/** Clients that ask before they send a body (`expect: 100-continue`) are told to go on only once they are known. */
function inviteBody({ headers, transport }: Exchange): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  if (transport.version === 1) transport.response.writeContinue();
  else transport.stream.additionalHeaders({ ":status": 100 });
}

function refusalHeaders(exchange: Exchange, error: HeddleError): Exchange["responseHeaders"] {
  if (error.code !== "unauthenticated") return exchange.responseHeaders;
  return { ...exchange.responseHeaders, "www-authenticate": 'Bearer realm="heddle"' };
}

/** What a refused HTTP/1.1 request may still send for its connection to be used again. */
const discardedBodyBytes = 64 * 1024;

/**
 * A refused request's body is in the way of the next request. A short one is thrown away unread; the connection of a
 * longer one is closed. HTTP/2 resets the stream instead, which Node does by itself for a body that nobody reads.
 */
function discardBody({ transport }: Exchange): void {
  if (transport.version === 2) return;
  const { request } = transport;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBodyBytes) request.socket.destroySoon();
  });
}

const isAnswering = ({ transport }: Exchange): boolean =>
  (transport.version === 1 ? transport.response : transport.stream).headersSent;

function destroy({ transport }: Exchange): void {
  if (transport.version === 1) transport.response.destroy();
  else transport.stream.close(2); // INTERNAL_ERROR
}

function before(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

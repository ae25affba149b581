// What happens to every request before a door sees it, in one order for all of them:
//   /healthz → closing? → target → Host → Origin → preflight → header size → token → doors → fallback.
// No body is read before the token has been checked. Neighbours: port.ts brings the bytes, doors answer.
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { HeddleError } from "../thread/errors.js";
import { answer, handOver } from "./answer.js";
import { checkHost } from "./bind-policy.js";
import { inviteBody, uninviteBody } from "./body.js";
import { createOriginPolicy } from "./cors.js";
import type { Exchange, Http1Transport, Http2Transport } from "./exchange.js";
import type { ServerOptions } from "./options.js";
import { checkHeaderBytes, checkTarget, isHealthCheck, isPreflight } from "./rules.js";
import { createAuthenticate } from "./tokens.js";

export interface Edge {
  request(request: IncomingMessage, response: ServerResponse): void;
  stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void;
}

type EdgeOptions = Pick<
  ServerOptions,
  "listen" | "doors" | "fallback" | "reject" | "limits" | "tokens" | "allowedOrigins" | "doorMethods" | "logger"
> & {
  readonly isClosing: () => boolean;
};

export function createEdge(options: EdgeOptions): Edge {
  const origins = createOriginPolicy(options.allowedOrigins, options.doorMethods);
  const authenticate = createAuthenticate(options.tokens);

  function serve(exchange: Exchange): void {
    try {
      if (isHealthCheck(exchange)) return void answerHealth(exchange);
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
      uninviteBody(exchange);
      options.reject({ ...exchange, responseHeaders: refusalHeaders(exchange, error) }, error);
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
    query: parts.target.slice(before(parts.target, "?").length + 1),
    headers: parts.headers,
    contentType: before(parts.headers["content-type"] ?? "", ";")
      .trim()
      .toLowerCase(),
    transport: parts.transport,
    responseHeaders: origins.responseHeaders(parts.headers.origin),
    principal: "",
  });

  // Clients break off all the time; without a listener each would take the process with it.
  const onTransportError = (error: Error): void => options.logger.debug({ err: error }, "a client broke off");

  return {
    request(request, response) {
      response.on("error", onTransportError);
      const transport: Http1Transport = { version: 1, request, response };
      serve(
        exchangeOf({ method: request.method ?? "", target: request.url ?? "", headers: request.headers, transport }),
      );
    },
    stream(stream, headers, rawHeaders) {
      stream.on("error", onTransportError);
      const transport: Http2Transport = { version: 2, stream, rawHeaders };
      serve(exchangeOf({ method: headers[":method"] ?? "", target: headers[":path"] ?? "", headers, transport }));
    },
  };
}

function refusalHeaders(exchange: Exchange, error: HeddleError): Exchange["responseHeaders"] {
  if (error.code !== "unauthenticated") return exchange.responseHeaders;
  return { ...exchange.responseHeaders, "www-authenticate": 'Bearer realm="heddle"' };
}

const isAnswering = ({ transport }: Exchange): boolean =>
  (transport.version === 1 ? transport.response : transport.stream).headersSent;

function destroy({ transport }: Exchange): void {
  if (transport.version === 1) transport.response.destroy();
  else transport.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

function before(text: string, mark: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

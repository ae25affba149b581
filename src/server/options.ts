// What the server is built from, and the bounds that have a sensible value of their own.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { HeddleError } from "../thread/errors.js";
import type { Door, Exchange } from "./exchange.js";

export interface ServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Asked in order; the first that takes an exchange answers it. */
  readonly doors: readonly Door[];
  /** Answers what no door takes. */
  readonly fallback: RequestHandler;
  /** Answers a refused exchange in the words of its wire protocol. Contract: writes a whole answer, reads no body. */
  readonly reject: Reject;
  readonly limits: ServerLimits;
  readonly timing: ServerTiming;
  /** Empty: nobody is asked for one, and only loopback may be bound. */
  readonly tokens: readonly Token[];
  /** Origins such as `https://app.example.com` whose pages may call. */
  readonly allowedOrigins: readonly string[];
  /** HTTP methods of the doors that no RPC uses, such as DELETE: those pages may use them too. */
  readonly doorMethods?: readonly string[];
  /** PEM texts. Absent: plaintext. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  readonly logger: Logger;
  /** Aborted when the server begins to close. Give one to let doors that are built first share it. */
  readonly shutdown?: AbortController | undefined;
}

/** Any Node request handler, such as the one connectNodeAdapter makes. A promise it returns may reject. */
export type RequestHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  exchange: Exchange,
) => unknown;

export type Reject = (exchange: Exchange, error: HeddleError) => void;

export interface Token {
  readonly name: string;
  readonly token: string;
}

export interface ServerLimits {
  /** Open sockets. One more is closed at once. */
  readonly connections: number;
  /** Open HTTP/2 streams of one connection. */
  readonly streamsPerConnection: number;
  /** Names and values of a request's headers. More is `limit_exceeded`; far more ends the connection. */
  readonly headerBytes: number;
}

export interface ServerTiming {
  /** Quiet time after which an HTTP/2 peer is pinged. */
  readonly pingMs: number;
  /** A peer that leaves a ping unanswered for so long is gone. */
  readonly pingTimeoutMs: number;
  /** How long open requests may take to end when the server closes. */
  readonly drainMs: number;
  /** Until a connection has said which protocol it speaks (its first bytes, or the TLS handshake). */
  readonly sniffMs?: number;
  /** Until the headers of an HTTP/1.1 request are complete. */
  readonly headersMs?: number;
  /** Until the body of an HTTP/1.1 request is complete. The answer may take as long as it likes. For HTTP/2: read-body.ts. */
  readonly requestMs?: number;
  /** How long an idle HTTP/1.1 connection is kept. Above the 60 s after which many proxies let go. */
  readonly keepAliveMs?: number;
}

export const defaultTiming = {
  sniffMs: 10_000,
  headersMs: 10_000,
  requestMs: 300_000,
  keepAliveMs: 75_000,
} as const;

/** The part of pino that the server uses. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

// What a request's head must be like, whoever sends it. Each rule passes or throws what the client will be told.
import type { IncomingHttpHeaders } from "node:http2";
import { HeddleError } from "../thread/errors.js";
import type { Exchange } from "./exchange.js";

/** Open to everybody, and says nothing but yes or no: what asks is a load balancer that has no token. */
export const isHealthCheck = ({ method, path }: Exchange): boolean =>
  path === "/healthz" && (method === "GET" || method === "HEAD");

export const isPreflight = ({ method, headers }: Exchange): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** The authority that the request names. Refuses targets that no handler could make sense of. */
export function checkTarget(exchange: Exchange): string {
  const authority = (exchange.headers as IncomingHttpHeaders)[":authority"] ?? exchange.headers.host;
  if (!authority) throw invalid("host", "a Host (or :authority) header");
  if (!/^\/(?!\/)/.test(exchange.path)) throw invalid("path", "a path that starts with one slash");
  return authority;
}

const invalid = (field: string, rule: string) =>
  new HeddleError("invalid_field", `the request needs ${rule}`, { detail: { field, rule } });

export function checkHeaderBytes({ transport }: Exchange, limit: number): void {
  const raw = transport.version === 1 ? transport.request.rawHeaders : transport.rawHeaders;
  let bytes = transport.version === 1 ? (transport.request.url?.length ?? 0) : 0; // HTTP/2 has it among the headers.
  for (const part of raw) bytes += part.length;
  if (bytes <= limit) return;
  const message = `the headers have ${bytes} bytes, and at most ${limit} are accepted: send fewer or shorter ones`;
  throw new HeddleError("limit_exceeded", message, { detail: { limit: "headerBytes" } });
}

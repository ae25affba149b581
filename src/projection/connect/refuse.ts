// A whole answer that is an error, in the words of whatever protocol the request speaks. Used by the edge, for every door.
import type { OutgoingHttpHeaders } from "node:http";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../../server/exchange.js";
import type { HeddleError } from "../../thread/errors.js";
import { streamingDialect } from "./dialect.js";
import { stopBodyWhenAnswered } from "./unread-body.js";
import { toWire } from "./wire-error.js";

export function refuse(exchange: Exchange, reason: HeddleError): void {
  const error = toWire(reason);
  const dialect = streamingDialect(exchange.contentType);
  const headers = { ...exchange.responseHeaders, "content-type": dialect ? exchange.contentType : "application/json" };
  if (dialect) {
    // Without a body before them, gRPC's trailers are headers.
    const trailers = dialect.endTrailers(error);
    answer(exchange, { status: 200, headers: { ...headers, ...trailers }, body: dialect.endBody(error) });
  } else {
    const body = Buffer.from(errorToJsonBytes(error, undefined));
    answer(exchange, { status: codeToHttpStatus(error.code), headers, body });
  }
}

function answer(
  { transport }: Exchange,
  { status, headers, body }: { status: number; headers: OutgoingHttpHeaders; body: Buffer },
): void {
  if (transport.version === 1) {
    if (transport.response.destroyed) return;
    transport.response.writeHead(status, { ...headers, "content-length": body.length });
    transport.response.end(body);
    return;
  }
  const { stream } = transport;
  if (stream.destroyed || stream.closed) return;
  stream.on("error", () => {});
  stopBodyWhenAnswered(stream, { body: stream, trailers: false });
  stream.respond({ ":status": status, ...headers }, { endStream: body.length === 0 });
  if (body.length > 0) stream.end(body);
}

// The few answers that the edge gives itself, and the hand-over to handlers written for Node's request and response.
import { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Exchange } from "./exchange.js";
import type { RequestHandler } from "./options.js";

export interface PlainAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** Writes a whole answer. An exchange that was answered already, or whose client has gone, is left alone. */
export function answer(exchange: Exchange, { status, headers, text = "" }: PlainAnswer): void {
  const all = { ...exchange.responseHeaders, ...(text === "" ? {} : { "content-type": "text/plain" }), ...headers };
  const { transport } = exchange;
  if (transport.version === 1) {
    if (transport.response.headersSent) return;
    transport.response.writeHead(status, all);
    transport.response.end(text);
  } else {
    if (transport.stream.headersSent || transport.stream.destroyed) return;
    transport.stream.respond({ ":status": status, ...all });
    transport.stream.end(text);
  }
}

/** Gives the exchange to a Node handler, with the headers that every answer carries already on the response. */
export function handOver(exchange: Exchange, handler: RequestHandler): unknown {
  const { transport } = exchange;
  const [request, response] =
    transport.version === 1
      ? [transport.request, transport.response]
      : [
          new Http2ServerRequest(transport.stream, exchange.headers, {}, transport.rawHeaders),
          new Http2ServerResponse(transport.stream),
        ];
  for (const [name, value] of Object.entries(exchange.responseHeaders)) response.setHeader(name, value);
  response.on("error", () => undefined);
  // Node 20 tells a writer that waits for 'drain' nothing when its client goes away; it would wait, and leak, for ever.
  response.once("close", () => {
    if (response.listenerCount("drain") > 0) response.emit("error", clientGone());
  });
  return handler(request, response, exchange);
}

const clientGone = () =>
  Object.assign(new Error("the client went away while it was being written to"), { code: "ECONNRESET" });

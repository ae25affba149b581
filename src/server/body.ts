// What becomes of a request's body before anybody has a right to be heard.
import type { IncomingMessage } from "node:http";
import type { Exchange } from "./exchange.js";

/** What a refused HTTP/1.1 request may still send for its connection to be used again. */
const discardedBodyBytes = 64 * 1024;

const asksFirst = ({ headers }: Exchange): boolean => headers.expect?.toLowerCase() === "100-continue";

/** Clients that ask before they send a body are told to go on only once they are known. */
export function inviteBody(exchange: Exchange): void {
  if (!asksFirst(exchange)) return;
  const { transport } = exchange;
  if (transport.version === 1) transport.response.writeContinue();
  else transport.stream.additionalHeaders({ ":status": 100 });
}

/**
 * Call before a refusal is written. The body of a refused HTTP/1.1 request is in the way of the next request: a short one is
 * thrown away, a longer one closes the connection. HTTP/2 needs nothing: Node resets a stream that is answered unread.
 */
export function discardBody(exchange: Exchange): void {
  const { transport } = exchange;
  if (transport.version === 2) return;
  // Whether a client that asked first will still send its body, nobody can tell: the connection is of no more use.
  if (asksFirst(exchange)) transport.response.shouldKeepAlive = false;
  countDown(transport.request, discardedBodyBytes);
}

function countDown(request: IncomingMessage, bytes: number): void {
  let left = bytes;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroySoon();
  });
}

// What becomes of a request's body that nobody reads: because nobody has a right to be heard yet, or because the answer
// came first. HTTP/2 needs none of the lingering: Node resets a stream that is answered unread.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Exchange } from "./exchange.js";

/** What a client may still send behind an HTTP/1.1 answer, to be thrown away: more than any message that is taken, and than most that are not. */
const discardedBodyBytes = 32 * 1024 * 1024;

const asksFirst = (headers: IncomingHttpHeaders): boolean => headers.expect?.toLowerCase() === "100-continue";

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

/** Clients that ask before they send a body are told to go on only once they are known. */
export function inviteBody({ headers, transport }: Exchange): void {
  if (!asksFirst(headers)) return;
  if (transport.version === 1) transport.response.writeContinue();
  else transport.stream.additionalHeaders({ ":status": 100 });
}

/** Call before a refusal: whether an uninvited body will still come, nobody can tell, so that the connection is of no more use. */
export function uninviteBody({ headers, transport }: Exchange): void {
  if (transport.version === 1 && asksFirst(headers)) transport.response.shouldKeepAlive = false;
}

/**
 * Lets a client finish its HTTP/1.1 body when the answer was faster. Node would close the last request's connection under
 * its hands, and it would hear of a broken pipe instead of, say, a wrong token.
 */
export function lingerForBody(request: IncomingMessage, response: ServerResponse): void {
  if (!hasBody(request.headers)) return;
  const { socket } = request; // Taken now: Node takes it off a request whose reader stops early.
  const isLast = !response.shouldKeepAlive;
  response.shouldKeepAlive = true;
  // Before Node's own listener, which would take the body off the wire unseen and uncounted.
  response.prependOnceListener("finish", () => {
    if (request.complete) return void (isLast && socket.destroySoon());
    if (isLast) request.once("end", () => socket.destroySoon());
    discard(request, socket, discardedBodyBytes);
  });
}

/** Throws away what comes. Beyond the bound, closes the connection. */
function discard(request: IncomingMessage, socket: Socket, bytes: number): void {
  let left = bytes;
  request.on("data", function take(chunk: Buffer) {
    left -= chunk.length;
    if (left >= 0) return;
    request.off("data", take);
    socket.destroySoon();
  });
  request.read(0); // Now it counts as being read.
}

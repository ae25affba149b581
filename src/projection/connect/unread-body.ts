// Answers that come before the end of their request: the rest of a body that nobody will read must not hold up either side.
import type { IncomingMessage } from "node:http";
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";

/** Node destroys a request whose reader stops early, and with it an HTTP/1.1 connection that still owes the answer. */
export function outliveReader(request: IncomingMessage | Http2ServerRequest): void {
  request[Symbol.asyncIterator] = () => request.iterator({ destroyOnReturn: false });
}

/** Once it is answered, an HTTP/2 client is told to send no more of its body (RFC 9113, 8.1). Trailers belong to the answer. */
export function stopBodyWhenAnswered(stream: ServerHttp2Stream, options: { body: Readable; trailers: boolean }): void {
  stream.once(options.trailers ? "wantTrailers" : "finish", () =>
    setImmediate(() => {
      if (stream.readableEnded || stream.destroyed) return;
      stream.close(constants.NGHTTP2_NO_ERROR);
      options.body.resume(); // What has come already keeps the stream from ending until it is taken.
    }),
  );
}

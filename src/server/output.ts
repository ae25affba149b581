// An answer in bytes over either HTTP version. Nothing here throws or waits when the peer has gone: `onClose` says so.
import type { OutgoingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import type { Exchange, Http1Transport, Http2Transport } from "./exchange.js";

export interface Output {
  /** The status line and headers, and whether HTTP trailers will follow the body. Once, and first. */
  start(headers: OutgoingHttpHeaders, options: { trailers: boolean }): void;
  /** False when the peer does not keep up: wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  /** The last bytes and trailers. Once, and last. */
  end(bytes: Buffer, trailers: Record<string, string> | undefined): void;
  onDrain(callback: () => void): void;
  /** The answer is over, or the peer has gone. */
  onClose(callback: () => void): void;
}

/** How long a peer that has stopped reading may take for the last bytes; it then has nothing of ours any more. */
const lastBytesMs = 30_000;

export const outputOf = (exchange: Exchange): Output =>
  exchange.transport.version === 2 ? http2Output(exchange.transport) : http1Output(exchange.transport);

function http2Output({ stream }: Http2Transport): Output {
  stream.on("error", () => {}); // 'close' follows, and is what we act upon.
  const gone = () => stream.destroyed || stream.closed;
  return {
    start: (headers, { trailers }) => {
      if (!gone()) stream.respond({ ":status": 200, ...headers }, { waitForTrailers: trailers });
    },
    write: (bytes) => gone() || stream.write(bytes),
    end: (bytes, trailers) => {
      if (gone()) return;
      if (trailers) stream.once("wantTrailers", () => stream.sendTrailers(trailers));
      if (bytes.length > 0) stream.end(bytes);
      else stream.end();
      const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), lastBytesMs).unref();
      stream.once("close", () => clearTimeout(timer));
    },
    onDrain: (callback) => stream.on("drain", callback),
    onClose: (callback) => stream.once("close", callback),
  };
}

function http1Output({ response }: Http1Transport): Output {
  response.on("error", () => {});
  return {
    start: (headers) => {
      if (!response.destroyed) response.writeHead(200, headers);
    },
    write: (bytes) => response.destroyed || response.write(bytes),
    end: (bytes) => {
      if (response.destroyed) return;
      response.end(bytes);
      const timer = setTimeout(() => response.destroy(), lastBytesMs).unref();
      response.once("close", () => clearTimeout(timer));
    },
    onDrain: (callback) => response.on("drain", callback),
    onClose: (callback) => response.once("close", callback),
  };
}

// The three protocols differ only in how a stream begins and ends. A dialect says how; the frames between are the same.
import type { ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { envelope } from "../../thread/frame.js";

export interface Dialect {
  readonly name: "grpc" | "grpc-web" | "connect";
  /** The request header that holds the time the caller will wait. */
  readonly timeoutHeader: string;
  /** The request header that names how the request's messages are compressed. */
  readonly encodingHeader: string;
  /** The last bytes of the body; empty where the end is in HTTP trailers. */
  endBody(error: ConnectError | undefined): Buffer;
  /** HTTP trailers; undefined where the end is in the body. */
  endTrailers(error: ConnectError | undefined): Record<string, string> | undefined;
}

const grpc: Dialect = {
  name: "grpc",
  timeoutHeader: "grpc-timeout",
  encodingHeader: "grpc-encoding",
  endBody: () => Buffer.alloc(0),
  endTrailers: (error) => Object.fromEntries(setTrailerStatus(new Headers(), error)),
};

const grpcWeb: Dialect = {
  name: "grpc-web",
  timeoutHeader: "grpc-timeout",
  encodingHeader: "grpc-encoding",
  endBody: (error) => envelope(trailerFlag, trailerSerialize(setTrailerStatus(new Headers(), error))),
  endTrailers: () => undefined,
};

const connect: Dialect = {
  name: "connect",
  timeoutHeader: "connect-timeout-ms",
  encodingHeader: "connect-content-encoding",
  endBody: (error) =>
    envelope(endStreamFlag, Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)))),
  endTrailers: () => undefined,
};

/** The streaming dialect of a content type, whatever the codec behind it; undefined for anything else. */
export function streamingDialect(contentType: string): Dialect | undefined {
  if (contentType.startsWith("application/grpc-web")) return grpcWeb;
  if (contentType.startsWith("application/grpc")) return grpc;
  if (contentType.startsWith("application/connect+")) return connect;
  return undefined;
}

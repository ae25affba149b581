// The three protocols differ only in how an answer begins and ends. A dialect says how; the frames between are the same.
// Connect has two: its calls of one message and one answer have no frames at all.
import type { ConnectError } from "@connectrpc/connect";
import {
  endStreamFlag,
  endStreamToJson,
  parseTimeout as parseConnectTimeout,
} from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { envelope } from "../../thread/frame.js";

export interface Dialect {
  readonly name: "grpc" | "grpc-web" | "connect";
  /** Messages stand in envelopes. Otherwise the body is the message. */
  readonly enveloped: boolean;
  /** Marks envelopes that hold no message but an end; 0 where there are none. */
  readonly endFlag: number;
  /** The request header that holds the time the caller will wait. */
  readonly timeoutHeader: string;
  readonly parseTimeout: typeof parseGrpcTimeout;
  /** The request header that names how the request's messages are compressed. */
  readonly encodingHeader: string;
  /** The last bytes of the body; empty where the end is in HTTP trailers. */
  endBody(error: ConnectError | undefined): Buffer;
  /** HTTP trailers; undefined where the end is in the body. */
  endTrailers(error: ConnectError | undefined): Record<string, string> | undefined;
}

const grpc: Dialect = {
  name: "grpc",
  enveloped: true,
  endFlag: 0,
  timeoutHeader: "grpc-timeout",
  parseTimeout: parseGrpcTimeout,
  encodingHeader: "grpc-encoding",
  endBody: () => Buffer.alloc(0),
  endTrailers: (error) => Object.fromEntries(setTrailerStatus(new Headers(), error)),
};

const grpcWeb: Dialect = {
  name: "grpc-web",
  enveloped: true,
  endFlag: trailerFlag,
  timeoutHeader: "grpc-timeout",
  parseTimeout: parseGrpcTimeout,
  encodingHeader: "grpc-encoding",
  endBody: (error) => envelope(trailerFlag, trailerSerialize(setTrailerStatus(new Headers(), error))),
  endTrailers: () => undefined,
};

const connect: Dialect = {
  name: "connect",
  enveloped: true,
  endFlag: endStreamFlag,
  timeoutHeader: "connect-timeout-ms",
  parseTimeout: parseConnectTimeout,
  encodingHeader: "connect-content-encoding",
  endBody: (error) =>
    envelope(endStreamFlag, Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)))),
  endTrailers: () => undefined,
};

/** Of an answer that is no error: those are JSON with a status of HTTP (refuse.ts). */
const connectUnary: Dialect = {
  ...connect,
  enveloped: false,
  endFlag: 0,
  encodingHeader: "content-encoding",
  endBody: () => Buffer.alloc(0),
};

export type Dialects = ReadonlyMap<string, Dialect>;

const binary = [
  ["application/grpc", grpc],
  ["application/grpc+proto", grpc],
  ["application/grpc-web", grpcWeb],
  ["application/grpc-web+proto", grpcWeb],
] as const;

/** By content type, in the binary codec: methods whose answer is a stream, and methods with one answer. */
export const binaryStreams: Dialects = new Map([...binary, ["application/connect+proto", connect]]);
export const binaryCalls: Dialects = new Map([...binary, ["application/proto", connectUnary]]);

/** The streaming dialect of a content type, whatever the codec behind it; undefined for anything else. */
export function streamingDialect(contentType: string): Dialect | undefined {
  if (contentType.startsWith("application/grpc-web")) return grpcWeb;
  if (contentType.startsWith("application/grpc")) return grpc;
  if (contentType.startsWith("application/connect+")) return connect;
  return undefined;
}

/** The dialect of any call that Connect's handler takes: what is no stream is a call of Connect's with one answer. */
export const dialectOf = (contentType: string): Dialect => streamingDialect(contentType) ?? connectUnary;

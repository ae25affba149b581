// What every client of these suites can do, whatever protocol and library it is: open the stream, and say what came.
import type { JsonObject } from "@bufbuild/protobuf";

/** Where a server is, and what it takes to be let in. */
export interface Target {
  readonly url: string;
  readonly token?: string | undefined;
  /** The certificate to trust, as text and as a file: libraries want the one, commands the other. */
  readonly ca?: { readonly pem: string; readonly path: string } | undefined;
}

export interface StreamRequest {
  readonly threadId: string;
  readonly afterSequence?: bigint;
  readonly follow?: boolean;
}

export interface StreamOptions {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** The library's own deadline, which it tells the server and watches itself. */
  readonly timeoutMs?: number;
  /** Headers as they are, beside the token. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A frame in proto3 JSON, as the client itself understood it. */
export type Frame = JsonObject;

export interface StreamClient {
  readonly name: string;
  /** False when the tool that the name says is missing. */
  readonly isHere: boolean;
  /** A process of its own. */
  readonly isCommand: boolean;
  /** Which of the server's two ways of serving the stream it meets: see ARCHITECTURE.md, "One port". */
  readonly servedBy: "lane" | "handler";
  /** The header that carries a deadline, where the client lets a test write it. */
  readonly timeoutHeader?: { readonly name: string; readonly value: (ms: number) => string } | undefined;
  /** Can be told to trust a certificate. */
  readonly trustsCertificates: boolean;
  /** Frames in order. Contract: throws StreamFailure, and nothing else, when the call fails. */
  frames(target: Target, request: StreamRequest, options: StreamOptions): AsyncIterable<Frame>;
}

export const authorization = ({ token }: Target): Record<string, string> =>
  token ? { authorization: `Bearer ${token}` } : {};

/** The request as proto3 JSON. */
export const requestJson = ({ threadId, afterSequence = 0n, follow = false }: StreamRequest): JsonObject => ({
  threadId,
  afterSequence: String(afterSequence),
  follow,
});

export const grpcTimeout = { name: "grpc-timeout", value: (ms: number) => `${ms}m` } as const;
export const connectTimeout = { name: "connect-timeout-ms", value: (ms: number) => String(ms) } as const;

// gRPC over HTTP/2 to a server, plaintext or TLS by the URL's scheme. For TLS with a certificate authority of your own,
// Node reads NODE_EXTRA_CA_CERTS.
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

export interface OpenTransport {
  readonly transport: Transport;
  close(): void;
}

/** A half-open connection is noticed after these two together, without waiting for the stream to fall silent. */
const pingIntervalMs = 15_000;
const pingTimeoutMs = 5_000;
/** Twice what GetToolCall sends along, and more than any other message. */
const largestMessageBytes = 4 * 1024 * 1024;

export function openNodeTransport(server: string, token: string | undefined): OpenTransport {
  const sessionManager = new Http2SessionManager(server, { pingIntervalMs, pingTimeoutMs });
  const transport = createGrpcTransport({
    baseUrl: server,
    sessionManager,
    readMaxBytes: largestMessageBytes,
    interceptors: token === undefined ? [] : [withToken(token)],
  });
  return { transport, close: () => sessionManager.abort() };
}

const withToken =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

// gRPC over HTTP/2 to a server, plaintext or TLS by the URL's scheme. For TLS with a certificate authority of your own,
// Node reads NODE_EXTRA_CA_CERTS.
import type { Http2Session } from "node:http2";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { watchAnswers } from "./no-answer.js";

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
  const manager = new Http2SessionManager(server, { pingIntervalMs, pingTimeoutMs });
  const answers = watchAnswers();
  const transport = createGrpcTransport({
    baseUrl: server,
    sessionManager: watched(manager, answers.watch),
    readMaxBytes: largestMessageBytes,
    interceptors: [answers.interceptor, ...(token === undefined ? [] : [withToken(token)])],
  });
  return { transport, close: () => manager.abort() };
}

const withToken =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

type SessionManager = Pick<Http2SessionManager, "authority" | "request" | "notifyResponseByteRead">;

/**
 * Shows each session to `watch`, and hears its errors: the manager stops listening when it is aborted, but a session that broke just before tells its error later, and an error
 * that nobody listens to ends the process. The streams have told it to whoever waited for an answer.
 */
function watched(manager: Http2SessionManager, watch: (session: Http2Session) => void): SessionManager {
  const known = new WeakSet<Http2Session>();
  return {
    authority: manager.authority,
    async request(...given) {
      const stream = await manager.request(...given);
      if (stream.session !== undefined && !known.has(stream.session)) {
        known.add(stream.session);
        stream.session.on("error", () => {});
        watch(stream.session);
      }
      return stream;
    },
    notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
  };
}

// Tells a port where somebody listens but nobody speaks HTTP/2 from a server that was cut off: HTTP/2's first word is
// SETTINGS, and a TLS port that hears plaintext closes the connection without it.
import type { Http2Session } from "node:http2";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/** The cause of an error: a connection was made, and closed before a word of HTTP/2 came back. */
export class ClosedWithoutAnswer extends Error {}

export interface AnswerWatch {
  /** To be told of each connection as soon as there is one. */
  watch(session: Http2Session): void;
  /** Gives errors of the requests their cause. Errors of a stream that has begun come after an answer: they pass. */
  readonly interceptor: Interceptor;
}

/** What a connection that is closed looks like to a request. Everything else says more by itself. */
const closedCodes: readonly Code[] = [Code.Canceled, Code.Aborted, Code.Unavailable];

export function watchAnswers(): AnswerWatch {
  let state: "unconnected" | "connected" | "answered" = "unconnected";
  return {
    watch(session) {
      if (state === "unconnected") state = "connected";
      session.once("remoteSettings", () => {
        state = "answered";
      });
    },
    interceptor: (next) => async (request) => {
      try {
        const response = await next(request);
        state = "answered";
        return response;
      } catch (reason) {
        const error = ConnectError.from(reason);
        if (state !== "connected" || request.signal.aborted || !closedCodes.includes(error.code)) throw error;
        const cause = new ClosedWithoutAnswer(error.message, { cause: reason });
        throw new ConnectError(error.rawMessage, error.code, error.metadata, undefined, cause);
      }
    },
  };
}

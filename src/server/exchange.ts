// One request, whichever HTTP version brought it. The edge makes it; a door answers it.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";

export interface Exchange {
  readonly method: string;
  /** Path without the query. Starts with one slash. */
  readonly path: string;
  /** Behind the path, without the question mark. Empty when there is none. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** In lower case, without parameters; empty when there is none. */
  readonly contentType: string;
  /** The raw pair, for doors that write bytes themselves. */
  readonly transport: Http1Transport | Http2Transport;
  /** Headers every answer must carry (CORS; for a refusal also what the refusal calls for). Names in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Who asks: the name of the token in the configuration, or "(local)" where none is required. Empty in a refusal. */
  readonly principal: string;
}

export interface Http1Transport {
  readonly version: 1;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Http2Transport {
  readonly version: 2;
  readonly stream: ServerHttp2Stream;
  readonly rawHeaders: readonly string[];
}

/** Answers the exchange and returns true, or leaves it alone and returns false. Contract: reads nothing before it decides. */
export type Door = (exchange: Exchange) => boolean;

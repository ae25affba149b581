// What the lanes ask of a request before they read it: is it theirs, and how long will its caller wait?
import type { Exchange } from "../../server/exchange.js";
import type { Dialect, Dialects } from "./dialect.js";

export interface LaneOptions {
  readonly messageBytes: number;
  /** Told of every error that the server did not expect. */
  readonly onUnexpected: (error: unknown) => void;
}

export interface LaneCall {
  readonly exchange: Exchange;
  readonly dialect: Dialect;
  readonly options: LaneOptions;
}

/** The dialect in which a lane answers. Undefined: the request is for another door. */
export function laneDialect(exchange: Exchange, path: string, dialects: Dialects): Dialect | undefined {
  if (exchange.path !== path || exchange.method !== "POST") return undefined;
  const dialect = dialects.get(exchange.contentType);
  // gRPC needs HTTP/2, and compressed requests need bounded decompression: the Connect handler knows both.
  if (!dialect || (dialect.name === "grpc" && exchange.transport.version === 1)) return undefined;
  const encoding = exchange.headers[dialect.encodingHeader];
  return encoding === undefined || encoding === "identity" ? dialect : undefined;
}

/** The longest delay that Node's timers take; a caller that waits longer has no deadline. */
const maxTimerMs = 2 ** 31 - 1;

/** Undefined when there is no deadline, or one so far away that it is none. */
export function timeoutOf({ exchange, dialect }: Pick<LaneCall, "exchange" | "dialect">): number | undefined {
  const header = exchange.headers[dialect.timeoutHeader];
  if (typeof header !== "string") return undefined;
  const { timeoutMs, error } = dialect.parseTimeout(header, Number.MAX_SAFE_INTEGER);
  if (error) throw error;
  return timeoutMs !== undefined && timeoutMs <= maxTimerMs ? timeoutMs : undefined;
}

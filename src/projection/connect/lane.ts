// The hot path: StreamThreadEvents in binary gRPC, gRPC-Web and Connect. Stored frames go out as they are, nothing is
// decoded or encoded again, and what is ready goes in one write. Everything else is the Connect handler's (routes.ts);
// both pass the same tests.
import { fromBinary } from "@bufbuild/protobuf";
import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { StreamThreadEventsRequestSchema } from "../../../gen/heddle/v1/thread_service_pb.js";
import type { Door, Exchange } from "../../server/exchange.js";

import { HeddleError } from "../../thread/errors.js";
import type { Feed, FollowRequest, Sink, Threads } from "../../threads.js";
import { type Dialect, streamingDialect } from "./dialect.js";
import { type Output, outputOf } from "./output.js";
import { refuse } from "./refuse.js";
import { readOneMessage } from "./request-message.js";
import { asHeddleError, isServerFault, toWire } from "./wire-error.js";

const path = "/heddle.v1.ThreadService/StreamThreadEvents";

const contentTypes: ReadonlySet<string> = new Set([
  "application/grpc",
  "application/grpc+proto",
  "application/grpc-web",
  "application/grpc-web+proto",
  "application/connect+proto",
]);

/** The longest delay that Node's timers take; a caller that waits longer has no deadline. */
const maxTimerMs = 2 ** 31 - 1;

export interface LaneOptions {
  readonly messageBytes: number;
  /** Told of every error that the server did not expect. */
  readonly onUnexpected: (error: unknown) => void;
}

export function createLane(threads: Threads, options: LaneOptions): Door {
  return (exchange) => {
    const dialect = laneDialect(exchange);
    if (!dialect) return false;
    void serve(threads, { exchange, dialect, options });
    return true;
  };
}

function laneDialect(exchange: Exchange): Dialect | undefined {
  if (exchange.path !== path || exchange.method !== "POST" || !contentTypes.has(exchange.contentType)) return undefined;
  const dialect = streamingDialect(exchange.contentType);
  // gRPC needs HTTP/2, and compressed requests need bounded decompression: the Connect handler knows both.
  if (!dialect || (dialect.name === "grpc" && exchange.transport.version === 1)) return undefined;
  const encoding = exchange.headers[dialect.encodingHeader];
  return encoding === undefined || encoding === "identity" ? dialect : undefined;
}

interface Call {
  readonly exchange: Exchange;
  readonly dialect: Dialect;
  readonly options: LaneOptions;
}

async function serve(threads: Threads, call: Call): Promise<void> {
  const output = outputOf(call.exchange);
  let feed: Feed | undefined;
  let gone = false;
  output.onClose(() => {
    gone = true;
    feed?.abandon();
  });
  try {
    const timeoutMs = timeoutOf(call);
    const request = await readRequest(call);
    const sink = sinkOf(output, call);
    feed = await threads.openFeed(request, sink);
    if (gone) return feed.abandon();
    const headers = { ...call.exchange.responseHeaders, "content-type": call.exchange.contentType };
    output.start(headers, { trailers: call.dialect.name === "grpc" });
    output.onDrain(() => feed?.resume());
    if (timeoutMs !== undefined) endAt(timeoutMs, feed, output);
    feed.start();
  } catch (reason) {
    const error = asHeddleError(reason);
    if (feed && !feed.over) return feed.fail(error);
    if (isServerFault(reason)) call.options.onUnexpected(reason);
    if (!gone) refuse(call.exchange, error);
  }
}

async function readRequest({ exchange, options }: Call): Promise<FollowRequest> {
  const message = await readOneMessage(exchange, options.messageBytes);
  try {
    return fromBinary(StreamThreadEventsRequestSchema, message);
  } catch (cause) {
    const rule = "must be a heddle.v1.StreamThreadEventsRequest";
    throw new HeddleError("invalid_field", `The request ${rule}`, { detail: { field: "", rule }, cause });
  }
}

const sinkOf = (output: Output, { dialect, options }: Call): Sink => ({
  write: (frames) => output.write(frames),
  end: (reason) => {
    if (reason && isServerFault(reason)) options.onUnexpected(reason);
    const error = reason && toWire(reason);
    output.end(dialect.endBody(error), dialect.endTrailers(error));
  },
});

function timeoutOf({ exchange, dialect }: Call): number | undefined {
  const header = exchange.headers[dialect.timeoutHeader];
  if (typeof header !== "string") return undefined;
  const parse = dialect.name === "connect" ? parseConnectTimeout : parseGrpcTimeout;
  const { timeoutMs, error } = parse(header, Number.MAX_SAFE_INTEGER);
  if (!error) return timeoutMs;
  const rule = "must be a timeout as the protocol writes it";
  throw new HeddleError("invalid_field", `${dialect.timeoutHeader} ${rule}`, {
    detail: { field: dialect.timeoutHeader, rule },
  });
}

function endAt(timeoutMs: number, feed: Feed, output: Output): void {
  if (timeoutMs > maxTimerMs) return;
  const timer = setTimeout(
    () => feed.fail(new HeddleError("deadline_exceeded", "The caller's deadline has passed")),
    timeoutMs,
  );
  output.onClose(() => clearTimeout(timer));
}

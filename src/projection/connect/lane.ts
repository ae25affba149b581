// The hot path: StreamThreadEvents in binary gRPC, gRPC-Web and Connect. Stored frames go out as they are, nothing is
// decoded or encoded again, and what is ready goes in one write. Everything else is the Connect handler's (routes.ts);
// both pass the same tests. Calls with one answer have a lane of their own (unary-lane.ts).
import { fromBinary } from "@bufbuild/protobuf";
import { StreamThreadEventsRequestSchema } from "../../../gen/heddle/v1/thread_service_pb.js";
import type { Door } from "../../server/exchange.js";
import { type Output, outputOf } from "../../server/output.js";
import { HeddleError } from "../../thread/errors.js";
import type { Feed, FollowRequest, Sink, Threads } from "../../threads.js";
import { binaryStreams } from "./dialect.js";
import { type LaneCall, type LaneOptions, laneDialect, timeoutOf } from "./lane-call.js";
import { refuse } from "./refuse.js";
import { readOneMessage } from "./request-message.js";
import { asHeddleError, isServerFault, toWire } from "./wire-error.js";

const path = "/heddle.v1.ThreadService/StreamThreadEvents";

export function createLane(threads: Threads, options: LaneOptions): Door {
  return (exchange) => {
    const dialect = laneDialect(exchange, path, binaryStreams);
    if (!dialect) return false;
    void serve(threads, { exchange, dialect, options });
    return true;
  };
}

async function serve(threads: Threads, call: LaneCall): Promise<void> {
  const output = outputOf(call.exchange);
  let feed: Feed | undefined;
  let over = false; // Refused, or nobody is left to answer.
  output.onClose(() => {
    over = true;
    feed?.abandon();
  });
  const fail = (error: HeddleError): void => {
    // A feed says so to its reader, once; nothing where it has ended already.
    if (feed) feed.fail(error);
    else if (!over) refuse(call.exchange, error);
    over = true;
  };
  try {
    failAfter(timeoutOf(call), { output, fail });
    const request = await readRequest(call);
    if (over) return;
    const sink = sinkOf(output, call);
    feed = await threads.openFeed(request, sink);
    if (over) return feed.abandon();
    const headers = { ...call.exchange.responseHeaders, "content-type": call.exchange.contentType };
    output.start(headers, { trailers: call.dialect.name === "grpc" });
    output.onDrain(() => feed?.resume());
    feed.start();
  } catch (reason) {
    if (!feed && isServerFault(reason)) call.options.onUnexpected(reason);
    fail(asHeddleError(reason));
  }
}

async function readRequest(call: LaneCall): Promise<FollowRequest> {
  const message = await readOneMessage(call, "server-streaming");
  try {
    return fromBinary(StreamThreadEventsRequestSchema, message);
  } catch (cause) {
    const rule = "must be a heddle.v1.StreamThreadEventsRequest";
    throw new HeddleError("invalid_field", `The request ${rule}`, { detail: { field: "", rule }, cause });
  }
}

const sinkOf = (output: Output, { dialect, options }: LaneCall): Sink => ({
  write: (frames) => output.write(frames),
  end: (reason) => {
    if (reason && isServerFault(reason)) options.onUnexpected(reason);
    const error = reason && toWire(reason);
    output.end(dialect.endBody(error), dialect.endTrailers(error));
  },
});

/** The deadline counts from the arrival of the request, also while the rest of it is awaited. */
function failAfter(
  timeoutMs: number | undefined,
  { output, fail }: { output: Output; fail: (error: HeddleError) => void },
): void {
  if (timeoutMs === undefined) return;
  const passed = () => fail(new HeddleError("deadline_exceeded", "The caller's deadline has passed"));
  const timer = setTimeout(passed, timeoutMs);
  output.onClose(() => clearTimeout(timer));
}

// Subscribers over gRPC that only count: a plain node:http2 client that sends the request and never decodes an answer.

import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { StreamThreadEventsRequestSchema } from "../../gen/heddle/v1/thread_service_pb.js";
import { streamPath } from "../peers/peer.js";
import { answerAsks } from "../support/ask.js";
import { FrameCounter } from "../support/frame-counter.js";
import { SseCounter } from "../support/sse-counter.js";
import { sharedNowMs } from "../support/statistics.js";

interface OpenRequest {
  readonly port: number;
  readonly connections: number;
  readonly streams: number;
  /** Taken in turn. */
  readonly threadIds: readonly string[];
  readonly afterSequence?: bigint;
  /** Follow this response over the Responses API instead. */
  readonly responseId?: string;
  /** Keep when each event arrived. */
  readonly timed?: boolean;
  /** What a stream may be sent before it has been read. */
  readonly windowBytes?: number;
}

interface Subscriber {
  readonly stream: ClientHttp2Stream;
  readonly counter: FrameCounter | SseCounter;
  readonly arrivals: number[];
}

/** Ready and CaughtUp; of a response, its beginning, which comes in one write. */
const greetingFrames = 2;
/** A subscriber that is fast takes what it is sent: windows must not be what is measured. */
const generousWindowBytes = 8 * 1024 * 1024;

let sessions: ClientHttp2Session[] = [];
let subscribers: Subscriber[] = [];
let waiting: { events: number; resolve: () => void } | undefined;
let totalEvents = 0;

const asks = {
  /** Resolves when every subscriber has been greeted. */
  open: async (request: OpenRequest) => {
    const opened = Array.from({ length: request.connections }, () => openSession(request.port, request.windowBytes));
    await Promise.all(opened.map((session) => once(session, "connect")));
    sessions.push(...opened);
    const greeted = Array.from({ length: request.streams }, (_, index) => {
      const threadId = request.threadIds[index % request.threadIds.length]!;
      return subscribe(opened[index % opened.length]!, { ...request, threadId });
    });
    await Promise.all(greeted);
  },
  /** Forgets what was counted. */
  reset: () => {
    totalEvents = 0;
    for (const { counter, arrivals } of subscribers) {
      Object.assign(counter, { frames: 0, events: 0, bytes: 0, chunks: 0 });
      arrivals.length = 0;
    }
  },
  /** Resolves when all subscribers together have so many events since `reset`. */
  received: (events: number) =>
    new Promise<void>((resolve) => {
      if (totalEvents >= events) resolve();
      else waiting = { events, resolve };
    }),
  counted: () => {
    const sum = (of: "events" | "bytes" | "chunks") => subscribers.reduce((all, { counter }) => all + counter[of], 0);
    return { events: sum("events"), bytes: sum("bytes"), chunks: sum("chunks") };
  },
  /** On the shared clock, per subscriber. */
  arrivals: () => subscribers.map(({ arrivals }) => Float64Array.from(arrivals)),
  /** Reads a thread to its head, once. */
  replay: async ({ port, threadId }: { port: number; threadId: string }) => {
    const session = openSession(port);
    await once(session, "connect");
    const counter = new FrameCounter();
    const startedAt = performance.now();
    const stream = request(session, { threadId, follow: false, afterSequence: 0n });
    stream.on("data", (chunk: Buffer) => counter.add(chunk));
    await once(stream, "end");
    const ms = performance.now() - startedAt;
    session.destroy();
    return { ms, events: counter.events, bytes: counter.bytes };
  },
  /** Stops reading, and says nothing. */
  stall: () => {
    for (const { stream } of subscribers) stream.pause();
  },
  close: () => {
    for (const session of sessions) session.destroy();
    sessions = [];
    subscribers = [];
  },
};

export type SubscriberAsks = typeof asks;
answerAsks(asks);

function openSession(port: number, windowBytes = generousWindowBytes): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, {
    settings: { initialWindowSize: windowBytes, enablePush: false },
  });
  session.once("connect", () => session.setLocalWindowSize(generousWindowBytes));
  session.on("error", fail);
  return session;
}

function subscribe(session: ClientHttp2Session, options: OpenRequest & { threadId: string }): Promise<void> {
  const { promise: greeted, resolve } = withResolvers();
  const arrivals: number[] = [];
  const { threadId, afterSequence = 0n, responseId } = options;
  const onEvent = (): void => {
    if (options.timed) arrivals.push(sharedNowMs());
    countEvent();
  };
  const counter = responseId ? new SseCounter(onEvent) : new FrameCounter(onEvent);
  const stream = responseId
    ? requestResponse(session, responseId)
    : request(session, { threadId, follow: true, afterSequence });
  stream.on("data", (chunk: Buffer) => {
    counter.add(chunk);
    if (counter.frames >= greetingFrames) resolve();
  });
  stream.on("end", () => fail(new Error("a subscriber's stream ended")));
  subscribers.push({ stream, counter, arrivals });
  return greeted;
}

function request(
  session: ClientHttp2Session,
  message: { threadId: string; follow: boolean; afterSequence: bigint },
): ClientHttp2Stream {
  const headers = { ":method": "POST", ":path": streamPath, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request(headers, { endStream: false });
  stream.on("error", fail);
  const bytes = toBinary(StreamThreadEventsRequestSchema, create(StreamThreadEventsRequestSchema, message));
  const envelope = Buffer.alloc(5);
  envelope.writeUInt32BE(bytes.length, 1);
  stream.end(Buffer.concat([envelope, bytes]));
  return stream;
}

function requestResponse(session: ClientHttp2Session, responseId: string): ClientHttp2Stream {
  const stream = session.request({ ":path": `/v1/responses/${responseId}?stream=true` });
  stream.on("error", fail);
  return stream;
}

function countEvent(): void {
  totalEvents++;
  if (!waiting || totalEvents < waiting.events) return;
  waiting.resolve();
  waiting = undefined;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Nothing may end while it is measured. Ending the process fails whatever the bench asks of it. */
function fail(error: Error): void {
  if (sessions.every((session) => session.destroyed)) return;
  process.stderr.write(`subscribers: ${error.message}\n`);
  process.exit(1);
}

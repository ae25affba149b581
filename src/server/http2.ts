// The HTTP/2 side: an http2 server that never listens, and is given its sockets, plaintext or TLS. Streams are handed on
// raw: Node's request and response objects are made only for those that no door takes.
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import { OpenSet } from "./open-set.js";
import type { Logger, ServerLimits } from "./options.js";

const bounds = {
  /** What one stalled stream may hold in Node's hands: a write under way and one that waits. */
  streamMemoryBytes: 256 * 1024,
  headerPairs: 128,
  /** Unread bytes of one request body, and of all bodies of one connection. */
  streamWindowBytes: 256 * 1024,
  sessionWindowBytes: 1024 * 1024,
  /** Resets by the client that are forgiven: at once, and for each second. Node's 1,000 and 33 kill busy watchers. */
  streamResetBurst: 10_000,
  streamResetsPerSecond: 1_000,
} as const;

export interface Http2Side {
  accept(socket: Socket): void;
  readonly sessions: OpenSet<ServerHttp2Session>;
  readonly streams: OpenSet<ServerHttp2Stream>;
  /**
   * Says goodbye: streams already under way are served, and the client is told which one was the last, so that it may
   * send later ones elsewhere. One GOAWAY, not the two of RFC 9113 6.8: after any GOAWAY, nghttp2 ignores new streams in
   * silence, so that a first one that promises to serve them would be a lie.
   */
  drain(): void;
}

interface Http2Options {
  readonly limits: ServerLimits;
  readonly logger: Logger;
  readonly onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => void;
}

export function createHttp2Side(options: Http2Options): Http2Side {
  const sessions = new OpenSet<ServerHttp2Session>();
  const streams = new OpenSet<ServerHttp2Stream>();

  const server = createServer(transportOptions(options.limits));
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("error", (error) => options.logger.debug({ err: error }, "an HTTP/2 session failed"));
    session.on("frameError", (type, code) => options.logger.debug({ type, code }, "an HTTP/2 frame could not be sent"));
    session.setLocalWindowSize(bounds.sessionWindowBytes);
  });
  // A fourth argument that Node's types leave out.
  const receive = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
    options.onStream(stream, headers, rawHeaders);
  };
  server.on("stream", receive as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void);

  return {
    sessions,
    streams,
    accept: (socket) => void server.emit("connection", socket),
    drain() {
      for (const session of sessions) session.close();
    },
  };
}

function transportOptions(limits: ServerLimits): ServerOptions {
  const options: ServerOptions & { streamResetBurst: number; streamResetRate: number } = {
    maxSessionMemory: sessionMemoryMb(limits),
    maxHeaderListPairs: bounds.headerPairs,
    streamResetBurst: bounds.streamResetBurst,
    streamResetRate: bounds.streamResetsPerSecond,
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: limits.headerBytes, // Tells clients; the edge enforces it.
      initialWindowSize: bounds.streamWindowBytes,
    },
  };
  return options;
}

/** Room for a connection whose streams are all stalled. Node's 10 MB refuse new streams behind a few dozen of those. */
const sessionMemoryMb = ({ streamsPerConnection }: ServerLimits): number =>
  Math.ceil((bounds.sessionWindowBytes + streamsPerConnection * bounds.streamMemoryBytes) / 1e6) + nodesOwnMb;

/** Header tables, frames under way and the like. */
const nodesOwnMb = 10;

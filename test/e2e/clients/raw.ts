// Requests byte by byte, as no library would send them, and what the server made of them.
import { once } from "node:events";
import { type IncomingMessage, request as requestHttp1 } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamFromJson, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { failureOf, type StreamFailure } from "./failure.js";

export interface RawRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly method?: string;
}

export interface RawReply {
  readonly status: number;
  /** How the call failed, in the words of the reply's protocol; undefined when it did not, or when the reply speaks none. */
  readonly failure: StreamFailure | undefined;
  readonly body: Buffer;
}

export type Exchange = (url: string, request: RawRequest) => Promise<RawReply>;

/** One request on an HTTP/2 connection of its own. Rejects when the stream is reset before there is an answer. */
export const overHttp2: Exchange = async (url, request) => {
  const session = connectHttp2(url);
  session.on("error", () => {});
  try {
    return await overSession(session, request);
  } finally {
    session.destroy();
  }
};

/** The same on a connection that is there. */
export async function overSession(session: ClientHttp2Session, request: RawRequest): Promise<RawReply> {
  const { path, headers, body, method = "POST" } = request;
  const stream = session.request({ ":method": method, ":path": path, ...headers });
  stream.on("error", () => {});
  let head: IncomingHttpHeaders | undefined;
  let trailers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (received) => {
    head = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  // Not only 'close': a client that has not sent everything stays open behind a complete answer.
  const over = new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
  stream.end(body);
  await over;
  if (!head) throw new Error(`the stream was reset with code ${stream.rstCode} before an answer`);
  return replyOf({ status: Number(head[":status"]), head: { ...head, ...trailers }, body: Buffer.concat(chunks) });
}

/** One request on an HTTP/1.1 connection of its own. Rejects when the connection is closed before there is an answer. */
export const overHttp1: Exchange = async (url, { path, headers, body, method = "POST" }) => {
  const { hostname, port } = new URL(url);
  const request = requestHttp1({ hostname, port, path, method, headers, agent: false });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  request.on("error", () => {}); // An answer that comes before the body's end may cut the body off.
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return replyOf({
    status: response.statusCode ?? 0,
    head: { ...response.headers, ...response.trailers },
    body: Buffer.concat(chunks),
  });
};

/** A message in its envelope. */
export function enveloped(message: Uint8Array, options: { flags?: number; length?: number } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = options.flags ?? 0;
  head.writeUInt32BE(options.length ?? message.length, 1);
  return Buffer.concat([head, message]);
}

interface Received {
  readonly status: number;
  readonly head: IncomingHttpHeaders;
  readonly body: Buffer;
}

function replyOf({ status, head, body }: Received): RawReply {
  const error = errorOf(status, { type: head["content-type"] ?? "", head, body });
  return { status, body, failure: error && failureOf(error) };
}

function errorOf(
  status: number,
  { type, head, body }: { type: string; head: IncomingHttpHeaders; body: Buffer },
): ConnectError | undefined {
  if (type.startsWith("application/grpc-web")) {
    const trailer = lastFrame(body, trailerFlag);
    return findTrailerError(trailer ? trailerParse(trailer) : statusHeaders(head));
  }
  if (type.startsWith("application/grpc")) return findTrailerError(statusHeaders(head));
  if (type.startsWith("application/connect+")) return endStreamFromJson(lastFrame(body, endStreamFlag) ?? "{}").error;
  if (type === "application/json" && status >= 400)
    return errorFromJsonBytes(body, undefined, new ConnectError("not a Connect error"));
  return undefined;
}

const statusHeaders = (head: IncomingHttpHeaders): Headers =>
  new Headers(
    Object.entries(head).flatMap(([name, value]) =>
      name.startsWith("grpc-") && value ? [[name, String(value)]] : [],
    ) as [string, string][],
  );

function lastFrame(body: Buffer, flag: number): Uint8Array | undefined {
  for (let offset = 0; offset + 5 <= body.length; offset += 5 + body.readUInt32BE(offset + 1)) {
    if ((body[offset]! & flag) !== 0) return body.subarray(offset + 5, offset + 5 + body.readUInt32BE(offset + 1));
  }
  return undefined;
}

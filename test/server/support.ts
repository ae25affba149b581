// A server with small limits on a free port, and clients that can be seen through.

import { type EventEmitter, once } from "node:events";
import { type IncomingHttpHeaders, type RequestOptions, request as requestHttp1 } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import type { Door, Exchange } from "../../src/server/exchange.js";
import type { Logger, ServerOptions } from "../../src/server/options.js";
import { type RunningServer, startServer } from "../../src/server/start-server.js";
import type { HeddleError } from "../../src/thread/errors.js";

export interface TestServer extends RunningServer, AsyncDisposable {
  readonly url: string;
  /** Every line written to the log at `warn` or above. */
  readonly logged: readonly string[];
  /** Every refusal, as `code principal`. */
  readonly refused: readonly HeddleError[];
}

type Overrides = Omit<Partial<ServerOptions>, "limits" | "timing"> & {
  limits?: Partial<ServerOptions["limits"]>;
  timing?: Partial<ServerOptions["timing"]>;
};

export async function startTestServer(overrides: Overrides = {}): Promise<TestServer> {
  const logged: string[] = [];
  const refused: HeddleError[] = [];
  const server = await startServer({
    listen: { host: "127.0.0.1", port: 0 },
    doors: [],
    fallback: (_request, response) => response.end("fallback"),
    reject(exchange, error) {
      refused.push(error);
      write(exchange, 403, `${error.code}: ${error.message}`);
    },
    tokens: [],
    allowedOrigins: [],
    logger: recorder(logged),
    ...overrides,
    limits: { connections: 50, streamsPerConnection: 100, headerBytes: 8 * 1024, ...overrides.limits },
    timing: { pingMs: 20_000, pingTimeoutMs: 10_000, drainMs: 2_000, ...overrides.timing },
  });
  return {
    ...server,
    url: `${overrides.tls ? "https" : "http"}://127.0.0.1:${server.port}`,
    logged,
    refused,
    [Symbol.asyncDispose]: () => server.close({ drainMs: 0 }),
  };
}

function recorder(lines: string[]): Logger {
  const keep = (_facts: object, message: string) => void lines.push(message);
  return { debug: () => undefined, info: () => undefined, warn: keep, error: keep };
}

/** Answers an exchange, whichever HTTP version it came by. */
export function write({ transport, responseHeaders }: Exchange, status: number, text: string): void {
  if (transport.version === 1) transport.response.writeHead(status, responseHeaders).end(text);
  else {
    transport.stream.respond({ ":status": status, ...responseHeaders });
    transport.stream.end(text);
  }
}

/** A door that answers HTTP/2 with headers and leaves the stream open, as a subscription does. */
export const holdOpen: Door = ({ transport }) => {
  if (transport.version === 1) return false;
  transport.stream.respond({ ":status": 200 });
  return true;
};

/** Unlike `once`, does not mind an error on the way. */
export const closed = (stream: EventEmitter): Promise<void> => new Promise((resolve) => stream.once("close", resolve));

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly tls?: RequestOptions & { ca: string };
}

/** One request over HTTP/1.1, on a connection of its own. */
export async function http1(url: string, { method = "GET", path = "/", headers = {}, body }: Ask = {}): Promise<Reply> {
  const { hostname, port } = new URL(url);
  const request = requestHttp1({ hostname, port, method, path, headers, agent: false });
  request.end(body);
  const [response] = await once(request, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

/** One request over HTTP/2, on a connection of its own or on the given one. */
export async function http2(url: string | ClientHttp2Session, ask: Ask = {}): Promise<Reply> {
  const session = typeof url === "string" ? connectHttp2(url) : url;
  try {
    const head: OutgoingHttpHeaders = { ":method": ask.method ?? "GET", ":path": ask.path ?? "/", ...ask.headers };
    const stream = session.request(head);
    stream.end(ask.body);
    const [headers] = await once(stream, "response");
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    return { status: headers[":status"], headers, text };
  } finally {
    if (typeof url === "string") session.destroy();
  }
}

/** The two versions, for rules that must hold for both. */
export const versions = [
  { version: "HTTP/1.1", ask: http1 },
  { version: "HTTP/2", ask: http2 },
] as const;

export async function rawConnection(server: { port: number }): Promise<Socket> {
  const socket = connectTcp(server.port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket.setNoDelay();
}

export const http2Preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** One HTTP/2 frame, for peers that do not behave. */
export function frame(type: number, options: { flags?: number; stream?: number; payload?: Buffer } = {}): Buffer {
  const payload = options.payload ?? Buffer.alloc(0);
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = options.flags ?? 0;
  head.writeUInt32BE(options.stream ?? 0, 5);
  return Buffer.concat([head, payload]);
}

export const frameTypes = { headers: 1, settings: 4, continuation: 9 } as const;

/** `GET /` over plain HTTP in HPACK, with :authority localhost. */
export const getRoot = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 9]), Buffer.from("localhost")]);

/** Everything a socket sends, until it is closed. */
export async function received(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  if (!socket.closed) await closed(socket);
  return Buffer.concat(chunks);
}

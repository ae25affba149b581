// Peers that do not speak the language, hang up in the middle, come and go by the thousand, or stop reading and vanish:
// the server stays, everybody else is served, and what they held is given back.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test, vi } from "vitest";
import { StreamThreadEventsRequestSchema } from "../../gen/heddle/v1/thread_service_pb.js";
import { newId } from "../../src/thread/ids.js";
import { RunScript } from "../support/scenario.js";
import { openProducer } from "./clients/producer.js";
import { enveloped } from "./clients/raw.js";
import { tryServer } from "./clients/tried-server.js";

const server = tryServer();

const path = "/heddle.v1.ThreadService/StreamThreadEvents";
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The two ways that the server serves a stream, and how a subscription is asked for in each. */
const kinds = [
  { kind: "lane", type: "application/connect+proto", message: (threadId: string) => binary(threadId) },
  {
    kind: "handler",
    type: "application/connect+json",
    message: (threadId: string) => Buffer.from(JSON.stringify({ threadId, follow: true })),
  },
] as const;
type Kind = (typeof kinds)[number];

const binary = (threadId: string): Uint8Array =>
  toBinary(StreamThreadEventsRequestSchema, create(StreamThreadEventsRequestSchema, { threadId, follow: true }));

describe("connections", () => {
  test.each([
    ["bytes of chance", () => Buffer.concat([Buffer.from([0]), randomBytes(64 * 1024)])],
    ["a version of HTTP that there is not", () => Buffer.from("GET / HTTP/9.9\r\nhost: localhost\r\n\r\n")],
    ["a preface that turns into something else", () => Buffer.concat([preface.subarray(0, 16), randomBytes(64)])],
    [
      "a preface with bytes of chance behind it",
      () => Buffer.concat([preface, Buffer.alloc(9, 0xff), randomBytes(4096)]),
    ],
    [
      "a TLS handshake where there is none",
      () => Buffer.concat([Buffer.from("160301020001", "hex"), randomBytes(512)]),
    ],
    [
      "two lengths for one body",
      () => Buffer.from("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ncontent-length: 9\r\n\r\nabc"),
    ],
    [
      "a chunk of a size that is none",
      () => Buffer.from(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`),
    ],
  ])("%s: closed", async (_what, bytes) => {
    const socket = await connect();
    socket.write(bytes());
    await closed(socket);
  });

  test.each(kinds)("HTTP/1.1: a body that breaks off ($kind)", async ({ type, message }) => {
    const body = enveloped(message(server.threadId));
    for (let sent = 0; sent < body.length; sent += 7) {
      const socket = await connect();
      socket.write(`${head(type, body.length)}`);
      socket.write(body.subarray(0, sent));
      await vi.waitFor(async () => expect((await server.status())["requests"]).toBe(2));
      socket.destroy();
      await server.rests();
    }
  });

  test.each(kinds)("HTTP/2: a body that breaks off ($kind)", async ({ type, message }) => {
    const body = enveloped(message(server.threadId));
    for (const end of ["the stream", "the connection"] as const) {
      const session = connectHttp2(server.url);
      session.on("error", () => {});
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": type });
      stream.on("error", () => {});
      stream.write(body.subarray(0, body.length / 2));
      await vi.waitFor(async () => expect((await server.status())["streams"]).toBe(1));
      if (end === "the stream") stream.close(constants.NGHTTP2_CANCEL);
      else session.destroy();
      await server.rests();
      session.destroy();
    }
  });
});

describe("a thousand subscriptions over ten connections, each left", () => {
  const [connections, perConnection] = [10, 100];

  test.each(kinds)("over HTTP/2, as soon as it is open ($kind)", async (kind) => {
    await inParallel(connections, async () => {
      const session = connectHttp2(server.url);
      for (let n = 0; n < perConnection; n++) {
        const stream = subscribe(session.request(headers(kind)), kind);
        await once(stream, "data");
        await leave(stream);
      }
      expect(session.closed).toBe(false);
      session.destroy();
    });
    await server.rests();
  });

  test.each(kinds)("over HTTP/2, before it can be ($kind)", async (kind) => {
    await inParallel(connections, async () => {
      const session = connectHttp2(server.url);
      for (let n = 0; n < perConnection; n++) await leave(subscribe(session.request(headers(kind)), kind));
      expect(session.closed).toBe(false);
      session.destroy();
    });
    await server.rests();
  });

  test.each(kinds)("over HTTP/1.1, ten at a time, by hanging up ($kind)", async (kind) => {
    await inParallel(connections, async () => {
      for (let n = 0; n < perConnection; n++) {
        const socket = await subscribeHttp1(kind, server.threadId);
        await once(socket, "data");
        socket.destroy();
      }
    });
    await server.rests();
  });
});

test("S2: clients that stop reading and vanish hold up nobody, and leave nothing behind", async () => {
  const stalledPerKind = 8;
  const [batches, deltasPerBatch, delta] = [10, 60, "x".repeat(30_000)];
  const producer = await openProducer(server.api);
  const run = new RunScript();
  const callId = newId();
  await producer.record([run.started(), run.created(callId), run.inputCompleted(callId), run.callStarted(callId)]);
  const before = await server.status();

  const stalled: Socket[] = [];
  for (const kind of kinds) {
    for (let n = 0; n < stalledPerKind; n++) {
      stalled.push(await subscribeHttp1(kind, producer.threadId), await stallHttp2(kind, producer.threadId));
    }
  }
  const fast = new AbortController();
  let seen = 0n;
  const reading = (async () => {
    for await (const { sequence, payload } of server.api.threads.streamThreadEvents(
      { threadId: producer.threadId, follow: true },
      { signal: fast.signal },
    )) {
      if (sequence > 0n) expect(sequence).toBe(++seen);
      if (payload.case === "runCompleted") return;
    }
  })();
  await vi.waitFor(async () => expect((await server.status())["subscriptions"]).toBe(stalled.length + 1));

  for (let batch = 0; batch < batches; batch++) {
    await producer.record(Array.from({ length: deltasPerBatch }, () => run.output(callId, delta)));
  }
  const last = await producer.record([run.complete(callId), run.completed()]);
  await producer.close();
  await reading;
  expect(seen).toBe(last);

  fast.abort();
  await vi.waitFor(async () => expect((await server.status())["subscriptions"]).toBe(stalled.length));

  // 18 MB for each of 32 that do not read: a server that kept it for them would hold half a gigabyte.
  const during = await server.status();
  expect(during["rss"]! - before["rss"]!).toBeLessThan(256 * 1024 * 1024);

  for (const socket of stalled) socket.destroy();
  await server.rests();
});

async function connect(): Promise<Socket> {
  const socket = connectTcp(server.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Whatever the server still says is read; what counts is that it hangs up. */
async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await once(socket, "close");
}

const head = (type: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;

/** A subscription whose socket nobody reads until somebody listens. */
async function subscribeHttp1({ type, message }: Kind, threadId: string): Promise<Socket> {
  const socket = await connect();
  const body = enveloped(message(threadId));
  socket.write(Buffer.concat([Buffer.from(head(type, body.length)), body]));
  return socket;
}

const headers = ({ type }: Kind) => ({ ":method": "POST", ":path": path, "content-type": type });

function subscribe(stream: ClientHttp2Stream, { message }: Kind, threadId = server.threadId): ClientHttp2Stream {
  stream.on("error", () => {});
  stream.end(enveloped(message(threadId)));
  return stream;
}

async function leave(stream: ClientHttp2Stream): Promise<void> {
  stream.close(constants.NGHTTP2_CANCEL);
  if (!stream.closed || !stream.destroyed) await new Promise((resolve) => stream.once("close", resolve));
}

/** Its one stream is never read: the flow-control window fills up. */
async function stallHttp2(kind: Kind, threadId: string): Promise<Socket> {
  const socket = await connect();
  const session = connectHttp2(server.url, { createConnection: () => socket });
  session.on("error", () => {});
  const stream = subscribe(session.request(headers(kind)), kind, threadId);
  await once(stream, "response");
  stream.pause();
  return socket;
}

const inParallel = (count: number, work: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, work));

// What a unary lane does by itself: deadlines, callers that leave, failures that nobody foresaw, and one answer to each call.
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test, vi } from "vitest";
import {
  type CloseRecordingRequest,
  CloseRecordingRequestSchema,
  RecorderService,
} from "../../../gen/heddle/v1/recorder_service_pb.js";
import { refuse } from "../../../src/projection/connect/refuse.js";
import { createUnaryLane } from "../../../src/projection/connect/unary-lane.js";
import { HeddleError } from "../../../src/thread/errors.js";
import { enveloped, overHttp1, overHttp2 } from "../../e2e/clients/raw.js";
import { startTestServer } from "../../server/support.js";

const path = "/heddle.v1.RecorderService/CloseRecording";
const message = toBinary(CloseRecordingRequestSchema, create(CloseRecordingRequestSchema, { threadId: "a thread" }));

const dialects = [
  {
    way: "gRPC",
    send: overHttp2,
    type: "application/grpc",
    body: enveloped(message),
    deadline: { "grpc-timeout": "50m" },
  },
  {
    way: "gRPC-Web over HTTP/1.1",
    send: overHttp1,
    type: "application/grpc-web",
    body: enveloped(message),
    deadline: { "grpc-timeout": "50m" },
  },
  {
    way: "Connect",
    send: overHttp2,
    type: "application/proto",
    body: Buffer.from(message),
    deadline: { "connect-timeout-ms": "50" },
  },
  {
    way: "Connect over HTTP/1.1",
    send: overHttp1,
    type: "application/proto",
    body: Buffer.from(message),
    deadline: { "connect-timeout-ms": "50" },
  },
] as const;

async function start(run: (request: CloseRecordingRequest) => Promise<{ headSequence: bigint }>) {
  const unexpected: unknown[] = [];
  const options = { messageBytes: 1024, onUnexpected: (error: unknown) => void unexpected.push(error) };
  const lane = createUnaryLane({ method: RecorderService.method.closeRecording, run }, options);
  const server = await startTestServer({ doors: [lane], reject: refuse, allowedOrigins: ["https://app.example"] });
  const rests = () => vi.waitFor(() => expect(server.gauges()).toMatchObject({ streams: 0, requests: 0 }));
  return { server, url: server.url, unexpected, rests, [Symbol.asyncDispose]: () => server.close({ drainMs: 0 }) };
}

describe.each(dialects)("$way", ({ send, type, body, deadline }) => {
  const headers = { "content-type": type };

  test("a deadline that passes while the call is worked on is said so, and what comes later is nobody's", async () => {
    const work = unsettled<{ headSequence: bigint }>();
    await using place = await start(() => work.promise);
    const { failure } = await send(place.url, { path, headers: { ...headers, ...deadline }, body });
    expect(failure).toMatchObject({
      code: "deadline_exceeded",
      message: "The caller's deadline has passed",
      details: [{ value: { reason: "DEADLINE_EXCEEDED" } }],
    });
    work.resolve({ headSequence: 1n });
    await place.rests();
    expect(place.unexpected).toEqual([]);
  });

  test("a failure that nobody foresaw says nothing of its cause, and is told to whoever runs the server", async () => {
    const cause = new Error("/secret/path");
    await using place = await start(() => Promise.reject(cause));
    const { failure } = await send(place.url, { path, headers, body });
    expect(failure).toMatchObject({ code: "internal", message: "The server failed; its log says more" });
    expect(place.unexpected).toEqual([cause]);
  });

  test("a failure that was foreseen is the caller's alone", async () => {
    await using place = await start(() => Promise.reject(new HeddleError("thread_not_found", "There is no thread x")));
    const { failure } = await send(place.url, { path, headers, body });
    expect(failure).toMatchObject({ code: "not_found", message: "There is no thread x" });
    expect(place.unexpected).toEqual([]);
  });
});

const answered = { headSequence: 7n };

test("HTTP/2: a deadline that passes in the middle of the body: the call is never made", async () => {
  const run = vi.fn(async () => answered);
  await using place = await start(run);
  const session = connectHttp2(place.url);
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    "grpc-timeout": "50m",
  });
  stream.write(enveloped(message).subarray(0, 7));
  const [head] = await once(stream, "response");
  expect(head["grpc-status"]).toBe("4");
  stream.resume();
  session.destroy();
  await place.rests();
  expect(run).not.toHaveBeenCalled();
});

test("HTTP/1.1: a deadline that passes in the middle of the body: the call is not made when the rest comes", async () => {
  const run = vi.fn(async () => answered);
  await using place = await start(run);
  const socket = connectTcp(place.server.port, "127.0.0.1");
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/proto\r\nconnect-timeout-ms: 50\r\ncontent-length: ${message.length}\r\n\r\n`,
  );
  socket.write(message.subarray(0, 3));
  const [bytes] = (await once(socket, "data")) as [Buffer];
  expect(String(bytes)).toMatch(/^HTTP\/1\.1 504 /);
  socket.write(message.subarray(3));
  socket.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const [next] = (await once(socket, "data")) as [Buffer];
  expect(String(next), "the connection is of use").toMatch(/^HTTP\/1\.1 200 /);
  expect(run).not.toHaveBeenCalled();
  socket.destroy();
});

describe.each(["the stream", "the connection"] as const)("HTTP/2: %s is cut", (cut) => {
  test.each(["in the body", "during the call"] as const)("%s", async (when) => {
    const work = unsettled<typeof answered>();
    const run = vi.fn(() => work.promise);
    await using place = await start(run);
    const session = connectHttp2(place.url).on("error", () => {});
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
    stream.on("error", () => {});
    if (when === "in the body") stream.write(enveloped(message).subarray(0, 7));
    else stream.end(enveloped(message));
    await vi.waitFor(() => expect(place.server.gauges()["streams"]).toBe(1));
    if (when === "during the call") await vi.waitFor(() => expect(run).toHaveBeenCalled());
    if (cut === "the stream") stream.close(constants.NGHTTP2_CANCEL);
    else session.destroy();
    await place.rests();
    work.resolve(answered);
    await work.promise;
    expect(run).toHaveBeenCalledTimes(when === "in the body" ? 0 : 1);
    expect(place.unexpected).toEqual([]);
    session.destroy();
  });
});

test("HTTP/1.1: a connection that is cut in the body: the call is never made", async () => {
  const run = vi.fn(async () => answered);
  await using place = await start(run);
  const socket = connectTcp(place.server.port, "127.0.0.1");
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/proto\r\ncontent-length: 99\r\n\r\nabc`,
  );
  await vi.waitFor(() => expect(place.server.gauges()["requests"]).toBe(1));
  socket.destroy();
  await place.rests();
  expect(run).not.toHaveBeenCalled();
  expect(place.unexpected).toEqual([]);
});

test("HTTP/1.1: a body in chunks, without a length", async () => {
  const run = vi.fn(async () => answered);
  await using place = await start(run);
  const headers = { "content-type": "application/proto", "transfer-encoding": "chunked" };
  const reply = await overHttp1(place.url, { path, headers, body: Buffer.from(message) });
  expect(reply).toMatchObject({ status: 200, body: Buffer.from([8, 7]) });
  expect(run).toHaveBeenCalledWith(expect.objectContaining({ threadId: "a thread" }));
  const long = await overHttp1(place.url, { path, headers, body: Buffer.alloc(4096) });
  expect(long.failure).toMatchObject({
    code: "resource_exhausted",
    message: "message size is larger than configured readMaxBytes 1024",
  });
});

test("answers carry what the edge wants on every answer", async () => {
  await using place = await start(async () => answered);
  const headers = { "content-type": "application/proto", origin: "https://app.example" };
  const session = connectHttp2(place.url);
  const stream = session.request({ ":method": "POST", ":path": path, ...headers });
  stream.end(message);
  const [head] = await once(stream, "response");
  expect(head).toMatchObject({ ":status": 200, "access-control-allow-origin": "https://app.example" });
  session.destroy();
});

/** A promise that the test settles. */
function unsettled<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

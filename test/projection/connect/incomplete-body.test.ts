// Callers that send the beginning of a request and no more, over HTTP/2: each has an answer by its deadline, which counts from the
// arrival of the request, and one without a deadline has an answer all the same.
import { once } from "node:events";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { bodyInTime } from "../../../src/projection/connect/body-in-time.js";
import { createLane } from "../../../src/projection/connect/lane.js";
import { refuse } from "../../../src/projection/connect/refuse.js";
import { startTestServer, type TestServer } from "../../server/support.js";
import { messageBytes, startWays, type Ways } from "./record-ways.js";

const path = (method: string) => `/heddle.v1.${method}`;
const grpc = { "content-type": "application/grpc+proto", te: "trailers", "grpc-timeout": "200m" };
const connectJson = { "content-type": "application/json", "connect-timeout-ms": "200" };
/** Far below the time after which a quiet caller without a deadline is told, far above the deadline. */
const soonMs = 5_000;

let ways: Ways;
let lane: TestServer;
let sessions: Record<"handler" | "lane" | "recordLane", ClientHttp2Session>;
beforeAll(async () => {
  ways = await startWays();
  const door = createLane(ways.core.threads, { messageBytes, onUnexpected: () => {} });
  lane = await startTestServer({ doors: [door], reject: refuse });
  sessions = { handler: connect(ways.handler), lane: connect(lane.url), recordLane: connect(ways.lane) };
});
afterAll(async () => {
  for (const session of Object.values(sessions)) session.destroy();
  await lane[Symbol.asyncDispose]();
  await ways[Symbol.asyncDispose]();
});

async function sendHalf(session: ClientHttp2Session, headers: OutgoingHttpHeaders) {
  const begunMs = performance.now();
  const stream = session.request({ ":method": "POST", ...headers });
  let trailers: IncomingHttpHeaders = {};
  stream.on("trailers", (got) => {
    trailers = got;
  });
  stream.write(Buffer.from([0, 0, 0, 0, 100, 10])); // An envelope of 100 bytes, and the first of them.
  const [got] = (await once(stream, "response", { signal: AbortSignal.timeout(soonMs) })) as [IncomingHttpHeaders];
  const afterMs = performance.now() - begunMs;
  const body = await buffer(stream);
  return { fields: { ...got, ...trailers }, text: body.toString("latin1"), afterMs };
}

const calls = [
  ["GetThread, gRPC", "handler", { ":path": path("ThreadService/GetThread"), ...grpc }],
  ["GetThread, Connect", "handler", { ":path": path("ThreadService/GetThread"), ...connectJson }],
  [
    "StreamThreadEvents, JSON",
    "handler",
    { ":path": path("ThreadService/StreamThreadEvents"), ...grpc, "content-type": "application/grpc+json" },
  ],
  ["StreamThreadEvents, lane", "lane", { ":path": path("ThreadService/StreamThreadEvents"), ...grpc }],
  ["RecordEvents, lane", "recordLane", { ":path": path("RecorderService/RecordEvents"), ...grpc }],
  ["reflection", "handler", { ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", ...grpc }],
] as const;

test.each(calls)("%s: the deadline ends it", async (_name, way, headers) => {
  const { fields, text, afterMs } = await sendHalf(sessions[way], headers);
  expect(afterMs).toBeGreaterThan(150);
  if (headers["content-type"] === "application/json") {
    expect(fields).toMatchObject({ ":status": 504 });
    expect(JSON.parse(text)).toMatchObject({ code: "deadline_exceeded", details: [{ type: "google.rpc.ErrorInfo" }] });
  } else {
    expect(fields).toMatchObject({ ":status": 200, "grpc-status": String(Code.DeadlineExceeded) });
    expect(fields).toHaveProperty("grpc-status-details-bin");
  }
});

describe("without a deadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const bounds = { quietMs: 1_000, longestMs: 5_000 };
  const reading = (body: PassThrough) => {
    const all = buffer(bodyInTime(body, bounds));
    all.catch(() => {});
    return all;
  };

  test("a caller that is quiet for too long is told so", async () => {
    const read = reading(new PassThrough());
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(read).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });

  test("one that keeps sending is not, until it has taken too long altogether", async () => {
    const body = new PassThrough();
    const read = reading(body);
    for (let sent = 0; sent < 9; sent++) {
      body.write("x");
      await vi.advanceTimersByTimeAsync(500);
    }
    const settled = vi.fn();
    read.finally(settled).catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).not.toHaveBeenCalled();
    body.write("x");
    await vi.advanceTimersByTimeAsync(500);
    await expect(read).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });

  test("a body that is complete leaves no clock behind", async () => {
    const body = new PassThrough();
    body.end("all of it");
    expect(String(await reading(body))).toBe("all of it");
    expect(vi.getTimerCount()).toBe(0);
  });
});

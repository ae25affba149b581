// What a caller of RecordEvents gets is the same over the lane and over Connect's own handler: every dialect, every HTTP
// version, good batches and bad ones. Connect's handler says nothing of what it finds wrong before ours is asked but a code
// and words; the lane adds the typed details that every error of ours has.
import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { create, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RecordEventsRequestSchema } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { enveloped, overHttp1, overHttp2, type RawReply } from "../../e2e/clients/raw.js";
import { openProducer, storedEvents } from "../../support/core.js";
import { RunScript } from "../../support/scenario.js";
import { messageBytes, startWays, type Ways } from "./record-ways.js";

const path = "/heddle.v1.RecorderService/RecordEvents";
const bare = (message: Uint8Array): Buffer => Buffer.from(message);

const grpc = { wrap: enveloped, timeoutHeader: "grpc-timeout", isEnveloped: true };
const connect = { wrap: bare, timeoutHeader: "connect-timeout-ms", isEnveloped: false };

const dialects = [
  { way: "gRPC over HTTP/2", send: overHttp2, type: "application/grpc", ...grpc },
  { way: "gRPC (+proto) over HTTP/2", send: overHttp2, type: "application/grpc+proto", ...grpc },
  { way: "gRPC-Web over HTTP/2", send: overHttp2, type: "application/grpc-web+proto", ...grpc },
  { way: "gRPC-Web over HTTP/1.1", send: overHttp1, type: "application/grpc-web", ...grpc },
  { way: "Connect over HTTP/2", send: overHttp2, type: "application/proto", ...connect },
  { way: "Connect over HTTP/1.1", send: overHttp1, type: "application/proto", ...connect },
] as const;

type RequestInit = MessageInitShape<typeof RecordEventsRequestSchema>;

const encoded = (init: RequestInit): Uint8Array =>
  toBinary(RecordEventsRequestSchema, create(RecordEventsRequestSchema, init));

/** A batch for a producer that has just been opened, so that both ways can be sent the same to one of their own. */
type Batch = (producer: Awaited<ReturnType<typeof openProducer>>) => RequestInit;

const run = new RunScript();
const hold = ({ threadId, recordingId, epoch }: Parameters<Batch>[0]) => ({ threadId, recordingId, epoch });
const whole: Batch = (producer) => ({ ...hold(producer), producerSequence: 1n, events: run.whole() });

const batches: readonly { what: string; batch: Batch }[] = [
  { what: "a run", batch: whole },
  { what: "nothing, to renew the lease", batch: (producer) => ({ ...hold(producer), producerSequence: 0n }) },
  {
    what: "one as large as it may be",
    batch: (producer) => filled({ ...hold(producer), producerSequence: 1n, events: [run.started()] }, messageBytes),
  },
];

const refused: readonly { what: string; batch: Batch }[] = [
  { what: "a thread id that is none", batch: (producer) => ({ ...hold(producer), threadId: "x" }) },
  { what: "an unknown thread", batch: (producer) => ({ ...hold(producer), threadId: unknownId }) },
  { what: "a recording id that is none", batch: (producer) => ({ ...hold(producer), recordingId: "é".repeat(2000) }) },
  {
    what: "a recording that has lost the thread",
    batch: (producer) => ({ ...hold(producer), epoch: 9n, producerSequence: 1n }),
  },
  {
    what: "a gap",
    batch: (producer) => ({ ...hold(producer), producerSequence: 7n, events: [run.started()] }),
  },
  {
    what: "an event out of turn",
    batch: (producer) => ({ ...hold(producer), producerSequence: 1n, events: [run.completed()] }),
  },
  {
    what: "an event that is none",
    batch: (producer) => ({ ...hold(producer), producerSequence: 1n, events: [{ runId: "x" }] }),
  },
  {
    what: "too many events",
    batch: (producer) => ({ ...hold(producer), producerSequence: 1n, events: Array(1001).fill(run.started()) }),
  },
];
const unknownId = randomUUID();

/** Bodies that hold no batch, for dialects with envelopes, for those without, or for both. */
const malformed: readonly { what: string; body: (wrap: typeof enveloped) => Buffer; for?: "enveloped" | "bare" }[] = [
  { what: "a message beyond the limit", body: (wrap) => wrap(Buffer.alloc(messageBytes + 1)) },
  { what: "bytes that are no protobuf", body: (wrap) => wrap(Buffer.alloc(100, 0xff)) },
  { what: "a text that is no UTF-8", body: (wrap) => wrap(Buffer.from([0x0a, 1, 0xff])) },
  { what: "a message cut short", body: (wrap) => wrap(encoded({ threadId: unknownId }).subarray(0, 20)) },
  { what: "nothing at all", body: () => Buffer.alloc(0), for: "enveloped" },
  { what: "an empty message", body: (wrap) => wrap(Buffer.alloc(0)) },
  { what: "half an envelope", body: () => Buffer.alloc(3), for: "enveloped" },
  { what: "a length that promises more", body: () => enveloped(Buffer.alloc(9), { length: 99 }), for: "enveloped" },
  { what: "a length of 4 GiB", body: () => enveloped(Buffer.alloc(9), { length: 0xffff_ffff }), for: "enveloped" },
  { what: "two messages", body: () => Buffer.concat([nobodys(), nobodys()]), for: "enveloped" },
  {
    what: "two messages that are too much together",
    body: () => Buffer.concat([nobodys(), enveloped(encoded(filled({}, messageBytes)))]),
    for: "enveloped",
  },
  { what: "bytes behind the message", body: () => Buffer.concat([nobodys(), Buffer.alloc(3)]), for: "enveloped" },
  {
    what: "a compressed message without a name for how",
    body: () => enveloped(gzipSync(encoded({})), { flags: 1 }),
    for: "enveloped",
  },
];
const nobodys = (): Buffer => enveloped(encoded({ threadId: unknownId, recordingId: unknownId }));

let ways: Ways;
beforeAll(async () => {
  ways = await startWays();
});
afterAll(async () => {
  await ways[Symbol.asyncDispose]();
  expect(ways.unexpected, "what a client does is no fault of the server").toEqual([]);
});

describe.each(dialects)("$way", ({ send, type, wrap, timeoutHeader, isEnveloped }) => {
  const ask = (url: string, body: Buffer, headers: Record<string, string> = {}): Promise<RawReply> =>
    send(url, { path, headers: { "content-type": type, te: "trailers", ...headers }, body });

  /** The same over both, each with a producer of its own. */
  async function both(batch: Batch, headers?: Record<string, string>) {
    const before = ways.taken.lane;
    const [ofLane, ofHandler] = [await openProducer(ways.core), await openProducer(ways.core)];
    const lane = await ask(ways.lane, wrap(encoded(batch(ofLane))), headers);
    const handler = await ask(ways.handler, wrap(encoded(batch(ofHandler))), headers);
    expect(ways.taken.lane).toBe(before + 1);
    return { lane, handler, ofLane, ofHandler };
  }

  test.each(batches)("stored: $what", async ({ batch }) => {
    const { lane, handler, ofLane, ofHandler } = await both(batch);
    expect(lane).toMatchObject({ status: 200, failure: undefined });
    expect(lane).toEqual(handler);
    const stored = async (id: string) => (await storedEvents(ways.core, id)).map(({ payload }) => payload.case);
    expect(await stored(ofLane.threadId)).toEqual(await stored(ofHandler.threadId));
  });

  test.each(refused)("refused: $what", async ({ batch }) => {
    const { lane, handler } = await both(batch);
    expect(lane.failure).toBeDefined();
    expect(seen(lane)).toEqual(seen(handler));
    expect(lane.body).toEqual(handler.body);
  });

  const bodies = malformed.filter((one) => one.for === undefined || (one.for === "enveloped") === isEnveloped);
  test.each(bodies)("no batch: $what", async ({ body }) => {
    const lane = await ask(ways.lane, body(wrap as typeof enveloped));
    const handler = await ask(ways.handler, body(wrap as typeof enveloped));
    expect(lane.failure).toBeDefined();
    expect({ ...seen(lane), details: undefined }).toEqual({ ...seen(handler), details: undefined });
    expect(lane.failure?.details[0]).toMatchObject({ type: "google.rpc.ErrorInfo", value: { domain: "heddle" } });
  });

  test("a deadline that is none", async () => {
    const { lane, handler } = await both(whole, { [timeoutHeader]: "soon" });
    expect(lane.failure).toMatchObject({ code: "invalid_argument" });
    expect({ ...seen(lane), details: undefined }).toEqual({ ...seen(handler), details: undefined });
  });

  test("a deadline that is far away", async () => {
    const { lane, handler } = await both(whole, { [timeoutHeader]: isEnveloped ? "9S" : "9000" });
    expect(lane).toEqual(handler);
  });

  test("a deadline beyond what a timer takes is none", async () => {
    const request = wrap(encoded(whole(await openProducer(ways.core))));
    const reply = await ask(ways.lane, request, { [timeoutHeader]: isEnveloped ? "99999999H" : "9999999999" });
    expect(reply).toMatchObject({ status: 200, failure: undefined });
  });

  test("a client that takes compressed answers, and one that calls its own request what it is", async () => {
    const accepts = isEnveloped ? "grpc-accept-encoding" : "accept-encoding";
    const names = isEnveloped ? "grpc-encoding" : "content-encoding";
    const { lane } = await both(whole, { [accepts]: "gzip, br", [names]: "identity" });
    expect(lane).toMatchObject({ status: 200, failure: undefined });
  });

  test("fields that this version does not know are not stored", async () => {
    const unknown = [{ no: 500, wireType: 2, data: Buffer.from([3, 1, 2, 3]) }];
    const { ofLane } = await both((producer) => ({
      ...hold(producer),
      producerSequence: 1n,
      events: [Object.assign(run.started(), { $unknown: unknown })],
    }));
    const [event] = await storedEvents(ways.core, ofLane.threadId);
    expect(event?.payload.case).toBe("runStarted");
    expect(event?.$unknown).toBeUndefined();
  });
});

describe("what is left to Connect's handler", () => {
  const compressed = gzipSync(encoded({}));
  const json = Buffer.from(toJsonString(RecordEventsRequestSchema, create(RecordEventsRequestSchema)));
  const requests = [
    { what: "JSON", send: overHttp1, type: "application/json", body: json },
    { what: "gRPC JSON", send: overHttp2, type: "application/grpc+json", body: enveloped(json) },
    { what: "gRPC over HTTP/1.1", send: overHttp1, type: "application/grpc", body: nobodys() },
    { what: "a stream's content type", send: overHttp2, type: "application/connect+proto", body: nobodys() },
    { what: "gRPC-Web in base64", send: overHttp2, type: "application/grpc-web-text", body: nobodys() },
    { what: "a type that nobody knows", send: overHttp2, type: "text/html", body: nobodys() },
    { what: "GET", send: overHttp2, type: "application/proto", body: Buffer.alloc(0), method: "GET" },
    {
      what: "a compressed call",
      send: overHttp2,
      type: "application/proto",
      body: compressed,
      headers: { "content-encoding": "gzip" },
    },
    {
      what: "a compressed message",
      send: overHttp2,
      type: "application/grpc",
      body: enveloped(compressed, { flags: 1 }),
      headers: { "grpc-encoding": "gzip" },
    },
  ];

  test.each(requests)("$what", async ({ send, type, body, method = "POST", headers = {} }) => {
    const before = { ...ways.taken };
    const request = { path, method, headers: { "content-type": type, ...headers }, body };
    const [lane, handler] = [await send(ways.lane, request), await send(ways.handler, request)];
    expect(ways.taken).toEqual({ lane: before.lane, handler: before.handler + 1 });
    expect(seen(lane)).toEqual(seen(handler));
  });
});

const seen = ({ status, failure }: RawReply) => ({
  status,
  code: failure?.code,
  message: failure?.message,
  details: failure?.details,
});

/** Filled up with a field that nobody knows, to a message of exactly so many bytes. */
function filled(init: RequestInit, bytes: number): RequestInit {
  const message = create(RecordEventsRequestSchema, init);
  const [tagBytes, lengthBytes] = [2, 3];
  const data = Buffer.alloc(bytes - encoded(message).length - tagBytes);
  const length = data.length - lengthBytes;
  data.set([(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]);
  message.$unknown = [{ no: 500, wireType: 2, data }];
  return message;
}

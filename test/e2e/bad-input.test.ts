// Requests that nobody should send, in every protocol: each gets a typed error, never a hang; afterwards the same process
// answers, and nothing of it stays open. Peers that misbehave below that level are in bad-peers.test.ts.
// Longer than most: it is a list, and reads as one.
import { randomBytes } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { StreamThreadEventsRequestSchema } from "../../gen/heddle/v1/thread_service_pb.js";
import { failureOf, type StreamFailure } from "./clients/failure.js";
import { enveloped, overHttp1, overHttp2, overSession } from "./clients/raw.js";
import { tryServer } from "./clients/tried-server.js";

const token = "a-token-for-strangers";
const authorized = { authorization: `Bearer ${token}` };
const mebibyte = 1024 * 1024;
/** limits.messageBytes and limits.headerBytes as they are when nobody configures them. */
const [messageBytes, headerBytes] = [4 * mebibyte, 16 * 1024];

const server = tryServer({ token });

const path = (method: string): string => `/heddle.v1.ThreadService/${method}`;
const subscription = (): Uint8Array => {
  const { threadId } = server;
  return toBinary(StreamThreadEventsRequestSchema, create(StreamThreadEventsRequestSchema, { threadId, follow: true }));
};

/** A way to ask for the stream, and the header in which it names a compression. */
const ways = [
  { way: "gRPC over HTTP/2", send: overHttp2, type: "application/grpc", encodingHeader: "grpc-encoding" },
  { way: "gRPC JSON over HTTP/2", send: overHttp2, type: "application/grpc+json", encodingHeader: "grpc-encoding" },
  { way: "gRPC-Web over HTTP/2", send: overHttp2, type: "application/grpc-web", encodingHeader: "grpc-encoding" },
  { way: "gRPC-Web over HTTP/1.1", send: overHttp1, type: "application/grpc-web", encodingHeader: "grpc-encoding" },
  {
    way: "Connect over HTTP/2",
    send: overHttp2,
    type: "application/connect+proto",
    encodingHeader: "connect-content-encoding",
  },
  {
    way: "Connect over HTTP/1.1",
    send: overHttp1,
    type: "application/connect+proto",
    encodingHeader: "connect-content-encoding",
  },
  {
    way: "Connect JSON over HTTP/2",
    send: overHttp2,
    type: "application/connect+json",
    encodingHeader: "connect-content-encoding",
  },
  {
    way: "Connect JSON over HTTP/1.1",
    send: overHttp1,
    type: "application/connect+json",
    encodingHeader: "connect-content-encoding",
  },
] as const;

const nonsense: readonly (readonly [what: string, body: () => Buffer])[] = [
  ["bytes of chance", () => enveloped(randomBytes(1000))],
  ["bytes of chance without an envelope", () => Buffer.concat([Buffer.from([0, 0, 0]), randomBytes(1000)])],
  ["a length that promises more", () => enveloped(subscription(), { length: 1000 })],
  ["a length that promises less", () => enveloped(subscription(), { length: 10 })],
  ["half an envelope", () => Buffer.alloc(3)],
  ["a compressed message without a name for how", () => enveloped(gzipSync(subscription()), { flags: 1 })],
  ["the flag of a stream's end", () => enveloped(subscription(), { flags: 0b1000_0010 })],
  ["nothing at all", () => Buffer.alloc(0)],
  ["two messages", () => Buffer.concat([enveloped(subscription()), enveloped(subscription())])],
];

describe.each(ways)("a subscription by $way", ({ send, type, encodingHeader }) => {
  const refusal = async (body: Buffer, headers: Record<string, string> = {}) => {
    const { failure } = await send(server.url, {
      path: path("StreamThreadEvents"),
      headers: { ...authorized, "content-type": type, te: "trailers", ...headers },
      body,
    });
    return { code: failure?.code, reason: reasonOf(failure) };
  };
  const tooLarge = { code: "resource_exhausted", reason: "LIMIT_EXCEEDED" };

  test("a message beyond the limit", async () => {
    expect(await refusal(enveloped(Buffer.alloc(messageBytes + 1)))).toEqual(tooLarge);
  });

  test("a length of 4 GiB with nothing behind it", async () => {
    expect(await refusal(enveloped(Buffer.alloc(8), { length: 0xffff_ffff }))).toEqual(tooLarge);
  });

  test("a small message that unpacks beyond the limit", async () => {
    expect(bomb().length).toBeLessThan(100_000);
    expect(await refusal(enveloped(bomb(), { flags: 1 }), { [encodingHeader]: "gzip" })).toEqual(tooLarge);
  });

  test("a compressed message that is none", async () => {
    const { code } = await refusal(enveloped(randomBytes(1000), { flags: 1 }), { [encodingHeader]: "gzip" });
    expect(code).toMatch(typed);
  });

  test("a compression that nobody knows", async () => {
    const answer = await refusal(enveloped(subscription(), { flags: 1 }), { [encodingHeader]: "pied-piper" });
    expect(answer).toEqual({ code: "unimplemented", reason: "UNIMPLEMENTED" });
  });

  test.each(nonsense)("%s", async (_what, body) => {
    expect(await refusal(body())).toEqual({ code: expect.stringMatching(typed), reason: expect.any(String) });
  });
});

describe.each([
  {
    way: "gRPC over HTTP/2",
    send: overHttp2,
    type: "application/grpc",
    wrap: enveloped,
    encodingHeader: "grpc-encoding",
  },
  {
    way: "gRPC-Web over HTTP/1.1",
    send: overHttp1,
    type: "application/grpc-web",
    wrap: enveloped,
    encodingHeader: "grpc-encoding",
  },
  {
    way: "Connect over HTTP/2",
    send: overHttp2,
    type: "application/proto",
    wrap: bare,
    encodingHeader: "content-encoding",
  },
  {
    way: "Connect over HTTP/1.1",
    send: overHttp1,
    type: "application/proto",
    wrap: bare,
    encodingHeader: "content-encoding",
  },
  {
    way: "Connect JSON over HTTP/1.1",
    send: overHttp1,
    type: "application/json",
    wrap: bare,
    encodingHeader: "content-encoding",
  },
])("a call by $way", ({ send, type, wrap, encodingHeader }) => {
  const refusal = async (body: Buffer, headers: Record<string, string> = {}): Promise<string | undefined> => {
    const reply = await send(server.url, {
      path: path("CreateThread"),
      headers: { ...authorized, "content-type": type, te: "trailers", ...headers },
      body,
    });
    return reply.failure?.code;
  };

  test("a message beyond the limit", async () => {
    expect(await refusal(wrap(Buffer.alloc(messageBytes + 1)))).toBe("resource_exhausted");
  });

  test("a small message that unpacks beyond the limit", async () => {
    expect(await refusal(wrap(bomb(), { flags: 1 }), { [encodingHeader]: "gzip" })).toBe("resource_exhausted");
  });

  test("bytes of chance", async () => {
    expect(await refusal(wrap(Buffer.concat([Buffer.from([0xff]), randomBytes(1000)])))).toMatch(typed);
  });

  test("a compressed message that is none", async () => {
    expect(await refusal(wrap(randomBytes(1000), { flags: 1 }), { [encodingHeader]: "gzip" })).toMatch(typed);
  });

  test("a compression that nobody knows", async () => {
    expect(await refusal(wrap(randomBytes(10), { flags: 1 }), { [encodingHeader]: "pied-piper" })).toBe(
      "unimplemented",
    );
  });
});

test("one connection outlives every bad request on it", async () => {
  const session = connectHttp2(server.url);
  for (const { type, send } of ways) {
    if (send !== overHttp2) continue;
    for (const body of [enveloped(Buffer.alloc(messageBytes + 1)), ...nonsense.map(([, make]) => make())]) {
      await overSession(session, {
        path: path("StreamThreadEvents"),
        headers: { ...authorized, "content-type": type },
        body,
      });
    }
  }
  await server.rests();
  const headers = { ...authorized, "content-type": "application/proto" };
  expect(await overSession(session, { path: path("CreateThread"), headers, body: Buffer.alloc(0) })).toMatchObject({
    status: 200,
  });
  session.destroy();
});

describe("ids that are none", () => {
  const ids = ["x", "../../etc/passwd", "\0", "é".repeat(1000), "a".repeat(mebibyte), "{}", "' OR 1=1 --"];
  ids.push("00000000-0000-4000-8000-00000000000", "DEADBEEF-0000-4000-8000-000000000000");

  test.each(ids.map((id) => ({ shown: JSON.stringify(id).slice(0, 40), id })))("$shown", async ({ id }) => {
    const { api } = server;
    const answers = await Promise.allSettled([
      api.threads.getThread({ threadId: id }),
      api.threads.createThread({ threadId: id }),
      api.threads.deleteThread({ threadId: id }),
      api.recorder.openRecording({ threadId: id, producer: "x" }),
      api.toolCalls.getToolCall({ toolCallId: id }),
      api.toolCalls.listToolCalls({ threadId: id }),
      firstOf(api.threads.streamThreadEvents({ threadId: id })),
      firstOf(api.toolCalls.readToolCallContent({ toolCallId: id, contentId: "input" })),
    ]);
    for (const answer of answers) {
      const failure = answer.status === "rejected" ? failureOf(answer.reason) : undefined;
      expect(failure).toMatchObject({
        code: "invalid_argument",
        details: [{ value: { reason: "INVALID_FIELD" } }, {}],
      });
    }
  });
});

describe.each([
  { version: "HTTP/1.1", send: overHttp1 },
  { version: "HTTP/2", send: overHttp2 },
])("over $version", ({ send }) => {
  const body = Buffer.from("{}");
  const json = { ...authorized, "content-type": "application/json" };

  test.each([
    ["none", {}],
    ["a wrong one", { authorization: "Bearer not-the-token-of-anybody" }],
    ["half of it", { authorization: `Bearer ${token.slice(0, 8)}` }],
    ["another scheme", { authorization: `Basic ${Buffer.from(`x:${token}`).toString("base64")}` }],
  ])("a token that does not open the door: %s", async (_what, headers: Record<string, string>) => {
    for (const type of ["application/json", "application/grpc-web", "application/connect+proto"]) {
      const { failure } = await send(server.url, {
        path: path("GetThread"),
        headers: { ...headers, "content-type": type },
        body,
      });
      expect(failure, type).toMatchObject({
        code: "unauthenticated",
        details: [{ value: { reason: "UNAUTHENTICATED" } }],
      });
    }
  });

  test("headers beyond the limit", async () => {
    const headers = { ...json, "x-long": "x".repeat(headerBytes) };
    const { failure } = await send(server.url, { path: path("CreateThread"), headers, body });
    expect(failure).toMatchObject({ code: "resource_exhausted", details: [{ value: { reason: "LIMIT_EXCEEDED" } }] });
  });

  test("many small headers that are beyond the limit together", async () => {
    const many = Object.fromEntries(Array.from({ length: 2_900 }, (_, n) => [`x${n}`, "1"]));
    const outcome = await send(server.url, { path: path("CreateThread"), headers: { ...many, ...json }, body }).catch(
      (error: Error) => error,
    );
    // HTTP/2 has a bound on their number, too, and ends the stream.
    if (!(outcome instanceof Error)) expect(outcome.failure).toMatchObject({ code: "resource_exhausted" });
  });

  test("headers far beyond the limit end the request, whichever way", async () => {
    const headers = { ...json, "x-long": "x".repeat(20 * headerBytes) };
    const outcome = await send(server.url, { path: path("CreateThread"), headers, body }).catch(
      (error: Error) => error,
    );
    if (!(outcome instanceof Error)) expect(outcome.status).toBe(431);
  });

  test.each([
    "application/json",
    "application/proto",
    "application/grpc-web",
    "application/connect+proto",
    "application/grpc",
  ])("a method and a service that are not there, in %s", async (type) => {
    for (const unknown of [path("NoSuchMethod"), "/heddle.v1.NoSuchService/Get", "/", "/%00"]) {
      const { failure } = await send(server.url, { path: unknown, headers: { ...json, "content-type": type }, body });
      expect(failure, unknown).toMatchObject({
        code: "unimplemented",
        details: [{ value: { reason: "UNIMPLEMENTED" } }],
      });
    }
  });

  test("the health of a service that is not there", async () => {
    const { failure } = await send(server.url, {
      path: "/grpc.health.v1.Health/Check",
      headers: json,
      body: Buffer.from('{"service": "nobody.Service"}'),
    });
    expect(failure).toMatchObject({ code: "not_found", details: [{ value: { reason: "SERVICE_NOT_FOUND" } }] });
  });

  test("a page that is not there", async () => {
    const { status } = await send(server.url, {
      path: "/index.php",
      method: "GET",
      headers: authorized,
      body: Buffer.alloc(0),
    });
    expect(status).toBe(404);
  });

  test("a content type that is none of ours, and none at all", async () => {
    for (const type of ["text/html", "application/grpc+thrift", "application/xml", ""]) {
      const { status } = await send(server.url, {
        path: path("CreateThread"),
        headers: { ...authorized, "content-type": type },
        body,
      });
      expect(status, type).toBe(415);
    }
  });

  test("a verb that is none of ours", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { status } = await send(server.url, {
        path: path("CreateThread"),
        method,
        headers: json,
        body: Buffer.alloc(0),
      });
      expect(status, method).toBe(405);
    }
  });
});

const typed = /^(invalid_argument|internal|resource_exhausted|unimplemented)$/;

const bomb = (): Buffer => gzipSync(Buffer.alloc(64 * mebibyte));

/** Connect's unary calls have no envelope. */
function bare(message: Uint8Array): Buffer {
  return Buffer.from(message);
}

const reasonOf = (failure: StreamFailure | undefined): string | undefined =>
  (failure?.details[0]?.value as { reason?: string } | undefined)?.reason;

async function firstOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  for await (const first of stream) return first;
  return undefined;
}

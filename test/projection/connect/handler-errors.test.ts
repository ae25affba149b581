// What Connect's own handler refuses before our code is asked has the details of every other error, in each protocol.
import { once } from "node:events";
import { connect, type OutgoingHttpHeaders } from "node:http2";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { FieldViolationSchema } from "../../../gen/heddle/v1/error_pb.js";
import { envelope, envelopeBytes } from "../../../src/thread/frame.js";
import { messageBytes, startWays, type Ways } from "./record-ways.js";

let ways: Ways;
beforeAll(async () => {
  ways = await startWays();
});
afterAll(() => ways[Symbol.asyncDispose]());

interface Raw {
  readonly headers: OutgoingHttpHeaders;
  readonly trailers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

async function post(path: string, headers: OutgoingHttpHeaders, body: Buffer): Promise<Raw> {
  const session = connect(ways.handler);
  try {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    let trailers: OutgoingHttpHeaders = {};
    stream.on("trailers", (got) => {
      trailers = got;
    });
    const responded = once(stream, "response");
    stream.end(body);
    const [got] = (await responded) as [OutgoingHttpHeaders];
    const answered = await buffer(stream);
    return { headers: got, trailers, body: answered };
  } finally {
    session.close();
  }
}

const headersOf = (fields: OutgoingHttpHeaders): Headers =>
  new Headers(Object.entries(fields).flatMap(([name, value]) => (name.startsWith(":") ? [] : [[name, String(value)]])));

const none = new ConnectError("no error", Code.Unknown);

interface Protocol {
  readonly name: string;
  readonly json: string;
  readonly binary: string;
  /** A message as the protocol sends it. */
  readonly wrap: (message: Buffer) => Buffer;
  readonly errorIn: (raw: Raw) => ConnectError | undefined;
}

const protocols: readonly Protocol[] = [
  {
    name: "Connect",
    json: "application/json",
    binary: "application/proto",
    wrap: (message) => message,
    errorIn: ({ body }) => errorFromJsonBytes(body, undefined, none),
  },
  {
    name: "gRPC",
    json: "application/grpc+json",
    binary: "application/grpc+proto",
    wrap: (message) => envelope(0, message),
    errorIn: ({ headers, trailers }) => findTrailerError(headersOf({ ...headers, ...trailers })),
  },
  {
    name: "gRPC-Web",
    json: "application/grpc-web+json",
    binary: "application/grpc-web+proto",
    wrap: (message) => envelope(0, message),
    errorIn: ({ body }) => findTrailerError(trailerParse(body.subarray(envelopeBytes))),
  },
];

const recordEvents = "/heddle.v1.RecorderService/RecordEvents";
const ruled = ["/heddle.v1.ThreadService/CreateThread", recordEvents].flatMap((path) =>
  protocols.map((protocol) => ({ path, ...protocol })),
);

async function refusalOf(
  call: Pick<Protocol, "errorIn"> & { path: string; headers: OutgoingHttpHeaders; body: Buffer },
) {
  const raw = await post(call.path, call.headers, call.body);
  const error = call.errorIn(raw);
  const details = Object.fromEntries(
    (error?.details ?? []).map((detail) => ("value" in detail && "type" in detail ? [detail.type, detail.value] : [])),
  ) as Record<string, Uint8Array>;
  const info = details["google.rpc.ErrorInfo"];
  const violation = details["heddle.v1.FieldViolation"];
  return {
    code: error?.code,
    message: error?.rawMessage,
    info: info && fromBinary(ErrorInfoSchema, info),
    violation: violation && fromBinary(FieldViolationSchema, violation),
    raw,
  };
}

describe.each(ruled)("$name, $path", ({ path, json, binary, wrap, errorIn }) => {
  const refusal = (contentType: string, body: Buffer, more: OutgoingHttpHeaders = {}) =>
    refusalOf({ path, headers: { "content-type": contentType, ...more }, body, errorIn });

  test("JSON that is none names the rule", async () => {
    const { code, message, info, violation } = await refusal(json, wrap(Buffer.from("{")));
    expect(code).toBe(Code.InvalidArgument);
    expect(info).toMatchObject({ reason: "INVALID_FIELD", domain: "heddle" });
    expect(violation).toMatchObject({ field: "", rule: message });
  });

  test("bytes that are no message", async () => {
    const { code, info } = await refusal(binary, wrap(Buffer.from([0xff, 0xff, 0xff])));
    expect(code).toBe(Code.Internal);
    expect(info).toMatchObject({ reason: "INTERNAL", domain: "heddle" });
  });

  test.each(["json", "binary"] as const)("more than is taken, %s", async (codec) => {
    const tooMuch = wrap(Buffer.alloc(messageBytes + 1, 0x20));
    const { code, info } = await refusal(codec === "json" ? json : binary, tooMuch);
    expect(code).toBe(Code.ResourceExhausted);
    expect(info).toMatchObject({ reason: "LIMIT_EXCEEDED", domain: "heddle" });
  });

  test("a compression that nobody knows: what is known is still said", async () => {
    const unknown = { "content-encoding": "zstd", "grpc-encoding": "zstd" };
    const { code, info, raw } = await refusal(binary, wrap(gzipSync("x")), unknown);
    expect(code).toBe(Code.Unimplemented);
    expect(info).toMatchObject({ reason: "UNIMPLEMENTED", domain: "heddle" });
    const said = `${JSON.stringify([raw.headers, raw.trailers])}${raw.body}`;
    expect(said).toMatch(/accept-encoding"?:\s?"?gzip/);
  });

  test("a deadline that is none", async () => {
    const timeout = { "connect-timeout-ms": "soon", "grpc-timeout": "soon" };
    const { code, info } = await refusal(binary, wrap(Buffer.alloc(0)), timeout);
    expect(code).toBe(Code.InvalidArgument);
    expect(info).toMatchObject({ reason: "INVALID_FIELD", domain: "heddle" });
  });
});

/** Refusals quote what was sent: long ones are compressed where the caller takes that, and cut, wherever a letter ends. */
test.each(
  protocols.flatMap((protocol) =>
    ["k".repeat(5000), "🧵".repeat(2500), `.${"🧵".repeat(2500)}`].map((sent) => ({ ...protocol, sent })),
  ),
)("$name: a refusal that quotes a long text", async ({ json, wrap, errorIn, sent }) => {
  const body = wrap(Buffer.from(JSON.stringify({ producerSequence: sent })));
  const headers = { "content-type": json, "accept-encoding": "gzip", "grpc-accept-encoding": "gzip" };
  const { code, message, info, violation } = await refusalOf({ path: recordEvents, headers, body, errorIn });
  expect(code).toBe(Code.InvalidArgument);
  expect(message).toContain(sent.slice(0, sent.startsWith(".") ? 101 : 100));
  expect(info).toMatchObject({ reason: "INVALID_FIELD", domain: "heddle" });
  expect(violation?.rule).toBe(message);
});

test.each(protocols)("$name: a refusal that quotes half a letter", async ({ json, wrap, errorIn }) => {
  const body = wrap(Buffer.from('{"producerSequence":"\\ud800"}'));
  const { code, info } = await refusalOf({ path: recordEvents, headers: { "content-type": json }, body, errorIn });
  expect(code).toBe(Code.InvalidArgument);
  expect(info).toMatchObject({ reason: "INVALID_FIELD", domain: "heddle" });
});

test("none of it is a fault of the server", () => expect(ways.unexpected).toEqual([]));

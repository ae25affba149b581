// RecordEvents by real clients over both ways that serve it: each records a run, sends the last batch again, and is refused a
// gap. (Debian's python3-grpcio does it in test/e2e/python-producer.test.ts.)
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, type JsonObject, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, type MethodDefinition, type ServiceDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RecordEventsRequestSchema, RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { detailOf, failureOf, failureOfStatus, StreamFailure } from "../../e2e/clients/failure.js";
import { openProducer, storedEvents } from "../../support/core.js";
import { RunScript } from "../../support/scenario.js";
import { startWays, type Ways } from "./record-ways.js";

type Request = MessageInitShape<typeof RecordEventsRequestSchema>;

interface Sequences {
  readonly firstSequence: string;
  readonly lastSequence: string;
}

/** Contract: rejects with StreamFailure, and nothing else. */
type RecordBatch = (url: string, request: Request) => Promise<Sequences>;

const overConnect =
  (transportTo: (baseUrl: string) => Transport): RecordBatch =>
  async (url, request) => {
    try {
      const { firstSequence, lastSequence } = await createClient(RecorderService, transportTo(url)).recordEvents(
        request,
      );
      return { firstSequence: String(firstSequence), lastSequence: String(lastSequence) };
    } catch (reason) {
      throw failureOf(reason);
    }
  };

const service = loadSync("heddle/v1/recorder_service.proto", {
  includeDirs: [join(import.meta.dirname, "../../../proto")],
  longs: String,
})["heddle.v1.RecorderService"] as ServiceDefinition;
const method = service["RecordEvents"] as MethodDefinition<object, Sequences>;

const grpcJs: RecordBatch = async (url, request) => {
  const client = new Client(new URL(url).host, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  const bytes = toBinary(RecordEventsRequestSchema, create(RecordEventsRequestSchema, request));
  const { path, requestSerialize, requestDeserialize, responseDeserialize } = method;
  try {
    return await new Promise<Sequences>((resolve, reject) => {
      const deadline = Date.now() + 20_000;
      const spelt = requestDeserialize(Buffer.from(bytes));
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, spelt, { deadline }, (error, answer) =>
        error ? reject(failureOfServiceError(error)) : resolve(answer!),
      );
    });
  } finally {
    client.close();
  }
};

function failureOfServiceError({ code, details, metadata }: ServiceError): StreamFailure {
  const [bytes] = metadata.get("grpc-status-details-bin");
  return failureOfStatus({ code, message: details, details: bytes && Buffer.from(bytes).toString("base64") });
}

const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");

const bufCurl =
  (protocol: "grpc" | "grpcweb" | "connect"): RecordBatch =>
  async (url, request) => {
    const data = toJson(RecordEventsRequestSchema, create(RecordEventsRequestSchema, request));
    const args = ["curl", "--protocol", protocol, "--http2-prior-knowledge", "--data", JSON.stringify(data)];
    try {
      const { stdout } = await promisify(execFile)(buf, [...args, `${url}/heddle.v1.RecorderService/RecordEvents`]);
      return JSON.parse(stdout) as Sequences;
    } catch (reason) {
      throw failureOfOutput((reason as { stderr: string }).stderr);
    }
  };

function failureOfOutput(stderr: string): Error {
  const start = stderr.indexOf("{");
  if (start === -1) return new Error(`buf curl: ${stderr}`);
  const {
    code,
    message,
    details = [],
  } = JSON.parse(stderr.slice(start)) as JsonObject & {
    code: string;
    message: string;
    details?: { type: string; value: string }[];
  };
  return new StreamFailure(
    code,
    message,
    details.map(({ type, value }) => detailOf(type, Buffer.from(value, "base64"))),
  );
}

const binary = { useBinaryFormat: true };
const clients: readonly { name: string; record: RecordBatch }[] = [
  { name: "gRPC (grpc-js, proto-loader)", record: grpcJs },
  { name: "gRPC (connect-node)", record: overConnect((baseUrl) => createGrpcTransport({ baseUrl })) },
  ...(["1.1", "2"] as const).flatMap((httpVersion) => [
    {
      name: `gRPC-Web over HTTP/${httpVersion} (connect-node)`,
      record: overConnect((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion })),
    },
    {
      name: `Connect over HTTP/${httpVersion} (connect-node)`,
      record: overConnect((baseUrl) => createConnectTransport({ baseUrl, httpVersion, ...binary })),
    },
  ]),
  { name: "gRPC (buf curl, reflection)", record: bufCurl("grpc") },
  { name: "gRPC-Web (buf curl, reflection)", record: bufCurl("grpcweb") },
  { name: "Connect (buf curl, reflection)", record: bufCurl("connect") },
];

let ways: Ways;
beforeAll(async () => {
  ways = await startWays();
});
afterAll(async () => {
  await ways[Symbol.asyncDispose]();
  expect(ways.unexpected).toEqual([]);
});

describe.each(clients)("$name", ({ record }) => {
  test.each(["lane", "handler"] as const)("over the %s", async (way) => {
    const { threadId, recordingId, epoch } = await openProducer(ways.core);
    const events = new RunScript().whole();
    const batch = { threadId, recordingId, epoch, producerSequence: 1n, events };
    const taken = ways.taken.lane;

    const answer = { firstSequence: "1", lastSequence: String(events.length) };
    expect(await record(ways[way], batch)).toEqual(answer);
    expect(await record(ways[way], batch), "sent again").toEqual(answer);
    const stored = await storedEvents(ways.core, threadId);
    expect(stored.map(({ payload }) => payload.case)).toEqual(events.map(({ payload }) => payload.case));

    await expect(record(ways[way], { ...batch, producerSequence: 9n })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "producer_sequence must be 2, one more than the last stored batch",
      details: [
        { type: "google.rpc.ErrorInfo", value: { reason: "PRODUCER_SEQUENCE_GAP", domain: "heddle" } },
        { type: "heddle.v1.RecordingPosition", value: { producerSequence: "1" } },
      ],
    });
    expect(ways.taken.lane - taken).toBe(way === "lane" ? 3 : 0);
  });
});

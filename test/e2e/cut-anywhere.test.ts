// S1 over the wire: the connection is cut after every byte of a 50-event answer, and the client resumes after the last
// whole frame that it has. What it has in the end is exact, byte for byte.
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StreamThreadEventsRequestSchema } from "../../gen/heddle/v1/thread_service_pb.js";
import { decodeFrames, envelopeBytes, frameLength } from "../../src/thread/frame.js";
import { newId } from "../../src/thread/ids.js";
import { grpcClients } from "../support/clients.js";
import { RunScript } from "../support/scenario.js";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";

const eventCount = 50;
let dataDir: string;
let server: ServerProcess;
let threadId: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  server = await startServerProcess({ dataDir });
  const { threads, recorder } = grpcClients(server.url);
  threadId = (await threads.createThread({})).thread!.id;
  const { recordingId, epoch } = await recorder.openRecording({ threadId, producer: "cut test" });
  const run = new RunScript();
  const id = newId();
  const begin = [run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)];
  const end = [run.complete(id), run.completed()];
  const outputs = Array.from({ length: eventCount - begin.length - end.length }, (_, n) =>
    run.output(id, `line ${n}\n`),
  );
  await recorder.recordEvents({
    threadId,
    recordingId,
    epoch,
    producerSequence: 1n,
    events: [...begin, ...outputs, ...end],
  });
  await recorder.closeRecording({ threadId, recordingId, epoch });
});
afterAll(async () => {
  await server.stop();
  await removeDataDir(dataDir);
});

/** A TCP relay that ends a connection after a given number of bytes from the server. */
async function cuttingRelay(): Promise<{ port: number; allow: (bytes: number) => void; relay: Server }> {
  let allowed = Number.POSITIVE_INFINITY;
  const relay = createServer((downstream: Socket) => {
    const upstream = connectTcp(server.port, "127.0.0.1");
    let left = allowed;
    const end = (): void => {
      upstream.destroy();
      downstream.destroy();
    };
    downstream
      .on("data", (bytes) => upstream.write(bytes))
      .on("close", end)
      .on("error", end);
    upstream.on("close", end).on("error", end);
    upstream.on("data", (bytes) => {
      const passed = bytes.subarray(0, left);
      left -= passed.length;
      downstream.write(passed, () => left <= 0 && end());
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const address = relay.address();
  if (address === null || typeof address === "string") throw new Error("the relay has no port");
  return {
    port: address.port,
    relay,
    allow: (bytes) => {
      allowed = bytes;
    },
  };
}

/** One gRPC request over its own connection: all bytes of the answer that arrived before it ended, however it did. */
function readAnswer(port: number, afterSequence: bigint): Promise<{ body: Buffer; status: string | undefined }> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const chunks: Buffer[] = [];
    let status: string | undefined;
    const done = (): void => {
      session.destroy();
      resolve({ body: Buffer.concat(chunks), status });
    };
    session.on("error", done).on("close", done);
    const stream = session.request({
      ":method": "POST",
      ":path": "/heddle.v1.ThreadService/StreamThreadEvents",
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("trailers", (trailers) => {
      status = String(trailers["grpc-status"]);
    });
    stream.on("error", done).on("close", done);
    const message = toBinary(
      StreamThreadEventsRequestSchema,
      create(StreamThreadEventsRequestSchema, { threadId, afterSequence }),
    );
    const envelope = Buffer.alloc(envelopeBytes);
    envelope.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([envelope, message]));
  });
}

/** The stored frames among the bytes, whole ones only. */
function storedFrames(body: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let offset = 0; body.length >= offset + envelopeBytes && body.length >= offset + frameLength(body, offset); ) {
    const frame = body.subarray(offset, offset + frameLength(body, offset));
    if ([...decodeFrames(frame)][0]!.sequence > 0n) frames.push(frame);
    offset += frame.length;
  }
  return frames;
}

/** Cuts at once, each over a relay of its own. */
const atOnce = 8;

test(`S1: cut after every byte of a ${eventCount}-event answer and resume: exact`, { timeout: 120_000 }, async () => {
  const whole = await readAnswer(server.port, 0n);
  expect(whole.status).toBe("0");
  const frames = storedFrames(whole.body);
  expect(frames).toHaveLength(eventCount);

  // What a client that has n events gets when it resumes; the same however its connection was lost.
  const resumed = new Map<number, Promise<Buffer>>();
  const resumeAfter = (count: number): Promise<Buffer> => {
    const known = resumed.get(count);
    if (known) return known;
    const reading = readAnswer(server.port, BigInt(count)).then(({ body, status }) => {
      expect(status).toBe("0");
      return Buffer.concat(storedFrames(body));
    });
    resumed.set(count, reading);
    return reading;
  };

  // The answer is preceded by HTTP/2's own frames: cut from the very first byte to well behind the last.
  const allBytes = whole.body.length + 600;
  let next = 1;
  const cutting = Array.from({ length: atOnce }, async () => {
    const { port, allow, relay } = await cuttingRelay();
    for (let bytes = next++; bytes <= allBytes; bytes = next++) {
      allow(bytes);
      const have = storedFrames((await readAnswer(port, 0n)).body);
      const rest = await resumeAfter(have.length);
      expect(Buffer.concat([...have, rest]).equals(Buffer.concat(frames)), `cut after ${bytes} bytes`).toBe(true);
    }
    relay.close();
  });
  await Promise.all(cutting);
  expect(resumed.size, "cuts must have fallen between all events").toBe(eventCount + 1);
});

// The least that Node can do: bytes that were framed beforehand, one write a subscriber and batch. It reads no request.
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { encodeFrame } from "../../src/thread/frame.js";
import { caughtUpEvent, readyEvent } from "../support/events.js";
import type { Peer } from "./peer.js";

/** One read of Heddle's, and so one write. */
const replayWriteBytes = 64 * 1024;

export async function startRawHttp2(threadId: string): Promise<Peer> {
  const greeting = Buffer.concat([readyEvent(threadId), caughtUpEvent(threadId)].map(encodeFrame));
  const streams = new Set<ServerHttp2Stream>();
  const server = createServer();
  server.on("stream", (stream) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.write(greeting);
  });
  return {
    port: await listen(server),
    prepare: (batch) => {
      const frames = Buffer.concat(batch.map(encodeFrame));
      return () => {
        for (const stream of streams) stream.write(frames);
      };
    },
  };
}

/** Answers every request with the same bytes out of memory, as fast as the client takes them. */
export async function startRawReplay(bytes: Buffer): Promise<number> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    let at = 0;
    const pump = (): void => {
      while (at < bytes.length) {
        const start = at;
        at += replayWriteBytes;
        if (!stream.write(bytes.subarray(start, at))) return;
      }
      stream.end();
    };
    stream.on("drain", pump);
    pump();
  });
  return listen(server);
}

async function listen(server: Http2Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

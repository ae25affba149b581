// The least that Node can do: bytes that were framed beforehand, one write a subscriber and batch. It reads no request.
import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { encodeFrame } from "../../src/thread/frame.js";
import { caughtUpEvent, readyEvent } from "../support/events.js";
import type { Peer } from "./peer.js";

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
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    prepare: (batch) => {
      const frames = Buffer.concat(batch.map(encodeFrame));
      return () => {
        for (const stream of streams) stream.write(frames);
      };
    },
  };
}

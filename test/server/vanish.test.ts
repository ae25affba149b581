// Clients that go away while the server is writing to them, through the ordinary Connect handler.

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { describe, expect, test, vi } from "vitest";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import type { RequestHandler } from "../../src/server/options.js";
import { rawConnection, startTestServer } from "./support.js";

const path = "/heddle.v1.ThreadService/StreamThreadEvents";
const emptyMessage = Buffer.alloc(5);

/** A handler that writes without end, as fast as it is let, and counts the generators that are still alive. */
function endless(): { fallback: RequestHandler; alive: () => number } {
  let alive = 0;
  const event = create(StreamThreadEventsResponseSchema, { threadId: "x".repeat(60_000) });
  const fallback = connectNodeAdapter({
    routes: (router) =>
      router.service(ThreadService, {
        async *streamThreadEvents() {
          alive += 1;
          try {
            for (;;) yield event;
          } finally {
            alive -= 1;
          }
        },
      }),
  }) as RequestHandler;
  return { fallback, alive: () => alive };
}

describe("a handler that waits for a client to read", () => {
  test("ends when the client resets the stream (HTTP/2)", async () => {
    const { fallback, alive } = endless();
    await using server = await startTestServer({ fallback });
    const session = connectHttp2(server.url);
    const streams = Array.from({ length: 5 }, () => {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc+proto" });
      stream.on("error", () => undefined);
      stream.end(emptyMessage);
      return stream;
    });
    await Promise.all(streams.map((stream) => once(stream, "response")));
    expect(alive()).toBe(5);
    for (const stream of streams) stream.close(8); // CANCEL
    await vi.waitFor(() => expect(alive()).toBe(0));
    expect(server.gauges()).toMatchObject({ sessions: 1, streams: 0 });
    session.destroy();
  });

  test("ends when the connection breaks (HTTP/2)", async () => {
    const { fallback, alive } = endless();
    await using server = await startTestServer({ fallback });
    const socket = await rawConnection(server);
    const session = connectHttp2(server.url, { createConnection: () => socket });
    session.on("error", () => undefined);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc+proto" });
    stream.on("error", () => undefined);
    stream.end(emptyMessage);
    await once(stream, "response");
    socket.destroy();
    await vi.waitFor(() => expect(alive()).toBe(0));
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, streams: 0 }));
  });

  test("ends when the connection breaks (HTTP/1.1)", async () => {
    const { fallback, alive } = endless();
    await using server = await startTestServer({ fallback });
    const socket = await rawConnection(server);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/connect+proto\r\ncontent-length: 5\r\n\r\n`,
    );
    socket.write(emptyMessage);
    await once(socket, "data");
    socket.pause();
    expect(alive()).toBe(1);
    socket.resetAndDestroy();
    await vi.waitFor(() => expect(alive()).toBe(0));
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, requests: 0 }));
  });

  test("ends when the connection breaks while it waits behind another answer (pipelining)", async () => {
    const { fallback, alive } = endless();
    await using server = await startTestServer({ fallback });
    const socket = await rawConnection(server);
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/connect+proto\r\n`;
    const request = Buffer.concat([Buffer.from(`${head}content-length: 5\r\n\r\n`), emptyMessage]);
    socket.write(Buffer.concat([request, request, request]));
    await vi.waitFor(() => expect(alive()).toBe(3));
    socket.resetAndDestroy();
    await vi.waitFor(() => expect(alive()).toBe(0));
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, requests: 0 }));
  });
});

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test, vi } from "vitest";
import { rawConnection, received, startTestServer } from "./support.js";

const tokens = [{ name: "alice", token: "correct-horse" }];

describe("the body of a request that is answered early", () => {
  test("over HTTP/1.1 a short one is thrown away, and the connection serves the next request", async () => {
    await using server = await startTestServer({ tokens });
    const socket = await rawConnection(server);
    const answers = received(socket);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n01234");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer correct-horse\r\nconnection: close\r\n\r\n");
    expect((await answers).toString()).toMatch(/ 403 [\s\S]*unauthenticated[\s\S]* 200 [\s\S]*fallback/);
  });

  test("over HTTP/1.1 a client that wants no second request hears the refusal before the end, and may finish its body", async () => {
    await using server = await startTestServer({ tokens });
    const socket = await rawConnection(server);
    const answer = received(socket);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2000000\r\n\r\n");
    await once(socket, "data");
    for (let i = 0; i < 20; i++) await new Promise((sent) => socket.write(Buffer.alloc(100_000), sent));
    expect((await answer).toString()).toMatch(/^HTTP\/1\.1 403 [\s\S]*unauthenticated/);
    expect(socket.errored).toBeNull();
  });

  test("over HTTP/1.1 the same holds for an answer that ignores the body", async () => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    const answer = received(socket);
    socket.write("POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    await once(socket, "data");
    await new Promise((sent) => socket.write("5\r\n01234\r\n0\r\n\r\n", sent));
    expect((await answer).toString()).toContain("fallback");
    expect(socket.errored).toBeNull();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, requests: 0 }));
  });

  test("over HTTP/1.1 an endless one is cut after the answer", async () => {
    await using server = await startTestServer({ tokens });
    const socket = await rawConnection(server);
    const answer = received(socket);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n");
    const flood = (): void => {
      while (socket.writable && socket.write(Buffer.alloc(64 * 1024)));
    };
    socket.on("drain", flood);
    flood();
    expect((await answer).toString()).toContain("unauthenticated");
    expect(socket.bytesWritten).toBeLessThan(100_000_000);
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, requests: 0 }));
  });

  test("a client that asks before it sends is told no, and is not invited", async () => {
    await using server = await startTestServer({ tokens });
    const socket = await rawConnection(server);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
    expect((await received(socket)).toString()).toMatch(/^HTTP\/1\.1 403 [\s\S]*connection: close/i);
  });

  test("a client that asks before it sends is invited once it is known", async () => {
    await using server = await startTestServer({ tokens });
    const socket = await rawConnection(server);
    socket.write("POST / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer correct-horse\r\nexpect: 100-continue\r\n");
    socket.write("connection: close\r\ncontent-length: 5\r\n\r\n");
    expect((await once(socket, "data")).toString()).toMatch(/^HTTP\/1\.1 100 Continue/);
    const answer = received(socket);
    socket.write("01234");
    await answer;
  });

  test("over HTTP/2 it is not read: the stream is reset without an error after the answer", async () => {
    await using server = await startTestServer({ tokens });
    const session = connectHttp2(server.url);
    const stream = session.request({ ":method": "POST", ":path": "/" });
    stream.write(Buffer.alloc(2 * 1024 * 1024));
    stream.setEncoding("utf8");
    const [[headers], [text]] = await Promise.all([once(stream, "response"), once(stream, "data")]);
    expect(headers[":status"]).toBe(403);
    expect(text).toMatch(/^unauthenticated/);
    await once(stream, "close");
    expect(stream.rstCode).toBe(0);
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sessions: 1, streams: 0 }));
    session.destroy();
  });
});

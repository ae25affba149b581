import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test, vi } from "vitest";
import { isLoopback } from "../../src/server/bind-policy.js";
import { protocolOf } from "../../src/server/sniff.js";
import {
  closed,
  frame,
  frameTypes,
  getRoot,
  holdOpen,
  http1,
  http2,
  http2Preface,
  rawConnection,
  received,
  startTestServer,
} from "./support.js";

describe("one port", () => {
  test("HTTP/1.1 and HTTP/2 are answered on the same port", async () => {
    await using server = await startTestServer({
      fallback: (request, response) => response.end(`version ${request.httpVersion}`),
    });
    expect((await http1(server.url)).text).toBe("version 1.1");
    expect((await http2(server.url)).text).toBe("version 2.0");
  });

  test("an HTTP/2 client that sends its preface byte by byte is understood", async () => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    const hello = Buffer.concat([
      http2Preface,
      frame(frameTypes.settings),
      frame(frameTypes.headers, { flags: 5, stream: 1, payload: getRoot }),
    ]);
    for (const byte of hello) await new Promise((sent) => socket.write(Buffer.from([byte]), sent));
    const everything: Buffer[] = [];
    while (!Buffer.concat(everything).includes("fallback")) everything.push((await once(socket, "data"))[0]);
    expect(server.gauges()).toMatchObject({ sessions: 1 });
    socket.destroy();
  });

  test("an HTTP/1.1 request that arrives byte by byte and starts like the preface is understood", async () => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    const answer = received(socket);
    for (const byte of Buffer.from("PROPFIND / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
      await new Promise((sent) => socket.write(Buffer.from([byte]), sent));
    expect((await answer).toString()).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*fallback/);
  });

  test("every prefix of the preface stays undecided; every deviation is HTTP/1.1", () => {
    for (let length = 0; length < http2Preface.length; length++) {
      expect(protocolOf(http2Preface.subarray(0, length))).toBeUndefined();
      const deviant = Buffer.concat([http2Preface.subarray(0, length), Buffer.from("~")]);
      expect(protocolOf(deviant)).toBe("http/1.1");
    }
    expect(protocolOf(http2Preface)).toBe("h2");
    expect(protocolOf(Buffer.concat([http2Preface, Buffer.from("more")]))).toBe("h2");
  });

  test("a connection that says nothing, or only a part of the preface, is cut", async () => {
    await using server = await startTestServer({ timing: { sniffMs: 100 } });
    const [silent, slow] = [await rawConnection(server), await rawConnection(server)];
    slow.write(http2Preface.subarray(0, 10));
    expect(await Promise.all([received(silent), received(slow)])).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(0));
  });

  test("a connection that ends before it has said anything leaves nothing behind", async () => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    socket.end("PRI");
    await received(socket);
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(0));
  });

  test("an HTTP/1.1 client that ends its side in the middle of an answer is gone", async () => {
    await using server = await startTestServer({
      doors: [({ transport }) => transport.version === 1 && transport.response.write("first")],
    });
    const socket = await rawConnection(server);
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(socket, "data");
    expect(server.gauges().requests).toBe(1);
    socket.end();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, requests: 0 }));
  });

  test("an HTTP/2 client that ends its side leaves nothing behind", async () => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    socket.write(Buffer.concat([http2Preface, frame(frameTypes.settings)]));
    await once(socket, "data");
    socket.end();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0 }));
  });
});

describe("limits of connections", () => {
  test("a client that is slow with its headers is cut with 408", async () => {
    await using server = await startTestServer({ timing: { headersMs: 200 } });
    const socket = await rawConnection(server);
    socket.write("GET / HTTP/1.1\r\nhost: local");
    expect((await received(socket)).toString()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a client that is slow with its body is cut with 408", async () => {
    await using server = await startTestServer({
      timing: { headersMs: 100, requestMs: 200 },
      fallback: (request, response) => {
        request.resume();
        request.on("end", () => response.end("whole"));
      },
    });
    const socket = await rawConnection(server);
    socket.write("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nhalf");
    expect((await received(socket)).toString()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("an answer may take longer than all of the request's timeouts", async () => {
    await using server = await startTestServer({
      timing: { headersMs: 50, requestMs: 60, keepAliveMs: 40 },
      doors: [
        ({ transport }) => {
          if (transport.version === 2) return false;
          transport.response.write("first ");
          setTimeout(() => transport.response.end("last"), 400);
          return true;
        },
      ],
    });
    expect((await http1(server.url)).text).toBe("first last");
  });

  test("one connection too many is closed, counted and logged once; the others go on", async () => {
    await using server = await startTestServer({ limits: { connections: 2 } });
    const open = [await rawConnection(server), await rawConnection(server)];
    for (let i = 0; i < 5; i++) expect(await received(await rawConnection(server))).toHaveLength(0);
    expect(server.gauges()).toMatchObject({ sockets: 2, refusedConnections: 5 });
    expect(server.logged).toEqual([expect.stringMatching(/too many connections/)]);

    open[0]!.destroy();
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(1));
    expect((await http1(server.url)).status).toBe(200);
    open[1]!.destroy();
  });

  test("one stream too many is refused by itself; the others go on", async () => {
    await using server = await startTestServer({
      limits: { streamsPerConnection: 2 },
      doors: [holdOpen],
    });
    // Sent before the server's settings arrive, so that the client does not hold them back itself.
    const session = connectHttp2(server.url, { peerMaxConcurrentStreams: 10 });
    const streams = Array.from({ length: 4 }, () => session.request({ ":path": "/" }));
    for (const stream of streams) stream.on("error", () => undefined);
    await Promise.all(streams.slice(2).map((stream) => closed(stream)));
    expect(streams.map((stream) => stream.rstCode)).toEqual([0, 0, 7, 7]); // REFUSED_STREAM
    expect(session.remoteSettings.maxConcurrentStreams).toBe(2);
    expect(server.gauges()).toMatchObject({ sessions: 1, streams: 2 });
    session.destroy();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sessions: 0, streams: 0 }));
  });

  test("a connection full of stalled streams still opens its last one", async () => {
    const streamsPerConnection = 200;
    const bytes = Buffer.alloc(128 * 1024);
    await using server = await startTestServer({
      limits: { streamsPerConnection },
      doors: [
        (exchange) => holdOpen(exchange) && exchange.transport.version === 2 && !exchange.transport.stream.write(bytes),
      ],
    });
    const session = connectHttp2(server.url);
    await once(session, "remoteSettings");
    const streams = Array.from({ length: streamsPerConnection }, () => session.request({ ":path": "/" }));
    await Promise.all(streams.map((stream) => once(stream, "response")));
    expect(server.gauges().streams).toBe(streamsPerConnection);
    session.destroy();
  });

  test("a peer that never answers a ping is given up, with its streams", async () => {
    await using server = await startTestServer({
      timing: { pingMs: 50, pingTimeoutMs: 50 },
      doors: [holdOpen],
    });
    const socket = await rawConnection(server);
    socket.write(
      Buffer.concat([
        http2Preface,
        frame(frameTypes.settings),
        frame(frameTypes.headers, { flags: 5, stream: 1, payload: getRoot }),
      ]),
    );
    await received(socket);
    await vi.waitFor(() =>
      expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, streams: 0, lostPeers: 1 }),
    );
  });

  test("a peer that answers pings stays", async () => {
    await using server = await startTestServer({ timing: { pingMs: 20, pingTimeoutMs: 2_000 } });
    const session = connectHttp2(server.url);
    for (let pings = 0; pings < 3; pings++) await once(session, "ping");
    expect(server.gauges()).toMatchObject({ sessions: 1, lostPeers: 0 });
    session.destroy();
  });

  test("garbage is answered with 400; HTTP/2 with garbage in it is given up, and nothing of it stays", async () => {
    // Node stops reading such a connection and tells nobody: the pings find it.
    await using server = await startTestServer({ timing: { pingMs: 50, pingTimeoutMs: 50 }, doors: [holdOpen] });
    const noise = await rawConnection(server);
    noise.write("\x00\x01\x02 this is no HTTP\r\n\r\n");
    expect((await received(noise)).toString()).toMatch(/^HTTP\/1\.1 400 /);

    const broken = await rawConnection(server);
    const subscribe = frame(frameTypes.headers, { flags: 5, stream: 1, payload: getRoot });
    broken.write(Buffer.concat([http2Preface, frame(frameTypes.settings), subscribe, Buffer.alloc(64, 0xff)]));
    await received(broken);
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, streams: 0 }));
    expect((await http1(server.url)).status).toBe(200);
  });

  test("1,000 streams opened and cancelled over ten connections leave nothing open", async () => {
    await using server = await startTestServer({
      doors: [holdOpen],
    });
    const sessions = Array.from({ length: 10 }, () => connectHttp2(server.url));
    await Promise.all(
      sessions.map(async (session) => {
        for (let i = 0; i < 100; i++) {
          const stream = session.request({ ":path": "/" });
          await once(stream, "response");
          stream.close(8); // CANCEL
          await closed(stream);
        }
      }),
    );
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sessions: 10, streams: 0 }));
    for (const session of sessions) session.destroy();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0 }));
  });
});

describe("listening", () => {
  test("a port in use, an address elsewhere and a name that is none: errors that say what to do", async () => {
    await using server = await startTestServer();
    const tokens = [{ name: "me", token: "secret" }];
    for (const [listen, words] of [
      [{ host: "127.0.0.1", port: server.port }, /in use: stop the process .* or listen on another port/],
      [{ host: "203.0.113.1", port: 0 }, /not an address of this machine/],
    ] as const)
      await expect(startTestServer({ listen, tokens })).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.stringMatching(words),
        detail: { field: "listen" },
      });
  });

  test.each(["0.0.0.0", "::", "", "192.0.2.7", "example.com"])(
    "%j without tokens is refused before binding",
    async (host) => {
      await expect(startTestServer({ listen: { host, port: 0 } })).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.stringContaining("add an entry to `tokens`"),
        detail: { field: "tokens" },
      });
    },
  );

  test("a public address with tokens is bound, with a warning about plaintext", async () => {
    await using server = await startTestServer({
      listen: { host: "0.0.0.0", port: 0 },
      tokens: [{ name: "me", token: "secret" }],
    });
    expect(server.address).toBe("0.0.0.0");
    expect(server.logged).toEqual([expect.stringContaining("configure `tls`")]);
  });

  test("what counts as loopback", () => {
    for (const host of [
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "[::1]",
      "localhost",
      "LOCALHOST",
      "0:0:0:0:0:0:0:1",
      "::ffff:127.0.0.1",
    ])
      expect(isLoopback(host), host).toBe(true);
    for (const host of ["", "0.0.0.0", "::", "128.0.0.1", "127.evil.com", "localhost.evil.com", "1270.0.0.1", "::2"])
      expect(isLoopback(host), host).toBe(false);
  });
});

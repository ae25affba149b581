import { once } from "node:events";
import { Agent, request as requestHttp1 } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, test, vi } from "vitest";
import type { Door } from "../../src/server/exchange.js";
import {
  closed,
  frame,
  frameTypes,
  getRoot,
  holdOpen,
  http1,
  http2Preface,
  rawConnection,
  startTestServer,
} from "./support.js";

const nothingOpen = { sockets: 0, sessions: 0, streams: 0, requests: 0 };

describe("closing", () => {
  test("an idle server closes at once, also when idle clients keep their connections", async () => {
    await using server = await startTestServer({ timing: { drainMs: 60_000 } });
    const session = connectHttp2(server.url);
    await once(session, "remoteSettings");
    const agent = new Agent({ keepAlive: true });
    const request = requestHttp1(server.url, { agent }).end();
    (await once(request, "response"))[0].resume();
    await once(request, "close");

    const [[code]] = await Promise.all([once(session, "goaway"), closed(session), server.close()]);
    expect(code).toBe(0);
    expect(server.gauges()).toMatchObject(nothingOpen);
    agent.destroy();
  });

  test("doors learn of it by the signal, and their last words arrive", async () => {
    const shutdown = new AbortController();
    const door: Door = ({ transport }) => {
      if (transport.version === 1) {
        transport.response.write("first ");
        shutdown.signal.addEventListener("abort", () => transport.response.end("closing"));
      } else {
        transport.stream.respond({ ":status": 200 });
        transport.stream.write("first ");
        shutdown.signal.addEventListener("abort", () => transport.stream.end("closing"));
      }
      return true;
    };
    await using server = await startTestServer({ shutdown, doors: [door], timing: { drainMs: 60_000 } });
    const session = connectHttp2(server.url);
    const goaway = once(session, "goaway");
    const stream = session.request({ ":path": "/" }).setEncoding("utf8");
    const [response] = await once(requestHttp1(server.url).end(), "response");
    await Promise.all([once(stream, "data"), once(response.setEncoding("utf8"), "data")]);

    const rest = Promise.all([once(stream, "data"), once(response, "data"), goaway]);
    await server.close();
    const [[ofStream], [ofResponse], [code, lastStream]] = await rest;
    expect([ofStream, ofResponse]).toEqual(["closing", "closing"]);
    expect({ code, lastStream }).toEqual({ code: 0, lastStream: 1 });
    expect(server.shutdownSignal).toBe(shutdown.signal);
    expect(server.gauges()).toMatchObject(nothingOpen);
  });

  test("an answer that is slowly read arrives whole", async () => {
    const shutdown = new AbortController();
    const much = Buffer.alloc(32 * 1024 * 1024, "x");
    const door: Door = ({ transport }) => {
      if (transport.version === 2) return false;
      transport.response.write(much);
      shutdown.signal.addEventListener("abort", () => transport.response.end("closing"));
      return true;
    };
    await using server = await startTestServer({ shutdown, doors: [door], timing: { drainMs: 60_000 } });
    const [response] = await once(requestHttp1(server.url).end(), "response");
    const isClosed = server.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    let [bytes, last] = [0, ""];
    for await (const chunk of response) {
      bytes += chunk.length;
      last = chunk.subarray(-7).toString();
    }
    expect({ bytes, last }).toEqual({ bytes: much.length + 7, last: "closing" });
    await isClosed;
  });

  test("what does not end by the deadline is cut", async () => {
    await using server = await startTestServer({
      doors: [holdOpen, ({ transport }) => transport.version === 1 && transport.response.write("first")],
    });
    const session = connectHttp2(server.url);
    session.on("error", () => undefined);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "response");
    const [response] = await once(requestHttp1(server.url).end(), "response");
    response.on("error", () => undefined);
    expect(server.gauges()).toMatchObject({ sockets: 2, streams: 1, requests: 1 });

    const cut = Promise.all([closed(stream), closed(response)]);
    await server.close({ drainMs: 50 });
    expect(server.gauges()).toMatchObject(nothingOpen);
    await cut;
  });

  test("peers that answer nothing cannot hold it up", async () => {
    await using server = await startTestServer({ doors: [holdOpen] });
    const silent = await rawConnection(server);
    const deaf = await rawConnection(server);
    deaf.pause();
    const subscribe = frame(frameTypes.headers, { flags: 5, stream: 1, payload: getRoot });
    deaf.write(Buffer.concat([http2Preface, frame(frameTypes.settings), subscribe]));
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 2, streams: 1 }));
    await server.close({ drainMs: 20 });
    expect(server.gauges()).toMatchObject(nothingOpen);
    silent.destroy();
    deaf.destroy();
  });

  test("new connections are not taken, and requests on old ones are refused while others still run", async () => {
    let finish = (): void => undefined;
    const door: Door = ({ path, transport }) => {
      if (path !== "/slow" || transport.version === 2) return false;
      transport.response.write("slow ");
      finish = () => transport.response.end("but whole");
      return true;
    };
    await using server = await startTestServer({ doors: [door], timing: { drainMs: 60_000 } });
    const socket = await rawConnection(server);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    socket.write("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(text).toContain("slow "));
    // Pipelined: they reach the server while the first is still being answered.
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    const closing = server.close();
    await expect(http1(server.url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await vi.waitFor(() => expect(server.refused.map(({ code }) => code)).toEqual(["shutting_down"]));
    finish();
    await Promise.all([closing, closed(socket)]);
    expect(text).toContain("but whole");
    expect(server.gauges()).toMatchObject(nothingOpen);
  });

  test("/healthz says 503 once the server is closing", async () => {
    const shutdown = new AbortController();
    await using server = await startTestServer({ shutdown });
    expect(await http1(server.url, { path: "/healthz" })).toMatchObject({ status: 200 });
    shutdown.abort();
    expect(await http1(server.url, { path: "/healthz" })).toMatchObject({ status: 503, text: "closing\n" });
  });

  test("a second close joins the first", async () => {
    await using server = await startTestServer();
    const first = server.close();
    expect(server.close()).toBe(first);
    await first;
  });

  test("the port is free again afterwards", async () => {
    const server = await startTestServer();
    await server.close();
    await using again = await startTestServer({ listen: { host: "127.0.0.1", port: server.port } });
    expect((await http1(again.url)).status).toBe(200);
  });
});

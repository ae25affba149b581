import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, describe, expect, test, vi } from "vitest";
import { requireTool } from "../support/tools.js";
import { closed, holdOpen, http2, rawConnection, received, startTestServer } from "./support.js";

const hasOpenssl = requireTool("openssl", ["openssl", "version"]);

describe.skipIf(!hasOpenssl)("TLS (needs openssl)", () => {
  const { tls, remove } = hasOpenssl ? selfSigned() : { tls: { cert: "", key: "" }, remove: () => undefined };
  afterAll(remove);
  const ca = tls.cert;
  const options = {
    tls,
    fallback: (request: { httpVersion: string }, response: { end(text: string): void }) =>
      response.end(request.httpVersion),
  };

  test("ALPN h2 is HTTP/2, ALPN http/1.1 and no ALPN are HTTP/1.1, all on one port", async () => {
    await using server = await startTestServer(options);
    const session = connectHttp2(server.url, { ca });
    expect((await http2(session)).text).toBe("2.0");
    session.close();
    for (const ALPNProtocols of [["http/1.1"], undefined]) {
      const [response] = await once(
        requestHttps(server.url, { ca, ...(ALPNProtocols && { ALPNProtocols }) }).end(),
        "response",
      );
      let text = "";
      for await (const chunk of response) text += chunk;
      expect(text).toBe("1.1");
    }
    await server.close();
    expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, requests: 0 });
  });

  test("TLS older than 1.2 is refused", async () => {
    await using server = await startTestServer(options);
    const socket = connectTls({
      port: server.port,
      ca,
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    await expect(once(socket, "secureConnect")).rejects.toThrow();
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(0));
  });

  test("plaintext and a handshake that never comes are cut, and leave nothing behind", async () => {
    await using server = await startTestServer({ ...options, timing: { sniffMs: 100 } });
    const [plain, silent] = [await rawConnection(server), await rawConnection(server)];
    plain.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await Promise.all([received(plain), received(silent)]);
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(0));
  });

  test("a client that says nothing after the handshake is cut like one that is slow with its headers", async () => {
    await using server = await startTestServer({ ...options, timing: { headersMs: 100 } });
    const socket = connectTls({ port: server.port, ca, host: "127.0.0.1" });
    await once(socket, "secureConnect");
    socket.resume();
    await closed(socket);
    await vi.waitFor(() => expect(server.gauges().sockets).toBe(0));
  });

  test("a vanished client's stream and socket are given up", async () => {
    await using server = await startTestServer({ ...options, doors: [holdOpen] });
    const socket = connectTls({ port: server.port, ca, host: "127.0.0.1", ALPNProtocols: ["h2"] });
    const session = connectHttp2(server.url, { createConnection: () => socket });
    session.on("error", () => undefined);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "response");
    expect(server.gauges()).toMatchObject({ sockets: 1, sessions: 1, streams: 1 });
    socket.destroy();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, streams: 0 }));
  });

  test("open streams are drained, then cut", async () => {
    await using server = await startTestServer({ ...options, doors: [holdOpen] });
    const session = connectHttp2(server.url, { ca });
    session.on("error", () => undefined);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "response");
    await server.close({ drainMs: 50 });
    expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, streams: 0 });
    session.destroy();
  });
});

test("a certificate that is none is refused at start", async () => {
  await expect(startTestServer({ tls: { cert: "no", key: "no" } })).rejects.toMatchObject({
    code: "invalid_config",
    detail: { field: "tls" },
  });
});

function selfSigned() {
  const directory = mkdtempSync(join(tmpdir(), "heddle-tls-"));
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const pair = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...pair, ...subject], { stdio: "ignore" });
  const tls = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  return { tls, remove: () => rmSync(directory, { recursive: true }) };
}

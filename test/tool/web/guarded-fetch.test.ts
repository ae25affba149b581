// Fetching from real servers on this machine, which the allow list opens for the test.
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp } from "node:net";
import { Readable } from "node:stream";
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { connectTcp } from "../../../src/tool/web/connect.js";
import { type GuardedFetch, guardedFetch } from "../../../src/tool/web/guarded-fetch.js";
import { selfSigned } from "../../e2e/clients/certificate.js";
import { hasOpenssl } from "../../support/tools.js";
import { FakeNetwork, LocalServer, options, publicAddress } from "./support.js";

const mib = 1024 * 1024;

async function fetched(answer: RequestListener, given: Partial<GuardedFetch> = {}) {
  await using server = await LocalServer.start(answer);
  try {
    return await guardedFetch(`http://${server.host}/page?q=1#part`, options({ allowHosts: [server.host], ...given }));
  } finally {
    await closed(server);
  }
}

/** Nothing is left open, whatever became of it. */
async function closed({ sockets }: LocalServer): Promise<void> {
  await Promise.all(
    [...sockets].map((socket) => socket.closed || new Promise((resolve) => socket.once("close", resolve))),
  );
}

describe("an answer", () => {
  test("comes with its status, its headers and its body, and the request gives away nothing", async () => {
    let request: IncomingMessage | undefined;
    const answer = await fetched((asked, response) => {
      request = asked;
      response.writeHead(201, { "x-a": "b" }).end("hello");
    });
    expect(answer).toMatchObject({ status: 201, headers: { "x-a": "b" }, url: { pathname: "/page", hash: "" } });
    expect(answer.body.toString()).toBe("hello");
    expect(request).toMatchObject({ method: "GET", url: "/page?q=1" });
    expect(Object.keys(request!.headers).sort()).toEqual(["accept-encoding", "connection", "host", "user-agent"]);
  });

  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["identity", (text: string) => text],
  ] as const)("is unpacked: %s", async (encoding, pack) => {
    const text = "hello ".repeat(10_000);
    const { body } = await fetched((_, response) =>
      response.writeHead(200, { "content-encoding": encoding }).end(pack(text)),
    );
    expect(body.toString()).toBe(text);
  });

  test("tells its bytes as they come", async () => {
    const told: [number, number | undefined][] = [];
    await fetched((_, response) => response.writeHead(200, { "content-length": 300_000 }).end(Buffer.alloc(300_000)), {
      onBytes: (received, total) => told.push([received, total]),
    });
    expect(told.at(-1)).toEqual([300_000, 300_000]);
    expect(told.map(([received]) => received)).toEqual(told.map(([received]) => received).toSorted((a, b) => a - b));
  });

  test("is followed through redirects, and headers stay with the first origin", async () => {
    const seen: unknown[] = [];
    await using second = await LocalServer.start((asked, response) => {
      seen.push(asked.headers["x-token"]);
      response.end("there");
    });
    await using first = await LocalServer.start((asked, response) => {
      seen.push(asked.headers["x-token"]);
      response.writeHead(307, { location: asked.url === "/" ? "/next" : `http://${second.host}/` }).end();
    });
    const { url, body } = await guardedFetch(
      `http://${first.host}/`,
      options({ allowHosts: [first.host, second.host], headers: { "x-token": "t" } }),
    );
    expect({ url: url.href, body: body.toString(), seen }).toEqual({
      url: `http://${second.host}/`,
      body: "there",
      seen: ["t", "t", undefined],
    });
  });

  test("can be refused by its head, before the body is read", async () => {
    const refusal = new Error("not that");
    const onHead = () => {
      throw refusal;
    };
    await expect(fetched(endless, { onHead })).rejects.toBe(refusal);
  });
});

const endless = (_: IncomingMessage, response: ServerResponse): void => {
  response.on("error", () => {});
  Readable.from(zeros()).pipe(response);
};

function* zeros() {
  const piece = Buffer.alloc(64 * 1024);
  for (;;) yield piece;
}

describe("bounds", () => {
  test("a body that announces too much is not read", async () => {
    const told: number[] = [];
    await expect(
      fetched((_, response) => response.writeHead(200, { "content-length": 1_000_001 }).flushHeaders(), {
        onBytes: (received) => told.push(received),
      }),
    ).rejects.toMatchObject({ code: "ETOOLARGE", message: expect.stringContaining("is larger than 1.0 MB; ask for") });
    expect(told).toEqual([]);
  });

  test("a body without an end is cut at the limit", async () => {
    await expect(fetched(endless)).rejects.toMatchObject({ code: "ETOOLARGE" });
  });

  test("a body exactly as large as the limit is read", async () => {
    const { body } = await fetched((_, response) => response.end(Buffer.alloc(1_000_000)));
    expect(body).toHaveLength(1_000_000);
  });

  test.each([
    ["gzip", gzipSync(Buffer.alloc(128 * mib), { level: 1 })],
    ["br", brotliCompressSync(Buffer.alloc(128 * mib), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ["deflate", deflateSync(Buffer.alloc(128 * mib), { level: 1 })],
  ])("a bomb of %s ends in a failure, in bounded memory", async (encoding, bomb) => {
    expect(bomb.length).toBeLessThan(1_000_000);
    const before = process.memoryUsage().rss;
    await expect(
      fetched((_, response) => response.writeHead(200, { "content-encoding": encoding }).end(bomb)),
    ).rejects.toMatchObject({ code: "ETOOLARGE" });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * mib);
  });

  test("an endless stream of packed zeros too", async () => {
    await expect(
      fetched((_, response) => {
        response.writeHead(200, { "content-encoding": "gzip" }).on("error", () => {});
        Readable.from(zeros()).pipe(createGzip()).pipe(response);
      }),
    ).rejects.toMatchObject({ code: "ETOOLARGE" });
  });

  test("headers too", async () => {
    await expect(
      fetched((_, response) => response.writeHead(200, { "x-a": "b".repeat(40_000) }).end()),
    ).rejects.toMatchObject({ code: "ETOOLARGE", message: expect.stringContaining("32 KiB of headers") });
  });

  test.each([
    ["that never answers", () => {}],
    ["that stops in the middle", (_, response) => response.write("half")],
    ["that drips", (_, response) => drip(response)],
  ] satisfies [string, RequestListener][])("a server %s is given up when the time is up", async (_, answer) => {
    await expect(fetched(answer, { timeoutMs: 300 })).rejects.toMatchObject({
      code: "ETIMEDOUT",
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ took longer than 0\.3 s; try again, or choose another source$/),
    });
  });

  test("redirects share the time", async () => {
    await expect(
      fetched((_, response) => void setTimeout(() => response.writeHead(302, { location: "/" }).end(), 100), {
        timeoutMs: 250,
      }),
    ).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });

  test("a name that is never answered is given up too", async () => {
    const network = { resolver: () => new Promise<never>(() => {}), connect: new FakeNetwork().connect };
    await expect(guardedFetch("http://a.example/", options({ network, timeoutMs: 50 }))).rejects.toMatchObject({
      code: "ETIMEDOUT",
    });
  });
});

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write("."), 10);
  response.once("close", () => clearInterval(timer));
}

describe("called off", () => {
  test.each([
    ["before it began", undefined],
    ["while it waits for an answer", "request"],
    ["in the middle of the body", "bytes"],
  ])("%s, it ends with the signal's reason and leaves nothing open", async (_, when) => {
    const control = new AbortController();
    const reason = new Error("called off");
    if (when === undefined) control.abort(reason);
    const answer: RequestListener = (_, response) => {
      if (when === "request") control.abort(reason);
      else response.write("half");
    };
    const onBytes = () => control.abort(reason);
    await expect(fetched(answer, { signal: control.signal, onBytes })).rejects.toBe(reason);
  });

  test("while the name is looked up", async () => {
    const control = new AbortController();
    const resolver = () => {
      control.abort(new Error("called off"));
      return new Promise<never>(() => {});
    };
    await expect(
      guardedFetch("http://a.example/", options({ network: { resolver }, signal: control.signal })),
    ).rejects.toThrow("called off");
  });
});

describe("broken answers", () => {
  /** A server that speaks raw bytes, and hangs up. */
  async function answeredWith(bytes: string | Buffer, given: Partial<GuardedFetch> = {}) {
    const server = createTcp((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const host = `127.0.0.1:${(server.address() as { port: number }).port}`;
    try {
      return await guardedFetch(`http://${host}/`, options({ allowHosts: [host], ...given }));
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
  const gzipped = gzipSync("hello ".repeat(1_000));

  test.each([
    ["chunks without an end", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "ECUTOFF"],
    ["less than announced", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "ECUTOFF"],
    ["nothing", "", "ECUTOFF"],
    ["half a head", "HTTP/1.1 200 OK\r\nx-a", "ECUTOFF"],
    ["another protocol", "220 mail.example ESMTP\r\n", "EBADANSWER"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello", "EBADANSWER"],
    ["a change of protocol", "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "ECUTOFF"],
    ["broken packing", "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nhello", "EENCODING"],
    ["broken brotli", "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nhello hello hello", "EENCODING"],
    ["unknown packing", "HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\n\r\nhello", "EENCODING"],
    [
      "packing that is cut off",
      Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n"), gzipped.subarray(0, -12)]),
      "ECUTOFF",
    ],
  ])("%s", async (_, bytes, code) => {
    await expect(answeredWith(bytes)).rejects.toMatchObject({ name: "ToolFailure", code });
  });

  test("more than announced is not read", async () => {
    const { body } = await answeredWith("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more");
    expect(body.toString()).toBe("hello");
  });

  test("a redirect without a place to go is an answer", async () => {
    const { status } = await answeredWith("HTTP/1.1 302 Found\r\n\r\n");
    expect(status).toBe(302);
  });
});

describe("a body that ends with the connection", () => {
  const half: RequestListener = (_, response) => {
    response.useChunkedEncodingByDefault = false;
    response.removeHeader("transfer-encoding");
    response.write("half");
  };
  /** Once what was sent has come. */
  const reset = (server: LocalServer) => () => {
    for (const socket of server.sockets) socket.resetAndDestroy();
  };

  test("is whole when the server hangs up", async () => {
    const { body, headers } = await fetched((_, response) => {
      half(_, response);
      response.end(" and half");
    });
    expect(headers).not.toHaveProperty("transfer-encoding");
    expect(headers).not.toHaveProperty("content-length");
    expect(body.toString()).toBe("half and half");
  });

  test("is none when the time is up", async () => {
    await expect(fetched(half, { timeoutMs: 300 })).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });

  test("is none when it is called off", async () => {
    const control = new AbortController();
    const reason = new Error("called off");
    const onBytes = () => control.abort(reason);
    await expect(fetched(half, { signal: control.signal, onBytes })).rejects.toBe(reason);
  });

  const cutOff = {
    code: "ECUTOFF",
    message: expect.stringMatching(/was cut off after 4 bytes; try again, or choose another source$/),
  };

  test("is cut off when the connection breaks", async () => {
    await using server = await LocalServer.start(half);
    const given = options({ allowHosts: [server.host], onBytes: reset(server) });
    await expect(guardedFetch(`http://${server.host}/`, given)).rejects.toMatchObject(cutOff);
  });

  test.skipIf(!hasOpenssl())("and over https too (needs openssl)", async () => {
    const certificate = selfSigned();
    const [cert, key] = [certificate.pem, readFileSync(certificate.keyFile, "utf8")];
    certificate.remove();
    await using server = await LocalServer.start(half, createHttps({ cert, key }, half) as never);
    const network = { ...new FakeNetwork({ localhost: [["127.0.0.1"]] }, server.port), ca: cert };
    const given = options({ network, allowHosts: ["localhost:443"], onBytes: reset(server) });
    await expect(guardedFetch("https://localhost/", given)).rejects.toMatchObject(cutOff);
    await expect(
      guardedFetch("https://localhost/", options({ network, allowHosts: ["localhost:443"], timeoutMs: 300 })),
    ).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });
});

test("a body with a length is whole, however the connection ends behind it", async () => {
  await using server = await LocalServer.start((_, response) =>
    response.writeHead(200, { "content-length": 5 }).write("whole"),
  );
  const onBytes = () => {
    for (const socket of server.sockets) socket.resetAndDestroy();
  };
  const { body } = await guardedFetch(`http://${server.host}/`, options({ allowHosts: [server.host], onBytes }));
  expect(body.toString()).toBe("whole");
});

describe("connecting", () => {
  test("the next address is tried when one does not answer", async () => {
    await using server = await LocalServer.start((_, response) => response.end("hello"));
    const network = new FakeNetwork({ "a.example": [[publicAddress, "93.184.216.35"]] }, server.port);
    let attempts = 0;
    const connect: typeof network.connect = async (to, signal) => {
      const socket = await network.connect(to, signal);
      if (attempts++ > 0) return socket;
      socket.destroy();
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    };
    await guardedFetch("http://a.example/", options({ network: { resolver: network.resolver, connect } }));
    expect(network.connections).toEqual([publicAddress, "93.184.216.35"]);
  });

  test("a host that cannot be reached, and a name that does not exist, are told apart", async () => {
    const network = new FakeNetwork({ "a.example": [[publicAddress]], "empty.example": [[]] });
    await expect(guardedFetch("http://a.example/", options({ network }))).rejects.toMatchObject({
      code: "ECONNECT",
      message: "a.example could not be reached (ECONNREFUSED); check the address, or try again later",
    });
    for (const name of ["b.example", "empty.example"])
      await expect(guardedFetch(`http://${name}/`, options({ network }))).rejects.toMatchObject({ code: "ENOTFOUND" });
  });

  test("the socket's own address is compared with the one that was checked", async () => {
    await using server = await LocalServer.start((_, response) => response.end());
    const { signal } = new AbortController();
    const socket = await connectTcp({ address: "127.0.0.1", port: server.port }, signal);
    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
    // The system takes 0.0.0.0 for itself: the socket ends up at 127.0.0.1, which nobody has checked.
    await expect(connectTcp({ address: "0.0.0.0", port: server.port }, signal)).rejects.toMatchObject({
      code: "EBLOCKED",
    });
    await closed(server);
  });
});

describe.skipIf(!hasOpenssl())("https (needs openssl)", () => {
  test("is checked by name, and is never led to http", async () => {
    const certificate = selfSigned();
    const [cert, key] = [certificate.pem, readFileSync(certificate.keyFile, "utf8")];
    certificate.remove();
    const answer: RequestListener = (asked, response) =>
      asked.url === "/down" ? response.writeHead(301, { location: "http://localhost/" }).end() : response.end("safe");
    await using server = await LocalServer.start(answer, createHttps({ cert, key }, answer) as never);
    const names = { localhost: [["127.0.0.1"]], "other.example": [["127.0.0.1"]] };
    const network = { ...new FakeNetwork(names, server.port), ca: cert };
    const allowHosts = ["localhost:443", "localhost:80", "other.example:443"];
    const { body } = await guardedFetch("https://localhost/", options({ network, allowHosts }));
    expect(body.toString()).toBe("safe");
    await expect(guardedFetch("https://localhost/down", options({ network, allowHosts }))).rejects.toMatchObject({
      code: "EREDIRECT",
      message: expect.stringContaining("from https to http"),
    });
    await expect(guardedFetch("https://other.example/", options({ network, allowHosts }))).rejects.toMatchObject({
      code: "ETLS",
      message: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
    const { ca: _, ...untrusting } = network;
    await expect(
      guardedFetch("https://localhost/", options({ network: untrusting, allowHosts })),
    ).rejects.toMatchObject({
      code: "ETLS",
    });
    await closed(server);
  });

  test("a server that speaks no TLS is told as such", async () => {
    await using server = await LocalServer.start((_, response) => response.end());
    const network = new FakeNetwork({ "a.example": [[publicAddress]] }, server.port);
    await expect(guardedFetch("https://a.example/", options({ network }))).rejects.toMatchObject({ code: "ETLS" });
  });
});

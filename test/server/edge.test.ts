import { cors } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import type { Exchange } from "../../src/server/exchange.js";
import { HeddleError } from "../../src/thread/errors.js";
import {
  frame,
  frameTypes,
  getRoot,
  http1,
  http2,
  http2Preface,
  rawConnection,
  received,
  startTestServer,
  versions,
  write,
} from "./support.js";

const tokens = [
  { name: "alice", token: "correct-horse" },
  { name: "bob", token: "battery-staple" },
];

/** A door that says who is asking, and what it saw. */
function visitors() {
  const seen: Exchange[] = [];
  const door = (exchange: Exchange): boolean => {
    seen.push(exchange);
    write(exchange, 200, exchange.principal);
    return true;
  };
  return { seen, door };
}

describe.each(versions)("tokens over $version", ({ ask }) => {
  test("each token opens the door in its own name, whatever the case of the scheme", async () => {
    await using server = await startTestServer({ tokens, doors: [visitors().door] });
    for (const [authorization, name] of [
      ["Bearer correct-horse", "alice"],
      ["bearer battery-staple", "bob"],
    ] as const)
      expect(await ask(server.url, { headers: { authorization } })).toMatchObject({ status: 200, text: name });
  });

  test.each([
    ["none", {}],
    ["a wrong one", { authorization: "Bearer wrong" }],
    ["an empty one", { authorization: "Bearer " }],
    ["one with another scheme", { authorization: "Basic correct-horse" }],
    ["one that only starts right", { authorization: "Bearer correct-horses" }],
  ])("%s is refused as unauthenticated, and no door is asked", async (_name, headers) => {
    const { seen, door } = visitors();
    await using server = await startTestServer({ tokens, doors: [door] });
    const reply = await ask(server.url, { headers });
    expect(reply.text).toMatch(/^unauthenticated: /);
    expect(reply.headers["www-authenticate"]).toMatch(/^Bearer/);
    expect(seen).toEqual([]);
  });

  test("/healthz needs no token; other paths and methods do", async () => {
    await using server = await startTestServer({ tokens });
    expect(await ask(server.url, { path: "/healthz?probe=1" })).toMatchObject({ status: 200, text: "ok\n" });
    expect((await ask(server.url, { path: "/healthz", method: "HEAD" })).status).toBe(200);
    expect((await ask(server.url, { path: "/healthz", method: "POST" })).text).toMatch(/^unauthenticated/);
    expect((await ask(server.url, { path: "/healthz/" })).text).toMatch(/^unauthenticated/);
  });

  test("where no token is configured, everybody is local", async () => {
    await using server = await startTestServer({ doors: [visitors().door] });
    expect((await ask(server.url)).text).toBe("(local)");
  });
});

describe.each(versions)("pages of other origins over $version", ({ ask }) => {
  const page = "https://app.example.com";

  test("a listed origin's preflight is answered without a token, with what Connect, gRPC-Web and OpenAI's library need", async () => {
    await using server = await startTestServer({ tokens, allowedOrigins: [`${page}/`] });
    const { status, headers } = await ask(server.url, {
      method: "OPTIONS",
      path: "/heddle.v1.ThreadService/GetThread",
      headers: { origin: page, "access-control-request-method": "POST" },
    });
    expect(status).toBe(204);
    expect(headers).toMatchObject({ "access-control-allow-origin": page, vary: "Origin" });
    expect(headers["access-control-allow-methods"]).toBe("POST, GET");
    expect(headers["access-control-allow-headers"]?.split(", ")).toEqual([
      ...cors.allowedHeaders,
      "Authorization",
      "*",
    ]);
    expect(Number(headers["access-control-max-age"])).toBeGreaterThan(0);
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test("pages may use the methods of the doors beside those of the RPCs", async () => {
    await using server = await startTestServer({ allowedOrigins: [page], doorMethods: ["DELETE"] });
    const { headers } = await ask(server.url, {
      method: "OPTIONS",
      headers: { origin: page, "access-control-request-method": "DELETE" },
    });
    expect(headers["access-control-allow-methods"]).toBe("POST, GET, DELETE");
  });

  test("a listed origin may read answers and refusals alike, of doors and of the fallback", async () => {
    await using server = await startTestServer({
      tokens,
      allowedOrigins: [page],
      doors: [(exchange) => exchange.path === "/door" && visitors().door(exchange)],
    });
    const authorization = "Bearer correct-horse";
    const replies = [
      await ask(server.url, { path: "/door", headers: { origin: page, authorization } }),
      await ask(server.url, { path: "/else", headers: { origin: page, authorization } }),
      await ask(server.url, { path: "/door", headers: { origin: page } }),
    ];
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 403]);
    for (const { headers } of replies) {
      expect(headers).toMatchObject({ "access-control-allow-origin": page, vary: "Origin" });
      expect(headers["access-control-expose-headers"]?.split(", ")).toEqual(cors.exposedHeaders);
    }
  });

  test.each([
    "https://evil.example.com",
    "http://app.example.com",
    "null",
    "https://app.example.com.evil.com",
    "garbage",
  ])("%s is not listed: refused, and given no permission", async (origin) => {
    const { seen, door } = visitors();
    await using server = await startTestServer({ allowedOrigins: [page], doors: [door] });
    const preflight = { origin, "access-control-request-method": "POST" };
    for (const reply of [
      await ask(server.url, { headers: { origin } }),
      await ask(server.url, { method: "OPTIONS", headers: preflight }),
    ]) {
      expect(reply.text).toMatch(/^permission_denied: .*`allowedOrigins`/);
      expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(reply.headers.vary).toBe("Origin");
    }
    expect(seen).toEqual([]);
  });

  test("a page that the server itself has served may call, and so may clients without an origin", async () => {
    await using server = await startTestServer();
    expect((await ask(server.url, { headers: { origin: server.url } })).status).toBe(200);
    expect((await ask(server.url, { headers: { origin: "http://127.0.0.1:1" } })).text).toMatch(/^permission_denied/);
    expect((await ask(server.url)).headers.vary).toBeUndefined();
  });
});

describe("the Host header (DNS rebinding)", () => {
  const hosts = {
    local: ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:99", "127.1.2.3"],
    foreign: ["evil.com", "evil.com:80", "localhost.evil.com", "[::2]", "0.0.0.0", "a:b:c"],
  };

  test.each(hosts.local)("%s may ask a server without tokens", async (host) => {
    await using server = await startTestServer();
    expect((await http1(server.url, { headers: { host } })).status).toBe(200);
    expect((await http2(server.url, { headers: { ":authority": host } })).status).toBe(200);
  });

  test.each(hosts.foreign)("%s may not", async (host) => {
    await using server = await startTestServer();
    expect((await http1(server.url, { headers: { host } })).text).toMatch(/^permission_denied: the Host header/);
    expect((await http2(server.url, { headers: { ":authority": host } })).text).toMatch(/^permission_denied/);
  });

  test("with tokens any name may be used, because a stranger's page has none", async () => {
    await using server = await startTestServer({ tokens });
    const reply = await http1(server.url, {
      headers: { host: "agents.example.com", authorization: "Bearer correct-horse" },
    });
    expect(reply.status).toBe(200);
  });
});

describe("the head of a request", () => {
  test.each(versions)("$version: headers above the limit are refused with the limit's name", async ({ ask }) => {
    await using server = await startTestServer({ limits: { headerBytes: 4096 } });
    expect((await ask(server.url, { headers: { "x-long": "x".repeat(3000) } })).status).toBe(200);
    expect((await ask(server.url, { headers: { "x-long": "x".repeat(5000) } })).text).toMatch(
      /^limit_exceeded: .*4096/,
    );
    expect(server.refused[0]?.detail).toEqual({ limit: "headerBytes" });
  });

  test("headers far above the limit end the connection, and the server lives", async () => {
    await using server = await startTestServer({
      limits: { headerBytes: 4096 },
      timing: { pingMs: 50, pingTimeoutMs: 50 },
    });
    expect((await http1(server.url, { headers: { "x-long": "x".repeat(60_000) } })).status).toBe(431);

    const socket = await rawConnection(server);
    const endless = { stream: 1, payload: Buffer.concat([getRoot, Buffer.from([0, 1, 0x78, 0x7f, 0xff, 0xff, 0x7f])]) };
    socket.write(Buffer.concat([http2Preface, frame(frameTypes.settings), frame(frameTypes.headers, endless)]));
    const more = frame(frameTypes.continuation, { stream: 1, payload: Buffer.alloc(16_000, "x") });
    for (let i = 0; i < 20; i++) socket.write(more);
    await received(socket);

    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ sockets: 0, sessions: 0, streams: 0 }));
    expect((await http2(server.url)).status).toBe(200);
  });

  test.each([
    ["an absolute target", "GET http://localhost/ HTTP/1.1\r\nhost: localhost"],
    ["a target that starts with two slashes", "GET //localhost/ HTTP/1.1\r\nhost: localhost"],
    ["no host", "GET / HTTP/1.0"],
  ])("%s is refused as invalid", async (_name, head) => {
    await using server = await startTestServer();
    const socket = await rawConnection(server);
    socket.write(`${head}\r\nconnection: close\r\n\r\n`);
    expect((await received(socket)).toString()).toContain("invalid_field: the request needs");
  });

  test("a door sees the path without query and the content type without parameters", async () => {
    const { seen, door } = visitors();
    await using server = await startTestServer({ doors: [door] });
    const ask = { path: "/a/b?c=d?e", headers: { "content-type": "Application/gRPC+Proto; x=y" } };
    await http1(server.url, ask);
    await http2(server.url, ask);
    for (const exchange of seen)
      expect(exchange).toMatchObject({
        method: "GET",
        path: "/a/b",
        contentType: "application/grpc+proto",
        principal: "(local)",
      });
    expect(seen.map(({ transport }) => transport.version)).toEqual([1, 2]);
  });
});

describe.each(versions)("what goes wrong behind the edge, over $version", ({ ask }) => {
  test.each([
    [
      "a door that throws",
      {
        doors: [
          () => {
            throw new Error("boom");
          },
        ],
      },
    ],
    [
      "a fallback that throws",
      {
        fallback: () => {
          throw new Error("boom");
        },
      },
    ],
    [
      "a fallback whose promise rejects",
      {
        fallback: async () => {
          throw new Error("boom");
        },
      },
    ],
  ])("%s: internal, without the reason, which is in the log", async (_name, options) => {
    await using server = await startTestServer(options);
    const reply = await ask(server.url);
    expect(reply.text).toMatch(/^internal: /);
    expect(reply.text).not.toContain("boom");
    expect(server.logged).toHaveLength(1);
  });

  test("a HeddleError that a door throws is told as it is", async () => {
    const door = () => {
      throw new HeddleError("thread_not_found", "no such thread");
    };
    await using server = await startTestServer({ doors: [door] });
    expect((await ask(server.url)).text).toBe("thread_not_found: no such thread");
  });

  test("a failure in the middle of an answer cuts it", async () => {
    await using server = await startTestServer({
      fallback: async (_request, response) => {
        response.writeHead(200);
        await new Promise<void>((sent) => (response.write as (text: string, sent: () => void) => void)("half", sent));
        throw new Error("boom");
      },
    });
    await expect(ask(server.url)).rejects.toThrow();
    await vi.waitFor(() => expect(server.gauges()).toMatchObject({ streams: 0, requests: 0 }));
  });

  test("a refusal that cannot be written cuts the request, and the server lives", async () => {
    const reject = () => {
      throw new Error("boom");
    };
    await using server = await startTestServer({ tokens, reject });
    await expect(ask(server.url)).rejects.toThrow();
    expect((await ask(server.url, { path: "/healthz" })).status).toBe(200);
  });
});

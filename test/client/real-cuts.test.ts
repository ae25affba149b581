// What real transports make of a connection that breaks: whatever they call it, the client must know it for a cut.
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { followThread } from "../../src/client/index.js";
import { following, sequences, some, upTo } from "./support.js";

const head = 50;
/** Coprime to the size of a frame, so that every place within a frame is cut. */
const stepBytes = 67;

const transports: Record<string, { http: 1 | 2; open: (baseUrl: string) => { transport: Transport; close(): void } }> =
  {
    "gRPC, HTTP/2": {
      http: 2,
      open: (baseUrl) => overHttp2(baseUrl, (sessionManager) => createGrpcTransport({ baseUrl, sessionManager })),
    },
    "gRPC-Web, HTTP/1.1": {
      http: 1,
      open: (baseUrl) => ({ transport: createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }), close() {} }),
    },
    "Connect, HTTP/2": {
      http: 2,
      open: (baseUrl) =>
        overHttp2(baseUrl, (sessionManager) => createConnectTransport({ baseUrl, httpVersion: "2", sessionManager })),
    },
    "Connect, HTTP/1.1": {
      http: 1,
      open: (baseUrl) => ({ transport: createConnectTransport({ baseUrl, httpVersion: "1.1" }), close() {} }),
    },
  };

describe.each(Object.entries(transports))("S1: %s", (_, { http, open }) => {
  test("cut all over the reply, gently and roughly, then resumed: exact", async () => {
    await using server = await startServer(http);
    await using proxy = await startCutter(server.port);
    const { transport, close } = open(`http://127.0.0.1:${proxy.port}`);
    try {
      const client = createClient(ThreadService, transport);
      let cuts = 0;
      for (let bytes = 1; ; bytes += stepBytes) {
        proxy.cutNext(bytes, bytes % 2 === 0 ? "end" : "reset");
        expect(await sequences(followThread(client, following()))).toEqual(upTo(head));
        if (!proxy.hasCut()) break;
        cuts++;
      }
      expect(cuts).toBeGreaterThan(40);
    } finally {
      close();
    }
  });
});

function overHttp2(baseUrl: string, make: (manager: Http2SessionManager) => Transport) {
  const manager = new Http2SessionManager(baseUrl);
  return { transport: make(manager), close: () => manager.abort() };
}

async function startServer(http: 1 | 2) {
  const handler = connectNodeAdapter({
    routes: (router) => router.service(ThreadService, { streamThreadEvents: (request) => some(head, request, head) }),
  });
  const server = http === 2 ? createHttp2Server(handler) : createServer(handler);
  return listening(server as Server);
}

/** Passes bytes on, and breaks the next connection once so many bytes of reply have passed. */
async function startCutter(port: number) {
  let left = Number.POSITIVE_INFINITY;
  let manner: "end" | "reset" = "end";
  const server = createTcpServer((near) => {
    const far = connect(port, "127.0.0.1");
    near.on("error", () => far.destroy()).on("close", () => far.destroy());
    far.on("error", () => near.destroy()).on("close", () => near.destroy());
    near.setNoDelay().pipe(far.setNoDelay());
    far.on("data", (data) => {
      if (data.length <= left) {
        left -= data.length;
        near.write(data);
        return;
      }
      const rest = data.subarray(0, left);
      left = Number.POSITIVE_INFINITY;
      near.write(rest, () => (manner === "end" ? near.end() : near.resetAndDestroy()));
      far.destroy();
    });
  });
  let planned = 0;
  return Object.assign(await listening(server), {
    cutNext(bytes: number, how: "end" | "reset") {
      left = bytes;
      planned = bytes;
      manner = how;
    },
    hasCut: () => left === Number.POSITIVE_INFINITY && planned > 0,
  });
}

async function listening(server: Server | ReturnType<typeof createTcpServer>) {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("close", () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

// A small web on loopback: a page, a page that never ends, and a search service that speaks SearXNG's JSON.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SampleWeb {
  /** `127.0.0.1:port`. */
  readonly host: string;
  readonly url: string;
  /** Resolves when the next request comes for what never ends. */
  asked(): Promise<void>;
  close(): Promise<void>;
}

/** What is searched for, or fetched, where no end is wanted. */
export const endlessWord = "endless";

const page = `<!doctype html><html><head><title>Weaving</title></head><body><article><h1>Weaving</h1>
<p>${"A heddle lifts the threads of the warp, so that the weft passes between them. ".repeat(8)}</p></article></body></html>`;

const results = {
  query: "weaving",
  results: [{ title: "Weaving", url: "https://example.com/weaving", content: "How a heddle lifts the warp." }],
};

export async function startSampleWeb(): Promise<SampleWeb> {
  const waiting: (() => void)[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.includes(endlessWord)) {
      response.writeHead(200, { "content-type": "text/plain" }).write("It goes on");
      for (const resolve of waiting.splice(0)) resolve();
      return;
    }
    const isSearch = request.url?.startsWith("/search") === true;
    response.writeHead(200, { "content-type": isSearch ? "application/json" : "text/html; charset=utf-8" });
    response.end(isSearch ? JSON.stringify(results) : page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    asked: () => new Promise((resolve) => waiting.push(resolve)),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

// Requests to an MCP server over HTTP, in the shape of `fetch`. Not `fetch` itself: that one ends an answer that says nothing for five
// minutes, connects to whatever a name leads to, and does not tell whether a request was on its way when it failed.
import { setMaxListeners } from "node:events";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { Readable, Transform, type TransformCallback } from "node:stream";
import { ToolFailure } from "../tool.js";
import { connectTcp, connectTo } from "../web/connect.js";
import { checkedAddresses, systemResolver } from "../web/resolve-host.js";
import type { Network } from "../web/settings.js";
import { checkedUrl } from "../web/web-url.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";
import { SessionError } from "./session.js";

/** A server that a caller has named: nothing but public addresses, and hosts that the operator has opened. */
export interface AddressGuard {
  /** `host:port` of single hosts that may be private. */
  readonly allowHosts: readonly string[];
  readonly network?: Network;
}

export interface HttpFetch {
  /** Follows no redirect. Rejects with a SessionError, or with the signal's reason. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Lets go of connections that nobody uses. */
  close(): void;
}

/** Longer than from one call to the next, shorter than most servers keep a connection that nobody uses. */
const keptMs = 4_000;
const connectMs = 15_000;
const headerBytes = 64 * 1024;

/** Who sees what becomes of a request. */
export interface HttpWatcher {
  /** It is on its way; `letGo` ends it, and its answer. */
  onSent(init: RequestInit, letGo: () => void): void;
  /** Its answer is there, and its body was not read yet. */
  onAnswer(init: RequestInit, body: Readable): void;
}

/** `guard`: undefined where the operator has named the server. */
export function httpFetch(guard: AddressGuard | undefined, watcher?: HttpWatcher): HttpFetch {
  const agents = {
    "http:": new HttpAgent({ keepAlive: true, timeout: keptMs }),
    "https:": new HttpsAgent({ keepAlive: true, timeout: keptMs }),
  };
  return {
    fetch: async (address, init = {}) => {
      const url = new URL(address);
      const signal = init.signal ?? new AbortController().signal;
      signal.throwIfAborted();
      setMaxListeners(0, signal); // One for all requests of a session.
      const options = guard
        ? onSocket(url, await guardedSocket(url, guard, signal))
        : { agent: agents[url.protocol as "http:" | "https:"] };
      const onSent = (letGo: () => void): void => watcher?.onSent(init, letGo);
      const answer = await send(url, { ...init, signal, onSent }, options);
      return responseOf(answer, (body) => watcher?.onAnswer(init, body));
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** The name is looked up once, every address that it has is checked, and the connection goes to one of those. */
async function guardedSocket(url: URL, guard: AddressGuard, signal: AbortSignal): Promise<Socket> {
  const { allowHosts, network = {} } = guard;
  const { resolver = systemResolver, connect = connectTcp, ca } = network;
  try {
    const { place } = checkedUrl(url.href, { allowHosts });
    const addresses = await checkedAddresses(place, { resolver, signal });
    return await connectTo({ ...place, isSecure: url.protocol === "https:" }, addresses, { connect, ca, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw refusedWords(url, error);
  }
}

function refusedWords({ host }: URL, error: unknown): SessionError {
  const { code = "", message } = error as ToolFailure;
  const words =
    code === "EBLOCKED"
      ? `${oneLine(host)} is not on the public internet, and the operator has not opened it (agent.mcp.allowHosts)`
      : error instanceof ToolFailure
        ? message
        : `${oneLine(host)} cannot be reached (${code || "unknown error"})`;
  return new SessionError({ kind: "unreachable", code }, words, error);
}

/** It carries one request: whoever answers it is who was checked. */
const onSocket = (url: URL, socket: Socket): RequestOptions => ({
  createConnection: () => socket,
  setHost: false,
  headers: { host: url.host, connection: "close" },
});

interface Sending extends RequestInit {
  readonly signal: AbortSignal;
  onSent(letGo: () => void): void;
}

function send(url: URL, init: Sending, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { signal } = init;
    const isPinned = options.createConnection !== undefined;
    const open = url.protocol === "https:" && !isPinned ? httpsRequest : httpRequest;
    const headers = { ...Object.fromEntries(new Headers(init.headers)), ...options.headers };
    const body = typeof init.body === "string" ? init.body : undefined;
    const request = open({
      ...placeOf(url),
      ...options,
      method: init.method ?? "GET",
      maxHeaderSize: headerBytes,
      headers: { ...headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) },
    });
    let isConnected = isPinned;
    const late = setTimeout(() => request.destroy(Object.assign(new Error("late"), { code: "ETIMEDOUT" })), connectMs);
    const connected = (): void => {
      isConnected = true;
      clearTimeout(late);
    };
    const onAbort = (): void => void request.destroy(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    request.once("socket", (socket) => {
      if (socket.connecting)
        socket.once(url.protocol === "https:" && !isPinned ? "secureConnect" : "connect", connected);
      else connected();
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(late);
      reject(signal.aborted ? signal.reason : failedWords(url, error, isConnected));
    });
    request.once("close", () => {
      clearTimeout(late);
      signal.removeEventListener("abort", onAbort);
    });
    request.once("response", resolve);
    request.end(body);
    init.onSent(() => void request.destroy());
  });
}

const placeOf = (url: URL): RequestOptions => {
  const bare = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    hostname: bare,
    ...(isIP(bare) === 0 && url.protocol === "https:" && { servername: bare }),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    path: `${url.pathname}${url.search}`,
  };
};

/** Nothing was sent before there was a connection. */
function failedWords({ host }: URL, error: NodeJS.ErrnoException, isConnected: boolean): SessionError {
  const code = error.code ?? "";
  if (isConnected)
    return new SessionError({ kind: "lost" }, `${oneLine(host)} hung up (${code || "no reason"})`, error);
  return new SessionError(
    { kind: "unreachable", code },
    `${oneLine(host)} cannot be reached (${code || "unknown error"})`,
    error,
  );
}

/** Statuses whose answers have no body, by the words of the standard. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(answer: IncomingMessage, onBody: (body: Readable) => void): Response {
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) headers.set(name, [value].flat().join(", "));
  if (bodiless.has(status)) {
    answer.resume();
    return new Response(null, { status, headers });
  }
  const isStream = (headers.get("content-type") ?? "").includes("text/event-stream");
  const bounded = new Bounded(isStream);
  answer.on("error", (error) => bounded.destroy(error));
  bounded.on("close", () => answer.destroy());
  bounded.on("error", () => {});
  answer.pipe(bounded);
  onBody(bounded);
  return new Response(Readable.toWeb(bounded) as ReadableStream<Uint8Array>, { status, headers });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Passes on what it is given, until one message of it is too long. In a stream of events an empty line ends each. */
class Bounded extends Transform {
  readonly #isStream: boolean;
  #messageBytes = 0;
  #lineBytes = 0;

  constructor(isStream: boolean) {
    super();
    this.#isStream = isStream;
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#isStream) this.#count(piece);
    else this.#messageBytes += piece.length;
    if (this.#messageBytes <= bounds.messageBytes) done(null, piece);
    else done(new SessionError({ kind: "lost" }, "the server sent a message that is too long"));
  }

  #count(piece: Buffer): void {
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      const isBare = end > from && piece[end - 1] === carriageReturn ? end - from === 1 : end === from;
      const isEmpty = isBare && this.#lineBytes === 0;
      this.#messageBytes = isEmpty ? 0 : this.#messageBytes + end + 1 - from;
      this.#lineBytes = 0;
      from = end + 1;
    }
    this.#lineBytes += piece.length - from;
    this.#messageBytes += piece.length - from;
  }
}

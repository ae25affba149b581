// Streamable HTTP, as the SDK speaks it, with what it leaves open closed: an answer that breaks off before it has come is told as lost,
// instead of never; a call that was called off lets go of its connection; and what goes wrong is told in our own words.
import type { Readable } from "node:stream";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";
import { type AddressGuard, type HttpFetch, httpFetch } from "./http-fetch.js";
import { SessionError } from "./session.js";

export interface Address {
  readonly url: string;
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly guard?: AddressGuard | undefined;
}

/** A stream that ends without an answer is taken up again where the server lets us: so often, and after so long. */
const reconnectionOptions = {
  maxRetries: 2,
  initialReconnectionDelay: 250,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 2_000,
};

/** From the end of an answer's bytes, all of them read, until what was in them has been told. */
const tellMs = 100;
/** How long a server may take to answer a call that was called off, which nobody waits for. */
const leaveMs = 1_000;

/** What stands for an answer that will never come. Told apart by its identity: a server could not make it up. */
export const lostAnswer = Object.freeze({ lost: true });

interface OpenRequest {
  /** Ends it, and its answer, which need not have begun. */
  letGo(): void;
  /** The server has said how to go on listening. */
  isResumable: boolean;
  hasEnded: boolean;
}

export class SdkHttpTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  onerror?: Transport["onerror"];
  /** No word of the server's own can be heard any more. */
  onDeaf: () => void = () => {};
  readonly #http: HttpFetch;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #open = new Map<unknown, OpenRequest>();

  constructor({ url, headers, guard }: Address) {
    this.#http = httpFetch(guard, {
      onSent: (init, letGo) => {
        const request = this.#open.get(requestIdOf(init));
        if (request) request.letGo = letGo;
      },
      onAnswer: (init, answer) => this.#answered(init, answer),
    });
    this.#inner = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { "user-agent": "heddle", ...headers } },
      fetch: this.#http.fetch,
      reconnectionOptions,
    });
    this.#inner.onmessage = (message: JSONRPCMessage) => {
      if (!("method" in message) && "id" in message) this.#open.delete(message.id);
      this.onmessage?.(message);
    };
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => {
      if (error.message.startsWith("Maximum reconnection attempts")) this.#gaveUp();
      this.onerror?.(error);
    };
  }

  get hasOpenRequests(): boolean {
    return this.#open.size > 0;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const id = "method" in message && "id" in message ? message.id : undefined;
    const request: OpenRequest = { letGo: () => {}, isResumable: false, hasEnded: false };
    if (id !== undefined) this.#open.set(id, request);
    const onresumptiontoken = (): void => {
      request.isResumable = true;
    };
    try {
      await this.#inner.send(message, { onresumptiontoken });
    } catch (error) {
      this.#open.delete(id);
      throw this.#worded(error);
    }
    if ("method" in message && message.method === "notifications/cancelled") this.#leave(message.params?.["requestId"]);
  }

  async close(): Promise<void> {
    const late = new Promise<void>((resolve) => void setTimeout(resolve, bounds.closeMs / 2).unref());
    await Promise.race([this.#inner.terminateSession().catch(() => {}), late]);
    await this.#inner.close();
    for (const { letGo } of this.#open.values()) letGo();
    this.#open.clear();
    this.#http.close();
  }

  /** The SDK gives a stream's end to nobody. */
  #answered(init: RequestInit, answer: Readable): void {
    const id = requestIdOf(init);
    const request = this.#open.get(id);
    if (!request) return;
    answer.once("close", () => {
      setTimeout(() => {
        request.hasEnded = true;
        if (this.#open.get(id) === request && !request.isResumable) this.#lose(id);
      }, tellMs).unref();
    });
  }

  /** It cannot go on listening: those that were listened for are lost. */
  #gaveUp(): void {
    for (const [id, { hasEnded }] of [...this.#open]) if (hasEnded) this.#lose(id);
    this.onDeaf();
  }

  #lose(id: unknown): void {
    if (!this.#open.delete(id)) return;
    const error = { code: -32_000, message: "The connection broke", data: lostAnswer };
    this.onmessage?.({ jsonrpc: "2.0", id: id as number, error });
  }

  #leave(id: unknown): void {
    const request = this.#open.get(id);
    this.#open.delete(id);
    if (request) setTimeout(() => request.letGo(), leaveMs).unref();
  }

  #worded(error: unknown): unknown {
    if (!(error instanceof StreamableHTTPError)) return error;
    const { code = -1 } = error;
    if (code === 404 && this.#inner.sessionId !== undefined)
      return new SessionError({ kind: "expired" }, "the server has ended the session", error);
    if (code < 0)
      return new SessionError(
        { kind: "protocol", code: "" },
        "the server does not answer as an MCP server does",
        error,
      );
    return new SessionError({ kind: "http", code: String(code) }, statusWords(code, error.message), error);
  }
}

/** Undefined for what is no request. The SDK writes the id last. */
function requestIdOf({ method, body }: RequestInit): unknown {
  if (method !== "POST" || typeof body !== "string") return undefined;
  const [, digits] = /"id":(\d+)\}$/.exec(body.slice(-40)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

const shownUnits = 120;

function statusWords(status: number, message: string): string {
  if (status === 401 || status === 403)
    return `the server refuses us (HTTP ${status}): check the headers that it is given`;
  const said = oneLine(message.replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, ""));
  const words = said === "" || said === "null" ? "" : `: ${said.slice(0, shownUnits)}`;
  return `the server answered with HTTP ${status}${words}`;
}

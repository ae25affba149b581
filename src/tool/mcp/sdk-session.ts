// A session with the official SDK. With sdk-http-transport.ts the only file that knows it; both are loaded when the first server is
// needed (mcp-server.ts). What the SDK says of a failure is not believed where we know better: see docs of McpSession.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  LoggingMessageNotificationSchema,
  McpError,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { oneLine } from "../words.js";
import { type Address, lostAnswer, SdkHttpTransport } from "./sdk-http-transport.js";
import {
  type CallRequest,
  type McpSession,
  type OpenSession,
  SessionError,
  type SessionEvents,
  type ToolPage,
} from "./session.js";
import type { StdioTransport } from "./stdio-transport.js";

/** As long as a timer can be: our own clocks end requests. */
const noLimitMs = 2 ** 31 - 1;

/** What Heddle calls itself to servers. */
export interface ClientName {
  readonly name: string;
  readonly version: string;
}

export const openStdio =
  (transport: (events: SessionEvents) => StdioTransport, client: ClientName): OpenSession =>
  async (events, signal) => {
    const stdio = transport(events);
    const session = new SdkSession(client, events, () => stdio.overBecause ?? "its connection was closed");
    return session.open(stdio as unknown as Transport, signal);
  };

export const openHttp =
  (address: Address, client: ClientName): OpenSession =>
  async (events, signal) => {
    const http = new SdkHttpTransport(address);
    const session = new SdkSession(client, events, () => "it cannot be heard any more");
    http.onDeaf = () => {
      if (!http.hasOpenRequests) void session.closeAsLost();
    };
    return session.open(http, signal);
  };

class SdkSession implements McpSession {
  serverInfo = "";
  hasTools = false;
  readonly #client: Client;
  readonly #events: SessionEvents;
  readonly #lostBecause: () => string;
  /** Ours: ended by us. Lost: by anything else. */
  #state: "opening" | "open" | "ours" | "lost" = "opening";

  constructor(client: ClientName, events: SessionEvents, lostBecause: () => string) {
    this.#events = events;
    this.#lostBecause = lostBecause;
    // No capabilities: nobody is asked, and no model is lent, on a server's behalf.
    this.#client = new Client({ ...client }, { capabilities: {} });
    this.#client.fallbackRequestHandler = async ({ method }) => {
      events.onLog("info", `asked for ${oneLine(method)}, which was declined`);
      throw Object.assign(new Error(declined(method)), { code: declinedCode });
    };
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onToolsChanged());
    this.#client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params: { level, data, logger } }) => {
      const text = typeof data === "string" ? data : JSON.stringify(data);
      events.onLog(level, logger === undefined ? text : `${logger}: ${text}`);
    });
    this.#client.onerror = (error) => events.onLog("debug", error.message);
    this.#client.onclose = () => this.#closed();
  }

  async open(transport: Transport, signal: AbortSignal): Promise<McpSession> {
    signal.throwIfAborted();
    const onAbort = (): void => void transport.close();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#client.connect(transport, { timeout: noLimitMs });
      signal.throwIfAborted();
    } catch (error) {
      this.#state = "ours";
      await transport.close().catch(() => {});
      signal.throwIfAborted();
      throw this.#worded(error, this.#lostBecause());
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    this.#state = "open";
    const { name = "", version = "", title } = this.#client.getServerVersion() ?? {};
    this.serverInfo = oneLine(`${title ?? name} ${version}`);
    this.hasTools = this.#client.getServerCapabilities()?.tools !== undefined;
    return this;
  }

  async listTools(cursor: string | undefined, signal: AbortSignal): Promise<ToolPage> {
    const params = cursor === undefined ? {} : { cursor };
    const page = await this.#request({ method: "tools/list", params }, { signal });
    const { tools, nextCursor } = page as { tools?: unknown; nextCursor?: unknown };
    if (!Array.isArray(tools))
      throw new SessionError({ kind: "protocol", code: "" }, "the server gave a list of tools that is none");
    return { tools, nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined };
  }

  callTool({ name, input, signal, onProgress }: CallRequest): Promise<Readonly<Record<string, unknown>>> {
    return this.#request(
      { method: "tools/call", params: { name, arguments: input } },
      { signal, onprogress: onProgress },
    );
  }

  async close(): Promise<void> {
    if (this.#state !== "lost") this.#state = "ours";
    await this.#client.close();
  }

  async closeAsLost(): Promise<void> {
    if (this.#state === "open") await this.#client.close();
  }

  /** The SDK never lets go of a signal: it is given one that nobody aborts after the answer. */
  async #request(
    request: { method: string; params: Record<string, unknown> },
    { signal, onprogress }: { signal: AbortSignal; onprogress?: CallRequest["onProgress"] },
  ): Promise<Readonly<Record<string, unknown>>> {
    signal.throwIfAborted();
    const pending = new AbortController();
    const onAbort = (): void => pending.abort(wordsOf(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#client.request(request, ResultSchema, {
        signal: pending.signal,
        timeout: noLimitMs,
        ...(onprogress && { onprogress }),
      });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#worded(error, "its connection broke");
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #worded(error: unknown, lost: string): SessionError {
    if (error instanceof SessionError) return error;
    const isOver = this.#state === "lost" || this.#client.transport === undefined;
    if (isOver || (error instanceof McpError && error.data === lostAnswer))
      return new SessionError({ kind: "lost" }, isOver ? this.#lostBecause() : lost, error);
    if (error instanceof McpError) {
      const message = error.message.replace(/^(?:MCP error -?\d+: )+/, "");
      return new SessionError({ kind: "protocol", code: String(error.code) }, oneLine(message) || "an error", error);
    }
    const { message } = error as Error;
    return new SessionError(
      { kind: "protocol", code: "" },
      `the server does not speak MCP: ${oneLine(message)}`,
      error,
    );
  }

  #closed(): void {
    if (this.#state !== "open") return;
    this.#state = "lost";
    this.#events.onLost(this.#lostBecause());
  }
}

const declinedCode = -32_601;

function declined(method: string): string {
  if (method === "elicitation/create")
    return "Heddle declines elicitation: it asks nobody on a server's behalf. Take what you need as input of the tool";
  if (method === "sampling/createMessage") return "Heddle declines sampling: it lends its model to no server";
  return `Heddle does not answer ${oneLine(method)}`;
}

const wordsOf = (reason: unknown): string =>
  typeof reason === "string" ? reason : reason instanceof Error ? reason.message : "called off";

// One MCP server: connected to when somebody needs it, asked for its tools, asked again when they change, and tried again when it was
// lost, not too often. It is idle → connecting → ready or down; from ready it goes down when it is lost, and from down it is tried
// again when it is due. Nobody waits for a server that is down.
import { mcpPrefix } from "../policy.js";
import { type ToolContext, ToolFailure } from "../tool.js";
import type { ToolOffer, ToolServer, ToolServerStatus } from "../tool-server.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";
import { callTool, failureOf } from "./call-tool.js";
import { makeTool } from "./make-tool.js";
import { readOffer } from "./read-offer.js";
import { Refresh } from "./refresh.js";
import type { ServerLog } from "./server-log.js";
import { type McpSession, type OpenSession, SessionError } from "./session.js";
import type { ServerSettings } from "./settings.js";
import { untilAborted } from "./until-aborted.js";

export interface McpServerParts {
  readonly settings: Omit<ServerSettings, "place">;
  readonly open: OpenSession;
  readonly log: ServerLog;
  /** Takes secrets out of what the server says. */
  clean(text: string): string;
  /** A connection that nobody uses for so long is closed. Undefined: it stays. */
  readonly unusedMs?: number;
  /** Names that the configuration has a policy for: one of this server's that no tool has is a slip. */
  readonly policyNames?: readonly string[];
  /** It stands differently now. */
  onChange(): void;
  /** Undefined where the clock is a test's. */
  readonly random?: () => number;
}

interface Connection {
  readonly session: McpSession;
  readonly refresh: Refresh;
  readonly since: number;
  offer: ToolOffer;
  calls: number;
  /** Replaced, or given up: closed when its last call is over. */
  isRetired: boolean;
}

type State =
  | { readonly kind: "idle" }
  | { readonly kind: "connecting"; readonly connected: Promise<Connection>; readonly stop: AbortController }
  | { readonly kind: "ready"; readonly connection: Connection }
  | { readonly kind: "down"; readonly reason: string; readonly retryAtMs: number }
  | { readonly kind: "closed" };

export class McpServer implements ToolServer {
  readonly label: string;
  readonly #parts: McpServerParts;
  readonly #closing = new Set<Promise<unknown>>();
  #state: State = { kind: "idle" };
  /** Connections in a row that failed, or were lost soon. */
  #failures = 0;
  /** The last time it was tried, it could not be had. */
  #hasFailed = false;
  #unused: NodeJS.Timeout | undefined;

  constructor(parts: McpServerParts) {
    this.#parts = parts;
    this.label = parts.settings.label;
  }

  get offer(): ToolOffer | undefined {
    return this.#state.kind === "ready" ? this.#state.connection.offer : undefined;
  }

  get status(): ToolServerStatus {
    const state = this.#state;
    switch (state.kind) {
      case "ready":
        return { state: "ready", serverInfo: state.connection.session.serverInfo };
      case "down":
        return { state: "down", reason: state.reason, retryAtMs: state.retryAtMs };
      case "closed":
        return { state: "down", reason: "the server is stopping", retryAtMs: 0 };
      default:
        return { state: state.kind };
    }
  }

  async discover(signal: AbortSignal): Promise<ToolOffer> {
    if (!this.#hasFailed) return (await this.#connection(signal)).offer;
    const patience = new AbortController();
    const clock = setTimeout(() => patience.abort(), bounds.patienceMs);
    try {
      return (await this.#connection(AbortSignal.any([signal, patience.signal]))).offer;
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      throw this.#unavailable("it could not be had, and is still being tried again");
    } finally {
      clearTimeout(clock);
    }
  }

  /** Nobody begins anything with it any more: what is under way ends as it began. */
  retire(): void {
    const state = this.#state;
    if (state.kind !== "ready") {
      void this.close();
      return;
    }
    this.#state = { kind: "closed" };
    state.connection.isRetired = true;
    if (state.connection.calls === 0) this.#end(state.connection);
  }

  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "closed" };
    clearTimeout(this.#unused);
    if (state.kind === "connecting") {
      state.stop.abort(new SessionError({ kind: "unreachable", code: "" }, "the server is stopping"));
      await state.connected.catch(() => {});
    }
    if (state.kind === "ready") this.#end(state.connection);
    await Promise.all(this.#closing);
  }

  async #connection(signal: AbortSignal): Promise<Connection> {
    const state = this.#state;
    switch (state.kind) {
      case "ready":
        return state.connection;
      case "connecting":
        return untilAborted(state.connected, signal);
      case "closed":
        throw this.#unavailable("the server is stopping");
      case "down":
        if (Date.now() < state.retryAtMs)
          throw this.#unavailable(`${state.reason}; it is tried again in ${inWords(state.retryAtMs)}`);
        return untilAborted(this.#connect(), signal);
      case "idle":
        return untilAborted(this.#connect(), signal);
    }
  }

  /** Whoever asks meanwhile shares it, and nobody who leaves ends it for the others. */
  #connect(): Promise<Connection> {
    const stop = new AbortController();
    const { startTimeoutMs } = this.#parts.settings;
    const late = () =>
      new SessionError(
        { kind: "unreachable", code: "ETIMEDOUT" },
        `it did not answer within ${startTimeoutMs / 1_000} s`,
      );
    const clock = setTimeout(() => stop.abort(late()), startTimeoutMs);
    const connected = this.#opened(stop.signal).finally(() => clearTimeout(clock));
    this.#become({ kind: "connecting", connected, stop });
    return connected;
  }

  async #opened(signal: AbortSignal): Promise<Connection> {
    const { open, log } = this.#parts;
    let connection: Connection | undefined;
    let lostBecause: string | undefined;
    try {
      const refresh = new Refresh(() => this.#refreshed(connection));
      const session = await open(
        {
          onToolsChanged: () => refresh.ask(),
          onLog: (from, text) => log.quote(from, text),
          onLost: (reason) => {
            lostBecause = reason;
            if (connection) this.#lost(connection, reason);
          },
        },
        signal,
      );
      try {
        const offer = await this.#read(session, signal);
        signal.throwIfAborted();
        if (lostBecause !== undefined) throw new SessionError({ kind: "lost" }, lostBecause);
        connection = { session, refresh, offer, since: performance.now(), calls: 0, isRetired: false };
      } catch (error) {
        await session.close().catch(() => {});
        throw error;
      }
      this.#hasFailed = false;
      this.#warnOfSlips(connection.offer);
      this.#become({ kind: "ready", connection });
      refresh.begin();
      this.#use();
      log.say("info", "an MCP server is there", {
        tools: connection.offer.tools.length,
        serverInfo: connection.session.serverInfo,
      });
      return connection;
    } catch (error) {
      const reason = error instanceof Error ? oneLine(error.message) : "it cannot be had";
      this.#failures++;
      this.#hasFailed = true;
      this.#goDown(reason, backoffMs(this.#failures, this.#parts.random));
      throw this.#unavailable(reason, error);
    }
  }

  #read(session: McpSession, signal: AbortSignal): Promise<ToolOffer> {
    const { settings, log, clean } = this.#parts;
    const rules = {
      serverLabel: this.label,
      clean,
      onLeftOut: (words: string) => log.say("warn", "a tool of an MCP server cannot be used", { tool: words }),
      makeTool: (name: string, listed: Parameters<typeof makeTool>[0]["listed"]) =>
        makeTool({ ...settings, serverLabel: this.label, name, listed, call: (...call) => this.#call(...call) }),
    };
    return readOffer(session, rules, signal);
  }

  #warnOfSlips({ tools }: ToolOffer): void {
    const { policyNames = [], log } = this.#parts;
    const names = new Set(tools.map(({ name }) => name));
    const isSlip = (name: string): boolean =>
      name.startsWith(mcpPrefix(this.label)) && !name.endsWith("*") && !names.has(name);
    for (const name of policyNames.filter(isSlip))
      log.say("warn", "agent.policy names a tool that an MCP server does not offer", { tool: name });
  }

  async #refreshed(connection: Connection | undefined): Promise<void> {
    if (!connection || connection.isRetired) return;
    const { settings, log } = this.#parts;
    try {
      const offer = await this.#read(connection.session, AbortSignal.timeout(settings.startTimeoutMs));
      if (Buffer.from(offer.sha256).equals(connection.offer.sha256)) return;
      connection.offer = offer;
      log.say("info", "an MCP server has changed its tools", { tools: offer.tools.length });
      this.#parts.onChange();
    } catch (error) {
      log.say("warn", "an MCP server has changed its tools, and does not list them", {
        reason: oneLine(String(error)),
      });
    }
  }

  async #call(
    toolName: string,
    input: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<Readonly<Record<string, unknown>>> {
    try {
      return await this.#callOn(await this.#taken(context.signal), { toolName, input }, context);
    } catch (error) {
      if (faultOf(error) !== "expired") throw error;
      // Refused, not run: a server must answer so to every request of a session that is over.
      return this.#callOn(await this.#taken(context.signal), { toolName, input }, context);
    }
  }

  /** For one call, which counts from now on. It may be given up between the moment it is had and the moment it is used. */
  async #taken(signal: AbortSignal): Promise<Connection> {
    let connection = await this.#connection(signal);
    while (connection.isRetired) connection = await this.#connection(signal);
    connection.calls++;
    return connection;
  }

  async #callOn(
    connection: Connection,
    { toolName, input }: { toolName: string; input: Readonly<Record<string, unknown>> },
    context: ToolContext,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { idleTimeoutMs: idleMs } = this.#parts.settings;
    clearTimeout(this.#unused);
    try {
      return await callTool(connection.session, { serverLabel: this.label, toolName, input, idleMs }, context);
    } catch (error) {
      if (faultOf(error) === "unreachable") this.#lost(connection, messageOf(error));
      if (faultOf(error) === "expired") this.#retire(connection);
      throw error;
    } finally {
      connection.calls--;
      if (connection.isRetired && connection.calls === 0) this.#end(connection);
      this.#use();
    }
  }

  /** Its session is over, and the server is there: the next one who needs it begins another. */
  #retire(connection: Connection): void {
    if (this.#state.kind !== "ready" || this.#state.connection !== connection) return;
    connection.isRetired = true;
    this.#become({ kind: "idle" });
  }

  #lost(connection: Connection, reason: string): void {
    if (this.#state.kind !== "ready" || this.#state.connection !== connection) return;
    connection.isRetired = true;
    if (connection.calls === 0) this.#end(connection);
    const wasStable = performance.now() - connection.since >= bounds.stableMs;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    // The first time it is tried again as soon as somebody needs it.
    this.#goDown(reason, this.#failures <= 1 ? 0 : backoffMs(this.#failures - 1, this.#parts.random));
  }

  #goDown(given: string, waitMs: number): void {
    const reason = this.#parts.clean(given);
    this.#parts.log.say("warn", "an MCP server cannot be had", { reason, retryInMs: Math.round(waitMs) });
    this.#become({ kind: "down", reason, retryAtMs: Date.now() + Math.round(waitMs) });
  }

  #become(state: State): void {
    if (this.#state.kind === "closed") {
      if (state.kind === "ready") this.#end(state.connection);
      return;
    }
    this.#state = state;
    this.#parts.onChange();
  }

  #end({ session, refresh }: Connection): void {
    refresh.close();
    const closed = session.close().catch(() => {});
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }

  /** The clock of a connection that nobody uses begins anew. */
  #use(): void {
    const { unusedMs } = this.#parts;
    clearTimeout(this.#unused);
    if (unusedMs === undefined || this.#state.kind !== "ready" || this.#state.connection.calls > 0) return;
    const { connection } = this.#state;
    this.#unused = setTimeout(() => {
      if (connection.calls > 0) return;
      this.#retire(connection);
      this.#end(connection);
    }, unusedMs).unref();
  }

  #unavailable(reason: string, cause?: unknown): ToolFailure {
    if (cause instanceof SessionError && (cause.fault.kind === "http" || cause.fault.kind === "protocol"))
      return failureOf({ serverLabel: this.label }, cause);
    const code = cause instanceof SessionError && "code" in cause.fault ? cause.fault.code : "";
    return new ToolFailure(`MCP server ${this.label}: ${reason}`, { kind: "connection_failed", code, cause });
  }
}

function faultOf(error: unknown): SessionError["fault"]["kind"] | undefined {
  const cause = error instanceof ToolFailure ? error.cause : undefined;
  return cause instanceof SessionError ? cause.fault.kind : undefined;
}

const messageOf = (error: unknown): string => {
  const cause = error instanceof ToolFailure ? error.cause : error;
  return cause instanceof Error ? oneLine(cause.message) : "it cannot be had";
};

/** Doubled each time, and never the same for two servers that went down together. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const fullMs = Math.min(bounds.longestRetryMs, bounds.firstRetryMs * 2 ** Math.min(failures - 1, 20));
  return fullMs * (0.75 + random() / 2);
}

const inWords = (atMs: number): string => `${Math.max(1, Math.ceil((atMs - Date.now()) / 1_000))} s`;

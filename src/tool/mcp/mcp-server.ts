// One MCP server: connected to when somebody needs it, and tried again when it was lost, not too often. It is idle → connecting →
// ready or down; from ready it goes down when it is lost, and from down it is tried again when it is due. Nobody waits for a server
// that is down.
import { type ToolContext, ToolFailure } from "../tool.js";
import type { ToolOffer, ToolServer, ToolServerStatus } from "../tool-server.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";
import { callTool, failureOf, faultOf } from "./call-tool.js";
import { Connection, type ConnectionParts } from "./connection.js";
import { Retry } from "./retry.js";
import { SessionError } from "./session.js";
import { untilAborted } from "./until-aborted.js";

export interface McpServerParts extends ConnectionParts {
  /** A connection that nobody uses for so long is closed. Undefined: it stays. */
  readonly unusedMs?: number;
  /** It stands differently now. */
  onChange(): void;
  /** Undefined: the system's. */
  readonly random?: () => number;
}

type State =
  | { readonly kind: "idle" }
  | { readonly kind: "connecting"; readonly connected: Promise<Connection>; readonly stop: AbortController }
  | { readonly kind: "ready"; readonly connection: Connection }
  | { readonly kind: "down"; readonly reason: string; readonly retryAtMs: number }
  | { readonly kind: "closed" };

type Input = Readonly<Record<string, unknown>>;
type Answer = Readonly<Record<string, unknown>>;

const stopping = "the server is stopping";

export class McpServer implements ToolServer {
  readonly label: string;
  readonly #parts: McpServerParts;
  readonly #retry: Retry;
  /** Those that are open: the one that is used, and those that were given up while calls ran on them. */
  readonly #open = new Set<Connection>();
  readonly #closing = new Set<Promise<void>>();
  #state: State = { kind: "idle" };
  #unused: NodeJS.Timeout | undefined;

  constructor(parts: McpServerParts) {
    this.#parts = parts;
    this.label = parts.settings.label;
    this.#retry = new Retry(parts.random);
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
        return { state: "down", reason: stopping, retryAtMs: 0 };
      default:
        return { state: state.kind };
    }
  }

  /** One that could not be had the last time is not waited for long: when it comes, its offer is there. */
  async discover(signal: AbortSignal): Promise<ToolOffer> {
    if (!this.#retry.hasFailed) return (await this.#connection(signal)).offer;
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
    if (state.kind !== "ready") void this.close();
    this.#state = { kind: "closed" };
    if (state.kind === "ready") this.#giveUp(state.connection);
  }

  /** Resolves when nothing is left of it. */
  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "closed" };
    clearTimeout(this.#unused);
    if (state.kind === "connecting") {
      state.stop.abort(new SessionError({ kind: "unreachable", code: "" }, stopping));
      await state.connected.catch(() => {});
    }
    for (const connection of [...this.#open]) this.#end(connection);
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
        throw this.#unavailable(stopping);
      case "down": {
        const waitMs = state.retryAtMs - Date.now();
        if (waitMs <= 0) return untilAborted(this.#connect(), signal);
        throw this.#unavailable(`${state.reason}; it is tried again in ${Math.ceil(waitMs / 1_000)} s`);
      }
      case "idle":
        return untilAborted(this.#connect(), signal);
    }
  }

  /** Whoever asks meanwhile shares it, and nobody who leaves ends it for the others. */
  #connect(): Promise<Connection> {
    const stop = new AbortController();
    const { startTimeoutMs } = this.#parts.settings;
    const words = `it did not answer within ${startTimeoutMs / 1_000} s`;
    const late = new SessionError({ kind: "unreachable", code: "ETIMEDOUT" }, words);
    const clock = setTimeout(() => stop.abort(late), startTimeoutMs);
    const connected = this.#opened(stop.signal).finally(() => clearTimeout(clock));
    this.#become({ kind: "connecting", connected, stop });
    return connected;
  }

  async #opened(signal: AbortSignal): Promise<Connection> {
    const use = {
      call: (toolName: string, input: Input, context: ToolContext) => this.#call(toolName, input, context),
      onLost: (connection: Connection, reason: string) => this.#lost(connection, reason),
    };
    try {
      const connection = await Connection.open(this.#parts, use, signal);
      this.#open.add(connection);
      this.#retry.connected();
      this.#become({ kind: "ready", connection });
      this.#watchUse();
      return connection;
    } catch (error) {
      const reason = error instanceof Error ? oneLine(error.message) : "it cannot be had";
      this.#goDown(reason, this.#retry.failed());
      throw this.#unavailable(reason, error);
    }
  }

  async #call(toolName: string, input: Input, context: ToolContext): Promise<Answer> {
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
    clearTimeout(this.#unused);
    return connection;
  }

  async #callOn(
    connection: Connection,
    call: { readonly toolName: string; readonly input: Input },
    context: ToolContext,
  ): Promise<Answer> {
    const { idleTimeoutMs: idleMs } = this.#parts.settings;
    try {
      return await callTool(connection.session, { serverLabel: this.label, idleMs, ...call }, context);
    } catch (error) {
      if (faultOf(error) === "unreachable") this.#lost(connection, causeOf(error));
      if (faultOf(error) === "expired") this.#letGo(connection);
      throw error;
    } finally {
      connection.calls--;
      if (connection.isRetired) this.#giveUp(connection);
      this.#watchUse();
    }
  }

  #isCurrent(connection: Connection): boolean {
    return this.#state.kind === "ready" && this.#state.connection === connection;
  }

  /** The server is there, and this session with it over: the next one who needs it begins another. */
  #letGo(connection: Connection): void {
    if (!this.#isCurrent(connection)) return;
    this.#giveUp(connection);
    this.#become({ kind: "idle" });
  }

  #lost(connection: Connection, reason: string): void {
    if (!this.#isCurrent(connection)) return;
    this.#giveUp(connection);
    this.#goDown(reason, this.#retry.lost(connection.ageMs));
  }

  #giveUp(connection: Connection): void {
    connection.isRetired = true;
    if (connection.calls === 0) this.#end(connection);
  }

  #end(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    const closed = connection.end();
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
  }

  #goDown(given: string, waitMs: number): void {
    const reason = this.#parts.clean(given);
    this.#parts.log.say("warn", "an MCP server cannot be had", { reason, retryInMs: waitMs });
    this.#become({ kind: "down", reason, retryAtMs: Date.now() + waitMs });
  }

  #become(state: State): void {
    if (this.#state.kind !== "closed") {
      this.#state = state;
      this.#parts.onChange();
    } else if (state.kind === "ready") {
      this.#giveUp(state.connection);
    }
  }

  /** The clock of a connection that nobody uses begins anew. */
  #watchUse(): void {
    const { unusedMs } = this.#parts;
    clearTimeout(this.#unused);
    if (unusedMs === undefined || this.#state.kind !== "ready" || this.#state.connection.calls > 0) return;
    const { connection } = this.#state;
    this.#unused = setTimeout(() => {
      if (connection.calls === 0) this.#letGo(connection);
    }, unusedMs).unref();
  }

  #unavailable(reason: string, cause?: unknown): ToolFailure {
    if (cause instanceof SessionError && (cause.fault.kind === "http" || cause.fault.kind === "protocol"))
      return failureOf({ serverLabel: this.label }, cause);
    const code = cause instanceof SessionError && "code" in cause.fault ? cause.fault.code : "";
    return new ToolFailure(`MCP server ${this.label}: ${reason}`, { kind: "connection_failed", code, cause });
  }
}

/** Why a call failed, without the words around it. */
function causeOf(error: unknown): string {
  const cause = error instanceof ToolFailure ? error.cause : error;
  return cause instanceof Error ? oneLine(cause.message) : "it cannot be had";
}

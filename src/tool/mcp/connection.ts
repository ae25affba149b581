// A session that is open, with what the server offers in it: read with the connection, and again when the server says that it has
// changed. Calls that use it are counted, so that it is closed when nobody does any more.
import { mcpPrefix } from "../policy.js";
import type { ToolOffer } from "../tool-server.js";
import { oneLine } from "../words.js";
import type { ListedTool } from "./listed-tool.js";
import { type MakeTool, makeTool } from "./make-tool.js";
import { readOffer } from "./read-offer.js";
import { Refresh } from "./refresh.js";
import type { ServerLog } from "./server-log.js";
import { type McpSession, type OpenSession, SessionError } from "./session.js";
import type { ServerSettings } from "./settings.js";

export interface ConnectionParts {
  readonly settings: Omit<ServerSettings, "place">;
  readonly open: OpenSession;
  readonly log: ServerLog;
  /** Names that the configuration has a policy for: one of this server's that no tool has is a slip. */
  readonly policyNames?: readonly string[];
  /** Takes secrets out of what the server says. */
  clean(text: string): string;
  /** Its offer is another now. */
  onChange(): void;
}

/** What is done with it from outside. */
export interface ConnectionUse {
  /** Has the server run a tool. */
  readonly call: MakeTool["call"];
  /** It broke. Not called before it is open, nor after its end. */
  onLost(connection: Connection, reason: string): void;
}

interface Opening {
  connection?: Connection;
  isOpen: boolean;
  /** Why it was lost. */
  lost?: string;
  hasChanged: boolean;
}

export class Connection {
  readonly session: McpSession;
  /** Calls that use it. */
  calls = 0;
  /** Replaced, or given up: it is closed when its last call is over. */
  isRetired = false;
  readonly #parts: ConnectionParts;
  readonly #use: ConnectionUse;
  readonly #refresh = new Refresh(() => this.#readAgain());
  readonly #since = performance.now();
  #offer: ToolOffer | undefined;

  /** Rejects with a SessionError, or with the signal's reason, and leaves nothing behind then. */
  static async open(parts: ConnectionParts, use: ConnectionUse, signal: AbortSignal): Promise<Connection> {
    // The server may speak before there is anybody to tell.
    const opening: Opening = { isOpen: false, hasChanged: false };
    const session = await parts.open(
      {
        onLog: (from, text) => parts.log.quote(from, text),
        onToolsChanged: () => {
          opening.hasChanged = true;
          if (opening.connection) opening.connection.#refresh.ask();
        },
        onLost: (reason) => {
          opening.lost = reason;
          if (opening.isOpen) use.onLost(opening.connection!, reason);
        },
      },
      signal,
    );
    const connection = new Connection(session, parts, use);
    opening.connection = connection;
    if (opening.hasChanged) connection.#refresh.ask();
    try {
      connection.#offer = await connection.#read(signal);
      signal.throwIfAborted();
      if (opening.lost !== undefined) throw new SessionError({ kind: "lost" }, opening.lost);
    } catch (error) {
      await connection.end();
      throw error;
    }
    opening.isOpen = true;
    connection.#begin();
    return connection;
  }

  private constructor(session: McpSession, parts: ConnectionParts, use: ConnectionUse) {
    this.session = session;
    this.#parts = parts;
    this.#use = use;
  }

  get offer(): ToolOffer {
    return this.#offer!;
  }

  /** How long it has been there. */
  get ageMs(): number {
    return performance.now() - this.#since;
  }

  /** Resolves when nothing is left of it. Never rejects. */
  end(): Promise<void> {
    this.#refresh.close();
    return this.session.close().catch(() => {});
  }

  #begin(): void {
    const { log, settings, policyNames = [] } = this.#parts;
    const { serverInfo } = this.session;
    log.say("info", "an MCP server is there", { tools: this.offer.tools.length, serverInfo });
    const names = new Set(this.offer.tools.map(({ name }) => name));
    const isOwn = (name: string): boolean => name.startsWith(mcpPrefix(settings.label)) && !name.endsWith("*");
    for (const name of policyNames.filter((name) => isOwn(name) && !names.has(name)))
      log.say("warn", "agent.policy names a tool that an MCP server does not offer", { tool: name });
    this.#refresh.begin();
  }

  #read(signal: AbortSignal): Promise<ToolOffer> {
    const { settings, log, clean } = this.#parts;
    const { label: serverLabel } = settings;
    return readOffer(
      this.session,
      {
        serverLabel,
        clean,
        onLeftOut: (words) => log.sayUnlessTooMany("warn", "a tool of an MCP server cannot be used", { tool: words }),
        makeTool: (name: string, listed: ListedTool) =>
          makeTool({ ...settings, serverLabel, name, listed, call: this.#use.call }),
      },
      signal,
    );
  }

  async #readAgain(): Promise<void> {
    if (this.isRetired) return;
    const { settings, log, onChange } = this.#parts;
    try {
      const offer = await this.#read(AbortSignal.timeout(settings.startTimeoutMs));
      if (Buffer.from(offer.sha256).equals(this.offer.sha256)) return;
      this.#offer = offer;
      log.say("info", "an MCP server has changed its tools", { tools: offer.tools.length });
      onChange();
    } catch (error) {
      const reason = oneLine(error instanceof Error ? error.message : "");
      log.say("warn", "an MCP server has changed its tools, and does not list them", { reason });
    }
  }
}

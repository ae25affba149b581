// All MCP servers: those of the configuration, and those that threads have brought along. Headers of the latter are here and nowhere
// else: they are forgotten with their thread, and with the process.
import { isDeepStrictEqual } from "node:util";
import { HeddleError } from "../../thread/errors.js";
import { Guard } from "../command/guard.js";
import type { ThreadBound } from "../thread-bound.js";
import type { ThreadServer, ThreadWithServers, ToolServer, ToolServers } from "../tool-server.js";
import { bounds } from "./bounds.js";
import { type BroughtServer, checkThreadServers } from "./check-thread-servers.js";
import { cleaned } from "./cleaned.js";
import { McpServer } from "./mcp-server.js";
import { openPlace } from "./open-place.js";
import { secretsOfEnvironment, secretsOfHeaders, secretsOfUrl } from "./secret-values.js";
import { type McpLogger, ServerLog } from "./server-log.js";
import { type OpenSession, SessionError } from "./session.js";
import { defaultLimits, type McpSettings, type Place, type ServerSettings } from "./settings.js";

/** Blanks secrets out, and can be told of more. */
export interface SecretKeeper {
  text(text: string): string;
  /** Returns what lets go of them. */
  hold(secrets: readonly string[]): () => void;
}

export interface McpServersOptions extends McpSettings {
  /** Heddle's own, which servers are told. */
  readonly version: string;
}

/** A connection of a thread that nobody uses for so long is closed. */
const unusedMs = 300_000;

/** Headers that a thread was given before: calls that are under way may still say them back. */
const formerHeaders = 3;

interface OfThread {
  readonly servers: Map<string, { readonly url: string; readonly server: McpServer }>;
  readonly headers: Map<string, Readonly<Record<string, string>>>;
  /** Each lets go of what is secret in the headers that were given at one time, the oldest first. */
  readonly held: readonly (() => void)[];
}

export class McpServers implements ToolServers, ThreadBound {
  readonly #options: McpServersOptions;
  readonly #processes = new Guard();
  readonly #configured: readonly McpServer[];
  /** Those that were used last are at the end. */
  readonly #threads = new Map<string, OfThread>();
  readonly #listeners = new Set<() => void>();
  #logger: McpLogger | undefined;
  #secrets: SecretKeeper = { text: (text) => text, hold: () => () => {} };
  #isClosed = false;

  constructor(options: McpServersOptions) {
    this.#options = options;
    this.#configured = options.servers.map((settings) => this.#server(settings, this.#open(settings.place)));
  }

  /** Before it, nothing is logged, and headers of threads are not known as secrets. */
  reportTo(logger: McpLogger, secrets: SecretKeeper): void {
    this.#logger = logger;
    this.#secrets = secrets;
  }

  /** In the order of the configuration. */
  get configured(): readonly ToolServer[] {
    return this.#configured;
  }

  /** How many stand how, those of threads too. */
  counts(): Readonly<Record<"idle" | "connecting" | "ready" | "down", number>> {
    const counts = { idle: 0, connecting: 0, ready: 0, down: 0 };
    const ofThreads = [...this.#threads.values()].flatMap(({ servers }) => [...servers.values()]);
    for (const { status } of [...this.#configured, ...ofThreads.map(({ server }) => server)]) counts[status.state]++;
    return counts;
  }

  /** Calls back when one of them stands differently. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  forThread({ threadId, servers }: ThreadWithServers): readonly ToolServer[] {
    if (servers.length === 0) return this.#configured;
    return [...this.#configured, ...servers.map((server) => this.#ofThread(threadId, server))];
  }

  check(servers: readonly BroughtServer[], field: string): void {
    if (!this.#options.threadServers)
      throw new HeddleError(
        "mcp_not_allowed",
        "This server takes no MCP servers from its callers (agent.mcp.threadServers)",
      );
    checkThreadServers(servers, { taken: this.#options.servers.map(({ label }) => label), field });
  }

  adopt(threadId: string, servers: readonly BroughtServer[]): void {
    if (servers.length === 0 || this.#isClosed) return;
    const before = this.#threads.get(threadId);
    const changed = servers.filter(({ label, headers }) => !isDeepStrictEqual(headers, before?.headers.get(label)));
    if (before && changed.length === 0) return void this.#keep(threadId, before);
    const headers = new Map(before?.headers);
    for (const server of servers) headers.set(server.label, server.headers);
    const letGo = this.#secrets.hold([
      ...[...headers.values()].flatMap(secretsOfHeaders),
      ...servers.flatMap(({ url }) => secretsOfUrl(url)),
    ]);
    const held = [...(before?.held ?? []), letGo];
    for (const letGoOfOldest of held.splice(0, held.length - 1 - formerHeaders)) letGoOfOldest();
    const kept = new Map(before?.servers);
    for (const { label } of changed) {
      // What it is told to let us in is another now. Calls that are under way end as they began.
      kept.get(label)?.server.retire();
      kept.delete(label);
    }
    this.#keep(threadId, { servers: kept, headers, held });
  }

  async endThread(threadId: string): Promise<void> {
    const found = this.#threads.get(threadId);
    this.#threads.delete(threadId);
    for (const letGo of found?.held ?? []) letGo();
    await Promise.all([...(found?.servers.values() ?? [])].map(({ server }) => server.close()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([
      ...this.#configured.map((server) => server.close()),
      ...[...this.#threads.keys()].map((threadId) => this.endThread(threadId)),
    ]);
  }

  #ofThread(threadId: string, { label, url, hadHeaders }: ThreadServer): McpServer {
    const found: OfThread = this.#threads.get(threadId) ?? { servers: new Map(), headers: new Map(), held: [] };
    this.#keep(threadId, found);
    const known = found.servers.get(label);
    if (known?.url === url) return known.server;
    const headers = found.headers.get(label);
    const settings = { ...defaultLimits, label, policy: undefined, unusedMs };
    const open =
      this.#refusal(hadHeaders && headers === undefined) ??
      this.#open({ kind: "address", url, headers: headers ?? {} }, true);
    const server = this.#server(settings, open);
    found.servers.set(label, { url, server });
    return server;
  }

  /** What is stored with a thread may be older than the configuration and than this process. */
  #refusal(lacksHeaders: boolean): OpenSession | undefined {
    const words = !this.#options.threadServers
      ? "the operator does not allow MCP servers of threads any more (agent.mcp.threadServers)"
      : "its headers were held in memory only, and are gone: call CreateThread again with this thread's id and the headers";
    if (this.#options.threadServers && !lacksHeaders) return undefined;
    return async () => {
      throw new SessionError({ kind: "unreachable", code: "" }, words);
    };
  }

  #keep(threadId: string, found: OfThread): void {
    this.#threads.delete(threadId);
    this.#threads.set(threadId, found);
    for (const oldest of this.#threads.keys()) {
      if (this.#threads.size <= bounds.threads) return;
      void this.endThread(oldest);
    }
  }

  #open(place: Place, isGuarded = false): OpenSession {
    const { version, allowHosts, network } = this.#options;
    const addresses = { allowHosts, ...(network && { network }) };
    return openPlace(place, { processes: this.#processes, version, ...(isGuarded && { addresses }) });
  }

  #server(settings: Omit<ServerSettings, "place"> & { unusedMs?: number }, open: OpenSession): McpServer {
    const clean = (text: string): string => this.#secrets.text(text);
    const log = new ServerLog(settings.label, (level, facts, message) => {
      this.#logger?.[level](cleaned(facts, clean) as object, clean(message));
    });
    const onChange = (): void => {
      for (const listener of [...this.#listeners]) listener();
    };
    const { unusedMs } = settings;
    const { policyNames = [] } = this.#options;
    const parts = { settings, open, log, clean, onChange, policyNames };
    return new McpServer({ ...parts, ...(unusedMs !== undefined && { unusedMs }) });
  }
}

/** What of the configuration must never be stored or logged. */
export const secretsOfPlace = (place: Place): string[] =>
  place.kind === "program"
    ? secretsOfEnvironment(place.env)
    : [...secretsOfHeaders(place.headers), ...secretsOfUrl(place.url)];

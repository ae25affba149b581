// Builds everything from the configuration. The only file that names concrete stores, and that knows who is given to whom.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentParts, createRuns, loadAgent, nobody } from "./compose-agent.js";
import { type AgentConfig, type Config, defaultConfig } from "./config.js";
import { DocumentUploads } from "./document-uploads.js";
import { Documents } from "./documents/documents.js";
import { ExecutorCalls } from "./executor-calls.js";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import { openLmdbLog } from "./log/lmdb.js";
import { createHealth, type Dependencies } from "./projection/connect/health.js";
import { createLane } from "./projection/connect/lane.js";
import { createRecordLane } from "./projection/connect/recorder-service.js";
import { refuse } from "./projection/connect/refuse.js";
import { createRoutes, type RoutesOptions, services } from "./projection/connect/routes.js";
import { createOpenApiDoor } from "./projection/openapi/door.js";
import { createResponsesDoor, isApiPath, refuse as refuseApi } from "./projection/responses/serve.js";
import { Recorder } from "./recorder/recorder.js";
import { Recordings } from "./recorder/recordings.js";
import { recover } from "./recorder/recover.js";
import { storedBodies } from "./response-bodies.js";
import { Responses } from "./responses.js";
import { checkBind } from "./server/bind-policy.js";
import type { Door } from "./server/exchange.js";
import { nodeVersionWarning } from "./server/node-version.js";
import type { Logger } from "./server/options.js";
import { type RunningServer, startServer } from "./server/start-server.js";
import { statusDoor } from "./server/status-door.js";
import { Feeds } from "./stream/feeds.js";
import { Hub } from "./stream/hub.js";
import { HeddleError } from "./thread/errors.js";
import { createRedactor } from "./thread/redact.js";
import { SecretBook } from "./thread/secret-book.js";
import { Threads } from "./threads.js";
import { type McpServers, secretsOfPlace } from "./tool/mcp/mcp-servers.js";
import { ToolCalls } from "./tool-calls.js";
import { ToolOffers } from "./tool-offers.js";

export { listTools } from "./compose-agent.js";
export { announceServer, findServer, holdsData } from "./log/server-address.js";

export interface Heddle {
  readonly url: string;
  /** For a server that stays: does in the background what the first who asks would otherwise wait for. */
  prepare(): void;
  /** Tells every stream, lets requests end, then closes the log. */
  close(): Promise<void>;
}

/** Starts a server. Rejects with a HeddleError that says what to do. */
export async function compose(config: Config, logger: Logger): Promise<Heddle> {
  // Before the data is touched: a setting that is wrong should say so at once.
  checkBind(config.listen.host, { hasTokens: config.tokens.length > 0 });
  const oldNode = nodeVersionWarning();
  if (oldNode) logger.warn({ node: process.version }, oldNode);
  const tls = config.tls && readTls(config.tls);
  const agent = await loadAgent(config.agent, hiddenOf(config));
  const log = await openLmdbLog({ dir: config.dataDir, takeOver: config.takeOver });
  let opened: Documents | undefined;
  try {
    const documents = await openDocuments(config, logger);
    opened = documents;
    agent.documents.searchIn(documents);
    const core = createCore(log, { ...config, secrets: secretsOf(config) }, { agent, logger });
    const uploads = new DocumentUploads(documents);
    const server = await serve(core, config, { tls, logger, documents: { stored: documents, uploads } });
    // Behind the port: a start that cannot bind it must not set runs to work.
    await recoverThreads(core, { log, logger, server });
    const scheme = tls ? "https" : "http";
    return {
      url: `${scheme}://${server.address.includes(":") ? `[${server.address}]` : server.address}:${server.port}`,
      prepare: () => documents.prepare(),
      close: async () => {
        // Runs and what they left running first: whoever follows them sees how they end.
        await core.runs.close();
        agent.journal.close();
        await Promise.all(agent.bound.map((bound) => bound.close()));
        await server.close();
        core.recordings.dispose();
        uploads.close();
        await documents.close();
        await log.close();
      },
    };
  } catch (error) {
    await opened?.close();
    await log.close();
    throw error;
  }
}

/** Contract: the log is open. Its owner record is for the documents too. */
const openDocuments = (config: Config, logger: Logger): Promise<Documents> => {
  const redactor = createRedactor({ secrets: secretsOf(config) });
  return Documents.open({
    dir: join(config.dataDir, "documents"),
    embeddings: config.documents.embeddings,
    redact: (text) => redactor.text(text),
    onProblem: (err) => logger.warn({ err }, "documents are found less well than they could be"),
  });
};

/** What holds secrets: nothing for commands to read. */
const hiddenOf = ({ dataDir, configFile, tls }: Config): readonly string[] =>
  [dataDir, configFile, tls?.keyFile].filter((path) => path !== undefined);

async function recoverThreads(
  { recordings, runs }: Core,
  { log, logger, server }: { log: EventLog; logger: Logger; server: RunningServer },
): Promise<void> {
  try {
    const recovered = await recover(log, recordings);
    if (recovered.threads > 0)
      logger.info(recovered, "looked after threads that were being written when the last process ended");
  } catch (error) {
    await runs.close();
    recordings.dispose();
    await server.close();
    throw error;
  }
}

/** A data directory to look at without a server, also while one owns it. */
export async function readOffline(
  dataDir: string,
): Promise<{ threads: Threads; toolCalls: ToolCalls; close(): Promise<void> }> {
  const log = await openLmdbLog({ dir: dataDir, readOnly: true });
  const timing = { heartbeatMs: 60_000, streamMaxAgeMs: Number.POSITIVE_INFINITY };
  const core = createCore(
    log,
    { secrets: [], timing, agent: defaultConfig.agent },
    { agent: nobody(), logger: silent },
  );
  const close = async (): Promise<void> => {
    core.feeds.close();
    core.recordings.dispose();
    await log.close();
  };
  return { threads: core.threads, toolCalls: core.toolCalls, close };
}

interface CoreConfig {
  readonly secrets: readonly string[];
  readonly timing: { readonly heartbeatMs: number; readonly streamMaxAgeMs: number };
  readonly agent: AgentConfig;
}

/**
 * Keys of providers, of search services and of MCP servers, and the server's own tokens: nothing that a model or a tool says may hold
 * one.
 */
const secretsOf = ({ secrets, tokens, agent: { providers, web, mcp }, documents }: Config): readonly string[] => [
  ...secrets,
  ...tokens.map(({ token }) => token),
  ...[providers.openai.apiKey, providers.anthropic.apiKey, web.search?.key, documents.embeddings?.key].filter(
    (key) => key !== undefined,
  ),
  ...mcp.servers.flatMap(({ place, secrets }) => [...secretsOfPlace(place), ...secrets]),
];

function createCore(log: EventLog, config: CoreConfig, { agent, logger }: { agent: AgentParts; logger: Logger }) {
  const onThreadError = (err: unknown, { threadId }: ThreadKey): void =>
    logger.error({ err, threadId }, "a thread could not be looked after; it is tried again");
  const secrets = new SecretBook(config.secrets);
  agent.mcp.reportTo(logger, secrets);
  const recorder = new Recorder(log, secrets);
  agent.journal.recordWith(recorder, onThreadError);
  const runs = createRuns(config.agent, agent, {
    log,
    recorder,
    onError: (err, { threadId }) =>
      logger.error({ err, threadId }, "a run failed through no fault of its model or tools"),
  });
  agent.subRuns.runWith({ log, recorder, runs, onError: onThreadError });
  const recordings = new Recordings(recorder, {
    onError: onThreadError,
    recoverRun: (key) => runs.recover(key),
    afterRecovery: (key) => responses.finishDeletions(key),
    onEnded: ({ threadId }, ended) =>
      logger.info({ threadId, ...ended }, "a recording was ended, and its open calls completed"),
  });
  const { heartbeatMs, streamMaxAgeMs } = config.timing;
  const feeds = new Feeds(new Hub(log), { heartbeatMs, maxAgeMs: streamMaxAgeMs });
  const threads = new Threads({ log, recorder, recordings, runs, feeds, bound: agent.bound, intake: agent.mcp });
  const toolCalls = new ToolCalls(log, runs);
  const executorCalls = new ExecutorCalls(log, runs.clientCalls);
  const responses = new Responses({ log, runs, threads });
  const bodies = storedBodies(log);
  const offered = async () => ({
    models: [...agent.models.keys()],
    defaultModel: config.agent.model,
    tools: [...agent.supply.tools.names()],
    servers: agent.mcp.configured.map(({ label }) => label),
  });
  const toolOffers = new ToolOffers({ log, offered: runs.supply.offered, lasting: feeds.lasting });
  return {
    recorder,
    recordings,
    runs,
    feeds,
    threads,
    toolCalls,
    executorCalls,
    toolOffers,
    mcp: agent.mcp,
    responses,
    bodies,
    offered,
    onThreadError,
  };
}

type Core = ReturnType<typeof createCore>;

async function serve(
  core: Core,
  config: Config,
  { tls, logger, documents }: { tls: Tls | undefined; logger: Logger; documents: RoutesOptions["documents"] },
): Promise<RunningServer> {
  const shutdown = new AbortController();
  const health = createHealth(services, serversHealth(core.mcp));
  shutdown.signal.addEventListener("abort", () => {
    health.setServing(false);
    core.feeds.close();
  });
  const status = () => ({
    subscriptions: core.feeds.size,
    lastingStreams: core.feeds.lasting.size,
    recordings: core.recordings.active,
    runs: core.runs.active,
    writing: core.recorder.writing,
    ...serverCounts(core.mcp),
  });
  const onUnexpected = (err: unknown): void => logger.error({ err }, "a request failed through no fault of its caller");
  const server: RunningServer = await startServer({
    listen: config.listen,
    limits: config.limits,
    timing: config.timing,
    tokens: config.tokens,
    allowedOrigins: config.allowedOrigins,
    tls,
    logger,
    shutdown,
    doors: [
      statusDoor(() => ({ ...status(), ...server.gauges() })),
      createLane(core.threads, { ...config.limits, onUnexpected }),
      createRecordLane(core.threads, { ...config.limits, onUnexpected }),
      createOpenApiDoor({ hasResponses: config.responses.enabled }),
      ...(config.responses.enabled ? [responsesDoor(core, config, onUnexpected)] : []),
    ],
    fallback: createRoutes({
      threads: core.threads,
      toolCalls: core.toolCalls,
      executorCalls: core.executorCalls,
      toolOffers: core.toolOffers,
      documents,
      health,
      messageBytes: config.limits.messageBytes,
      onUnexpected,
    }),
    reject: (exchange, error) => (isApiPath(exchange.path) ? refuseApi : refuse)(exchange, error),
  });
  return server;
}

/** One that nobody has needed is neither there nor away. */
const serversHealth = (mcp: McpServers): Dependencies => ({
  statuses: () =>
    new Map(
      mcp.configured.map(({ label, status: { state } }) => [
        `mcp/${label}`,
        state === "ready" ? true : state === "down" ? false : undefined,
      ]),
    ),
  onChange: (listener) => void mcp.onChange(listener),
});

function serverCounts(mcp: McpServers): Record<string, number> {
  const { idle, connecting, ready, down } = mcp.counts();
  return { mcpIdle: idle, mcpConnecting: connecting, mcpReady: ready, mcpDown: down };
}

const responsesDoor = (core: Core, config: Config, onUnexpected: (error: unknown) => void): Door =>
  createResponsesDoor({
    responses: core.responses,
    bodies: core.bodies,
    offered: core.offered,
    builtIn: config.responses.builtInTools,
    messageBytes: config.limits.messageBytes,
    heartbeatMs: config.timing.heartbeatMs,
    onUnexpected,
  });

interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

function readTls({ certFile, keyFile }: { certFile: string; keyFile: string }): Tls {
  const read = (path: string, field: string): Buffer => {
    try {
      return readFileSync(path);
    } catch (cause) {
      throw new HeddleError(
        "invalid_config",
        `${field}: cannot read ${path}. Give the path of a PEM file that this user may read`,
        {
          detail: { field },
          cause,
        },
      );
    }
  };
  return { cert: read(certFile, "tls.certFile"), key: read(keyFile, "tls.keyFile") };
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

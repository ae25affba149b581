// Builds a server from its configuration, and takes it down. The only file that names a concrete store; compose-*.ts know who is given to
// whom.
import { join } from "node:path";
import { loadAgent, nobody } from "./compose-agent.js";
import { type Core, createCore } from "./compose-core.js";
import { readTls, serve } from "./compose-server.js";
import { type Config, defaultConfig } from "./config.js";
import { DocumentUploads } from "./document-uploads.js";
import { Documents } from "./documents/documents.js";
import type { EventLog } from "./log/event-log.js";
import { openLmdbLog } from "./log/lmdb.js";
import { recover } from "./recorder/recover.js";
import { checkBind } from "./server/bind-policy.js";
import { nodeVersionWarning } from "./server/node-version.js";
import type { Logger } from "./server/options.js";
import type { RunningServer } from "./server/start-server.js";
import { createRedactor } from "./thread/redact.js";
import type { Threads } from "./threads.js";
import { secretsOfPlace } from "./tool/mcp/mcp-servers.js";
import type { ToolCalls } from "./tool-calls.js";

export { listTools } from "./compose-agent.js";
export { isHeard } from "./log/owner-socket.js";
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

/**
 * Keys of providers, of search services and of MCP servers, and the server's own tokens: nothing that a model or a tool says may hold
 * one.
 */
export const secretsOf = ({
  secrets,
  tokens,
  agent: { providers, web, mcp },
  documents,
}: Config): readonly string[] => [
  ...secrets,
  ...tokens.map(({ token }) => token),
  ...[providers.openai.apiKey, providers.anthropic.apiKey, web.search?.key, documents.embeddings?.key].filter(
    (key) => key !== undefined,
  ),
  ...mcp.servers.flatMap(({ place, secrets }) => [...secretsOfPlace(place), ...secrets]),
];

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

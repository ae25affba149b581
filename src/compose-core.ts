// The inside of a server upon a log: who records, who runs, who feeds, and the verbs that doors use.
import { type AgentParts, createRuns } from "./compose-agent.js";
import type { AgentConfig } from "./config.js";
import { ExecutorCalls } from "./executor-calls.js";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import { Recorder } from "./recorder/recorder.js";
import { Recordings } from "./recorder/recordings.js";
import { storedBodies } from "./response-bodies.js";
import { Responses } from "./responses.js";
import type { Logger } from "./server/options.js";
import { Feeds } from "./stream/feeds.js";
import { Hub } from "./stream/hub.js";
import { SecretBook } from "./thread/secret-book.js";
import { Threads } from "./threads.js";
import { ToolCalls } from "./tool-calls.js";
import { ToolOffers } from "./tool-offers.js";

interface CoreConfig {
  readonly secrets: readonly string[];
  readonly timing: { readonly heartbeatMs: number; readonly streamMaxAgeMs: number };
  readonly agent: AgentConfig;
}

/** The inside of a server: everything but its port. */
export function createCore(
  log: EventLog,
  config: CoreConfig,
  { agent, logger }: { agent: AgentParts; logger: Logger },
) {
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

export type Core = ReturnType<typeof createCore>;

// The outside of a server: its doors, what they say of it, and its port.
import { readFileSync } from "node:fs";
import type { Core } from "./compose-core.js";
import type { Config } from "./config.js";
import { createHealth, type Dependencies } from "./projection/connect/health.js";
import { createLane } from "./projection/connect/lane.js";
import { createRecordLane } from "./projection/connect/recorder-service.js";
import { refuse } from "./projection/connect/refuse.js";
import { createRoutes, type RoutesOptions, services } from "./projection/connect/routes.js";
import { createOpenApiDoor } from "./projection/openapi/door.js";
import { createResponsesDoor, isApiPath, refuse as refuseApi } from "./projection/responses/serve.js";
import type { Door } from "./server/exchange.js";
import type { Logger } from "./server/options.js";
import { type RunningServer, startServer } from "./server/start-server.js";
import { statusDoor } from "./server/status-door.js";
import { HeddleError } from "./thread/errors.js";
import type { McpServers } from "./tool/mcp/mcp-servers.js";

/** The doors of a server, and its port. */
export async function serve(
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
    doorMethods: config.responses.enabled ? ["DELETE"] : [],
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

export interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws `invalid_config`. */
export function readTls({ certFile, keyFile }: { certFile: string; keyFile: string }): Tls {
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

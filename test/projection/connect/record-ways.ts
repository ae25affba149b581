// RecordEvents over both ways that serve it: two servers upon one core, one with the lane in front and one without.
import { createHealth } from "../../../src/projection/connect/health.js";
import { createRecordLane } from "../../../src/projection/connect/recorder-service.js";
import { refuse } from "../../../src/projection/connect/refuse.js";
import { createRoutes, services } from "../../../src/projection/connect/routes.js";
import type { Door } from "../../../src/server/exchange.js";
import type { RequestHandler } from "../../../src/server/options.js";
import { startTestServer } from "../../server/support.js";
import { type Core, openCore } from "../../support/core.js";

export const messageBytes = 256 * 1024;

export interface Ways extends AsyncDisposable {
  readonly core: Core;
  readonly lane: string;
  readonly handler: string;
  /** How many requests each of the lane's server's two ways has taken. */
  readonly taken: { lane: number; handler: number };
  /** What whoever runs the servers was told. */
  readonly unexpected: readonly unknown[];
}

export async function startWays(): Promise<Ways> {
  const core = openCore();
  const unexpected: unknown[] = [];
  const taken = { lane: 0, handler: 0 };
  const options = { messageBytes, onUnexpected: (error: unknown) => void unexpected.push(error) };
  const none = undefined as never; // No call of these suites is about documents.
  const routes = createRoutes({
    ...options,
    threads: core.threads,
    toolCalls: core.toolCalls,
    executorCalls: core.executorCalls,
    toolOffers: core.toolOffers,
    documents: { stored: none, uploads: none },
    health: createHealth(services),
  });
  const lane = createRecordLane(core.threads, options);
  const counted: Door = (exchange) => {
    const takes = lane(exchange);
    if (takes) taken.lane++;
    return takes;
  };
  const fallback: RequestHandler = (...given) => {
    taken.handler++;
    return routes(...given);
  };
  const withLane = await startTestServer({ doors: [counted], fallback, reject: refuse });
  const without = await startTestServer({ fallback: routes, reject: refuse });
  return {
    core,
    lane: withLane.url,
    handler: without.url,
    taken,
    unexpected,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([withLane.close({ drainMs: 0 }), without.close({ drainMs: 0 })]);
      core.feeds.close();
      core.recordings.dispose();
    },
  };
}

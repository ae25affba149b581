// A server whose recorder is called from inside its process: an append without a producer's request in front of it.
// Arguments: the data directory.
import { setTimeout as sleep } from "node:timers/promises";
import { defaultConfig } from "../../src/config.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { createLane } from "../../src/projection/connect/lane.js";
import { refuse } from "../../src/projection/connect/refuse.js";
import { startServer } from "../../src/server/start-server.js";
import { openCore } from "../../test/support/core.js";
import { answerAsks } from "../support/ask.js";
import type { Pace } from "../support/pace.js";
import { openOutputProducer } from "../support/recorded-append.js";
import { sharedNowMs } from "../support/statistics.js";

const [dir] = process.argv.slice(2) as [string];
const core = openCore({ log: await openLmdbLog({ dir }) });
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const { limits, timing } = defaultConfig;
const server = await startServer({
  limits,
  timing,
  tokens: [],
  allowedOrigins: [],
  listen: { host: "127.0.0.1", port: 0 },
  logger: silent,
  doors: [createLane(core.threads, limits)],
  fallback: (_request, response) => response.end(),
  reject: refuse,
});
const producer = await openOutputProducer(core);

const asks = {
  open: () => ({ port: server.port, threadId: producer.threadId, head: producer.head }),
  produce: async ({ batches, intervalMs }: Pace) => {
    const sentMs = new Float64Array(batches);
    for (let batch = 0; batch < batches; batch++) {
      const due = sleep(intervalMs);
      sentMs[batch] = sharedNowMs();
      await producer.record();
      await due;
    }
    return sentMs;
  },
};

export type InsideAsks = typeof asks;
answerAsks(asks);

// A server whose recorder is called from inside its process: an append without a producer's request in front of it.
// Arguments: the data directory.
import { setTimeout as sleep } from "node:timers/promises";
import { defaultConfig } from "../../src/config.js";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore } from "../support/built.js";
import type { Pace } from "../support/pace.js";
import { openOutputProducer } from "../support/recorded-append.js";
import { sharedNowMs } from "../support/statistics.js";

const [dir] = process.argv.slice(2) as [string];
const { createLane } = await load<typeof import("../../src/projection/connect/lane.js")>("projection/connect/lane.js");
const { refuse } = await load<typeof import("../../src/projection/connect/refuse.js")>("projection/connect/refuse.js");
const { startServer } = await load<typeof import("../../src/server/start-server.js")>("server/start-server.js");
const core = await openBuiltCore(dir);
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const { limits, timing } = defaultConfig;
const server = await startServer({
  limits,
  timing,
  tokens: [],
  allowedOrigins: [],
  listen: { host: "127.0.0.1", port: 0 },
  logger: silent,
  doors: [createLane(core.threads, { ...limits, onUnexpected: () => {} })],
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

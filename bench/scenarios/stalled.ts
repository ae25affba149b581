// A thread that produces 100 MB while 50 subscribers have stopped reading and 4 have not: how far the server's memory
// grows, and what the fast ones notice (from RecordEvents to the arrival of the batch's last event, p50), beside runs
// without the stalled ones. Every run has a new server.
import { type Bench, interleaved, type Scenario } from "../scenario.js";
import { anonymousBytes, peakWhile } from "../support/memory.js";
import type { Pace } from "../support/pace.js";
import { atMost, mebibytes, millis, within } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { ProducerAsks } from "../workers/producer.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

const rounds = 3;
const stalledStreams = 50;
const fastStreams = 4;
/** What the protocol grants a stream unless a client says otherwise. */
const stalledWindowBytes = 65_535;
const textBytes = 16 * 1024;
const pace: Pace = { batches: 800, batchEvents: 8, intervalMs: 0 };
const growthLimitBytes = 64e6;

export const stalled: Scenario = {
  name: "stalled",
  about: "50 stalled subscribers on a thread that produces 100 MB: memory, and what the others notice",
  async run(bench) {
    const used = bench.quick ? { ...pace, batches: pace.batches / 16 } : pace;
    const growths: Record<"without" | "with", number[]> = { without: [], with: [] };
    const measure = (stalls: "without" | "with") => async () => {
      const { growth, latencyMs } = await produce(bench, used, stalls === "with" ? stalledStreams : 0);
      growths[stalls].push(growth);
      bench.progress(`stalled, ${stalls}: grew by ${mebibytes(growth)}, p50 ${millis(latencyMs)}`);
      return latencyMs;
    };
    const measured = await interleaved(bench.quick ? 1 : rounds, {
      without: measure("without"),
      with: measure("with"),
    });
    const peers = `without stalled ones: ${mebibytes(median(growths.without))}`;
    return [
      within("50 stalled subscribers, 100 MB: memory grows by", median(growths.with), {
        at: growthLimitBytes,
        show: mebibytes,
        peers,
      }),
      atMost({
        figure: "50 stalled subscribers: the fast ones' p50",
        heddle: measured.with,
        peer: { name: "without stalled ones", values: measured.without },
        times: 1.5,
        show: millis,
      }),
    ];
  },
};

async function produce(
  { workspace }: Bench,
  used: Pace,
  stalls: number,
): Promise<{ growth: number; latencyMs: number }> {
  const server = await workspace.heddle(workspace.directory());
  const producer = await workspace.worker<ProducerAsks>("producer.ts");
  const { threadId, head } = await producer.ask("open", server.port);
  const to = { port: server.port, threadIds: [threadId], afterSequence: head };
  const fast = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await fast.ask("open", { ...to, connections: fastStreams, streams: fastStreams, timed: true });
  const slow = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await slow.ask("open", {
    ...to,
    connections: Math.ceil(stalls / 5),
    streams: stalls,
    windowBytes: stalledWindowBytes,
  });
  await slow.ask("stall", undefined);

  const before = anonymousBytes(server.pid);
  const { peak, result: sent } = await peakWhile(server.pid, async () => {
    const received = fast.ask("received", fastStreams * used.batches * used.batchEvents);
    const [sentMs] = await Promise.all([producer.ask("produce", { ...used, textBytes }), received]);
    return sentMs;
  });
  const arrivals = await fast.ask("arrivals", undefined);
  for (const { stop } of [fast, slow, producer, server]) await stop();
  return { growth: peak - before, latencyMs: median(latencies(sent, arrivals, used.batchEvents)) };
}

/** From the sending of a batch to the arrival of its last event, at every subscriber. */
const latencies = (sent: Float64Array, arrivals: readonly Float64Array[], batchEvents: number): number[] =>
  arrivals.flatMap((arrived) => [...sent].map((at, batch) => arrived[(batch + 1) * batchEvents - 1]! - at));

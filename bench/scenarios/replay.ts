// A thread of 100,000 events, read from its beginning by one subscriber that counts bytes, over loopback gRPC; beside a
// bare LMDB scan over the same segments that counts bytes too, in its own process and without any network. Raw HTTP/2 that
// sends the same bytes out of memory shows what the network alone lets through.
import { endOf, threadKey } from "../../src/log/lmdb-keys.js";
import type { ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { type Bench, interleaved, type Scenario } from "../scenario.js";
import { type FilledThread, fillThreads } from "../support/fill-thread.js";
import { anonymousBytes, peakWhile } from "../support/memory.js";
import { atLeast, mebibytes, noted, perSecond, type Row, within } from "../support/rows.js";
import type { Running, RunningServer } from "../support/workspace.js";
import type { ReplayAsks } from "../workers/replay-server.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

const rounds = 7;
const longEvents = 100_000;
const shortParts = 10;
/** What a collector's mood may add. Were the thread held in memory, 100,000 events would add 25 MiB and more. */
const toleratedBytes = 8 * 2 ** 20;

export const replay: Scenario = {
  name: "replay",
  about: "a thread of 100,000 events to one subscriber: events a second, and the server's memory",
  async run(bench) {
    const events = bench.quick ? longEvents / 10 : longEvents;
    const dir = bench.workspace.directory();
    bench.progress("replay: making the threads");
    const [single, batched, short] = await fillThreads(dir, [
      { events, batchEvents: 1 },
      { events, batchEvents: 100 },
      { events: events / shortParts, batchEvents: 1 },
    ]);
    const server = await bench.workspace.heddle(dir);
    const subscriber = await bench.workspace.worker<SubscriberAsks>("subscribers.ts");
    const transport = await bench.workspace.worker<ReplayAsks>("replay-server.ts", [single!.threadId, String(events)]);
    const place = { server, subscriber, dir, transportPort: await transport.ask("port", undefined) };
    return [
      ...(await compareRates(bench, place, { single: single!, batched: batched! })),
      await compareMemory(bench, place, { long: single!, short: short! }),
    ];
  },
};

interface Place {
  readonly server: RunningServer;
  readonly subscriber: Running<SubscriberAsks>;
  readonly dir: string;
  /** Of the server that has the same frames in memory. */
  readonly transportPort: number;
}

async function compareRates(
  bench: Bench,
  place: Place,
  threads: { single: FilledThread; batched: FilledThread },
): Promise<Row[]> {
  const raw = new RawLmdb(place.dir, { readOnly: true });
  const measures = {
    single: () => replayRate(place, threads.single),
    scanSingle: async () => scanRate(raw, threads.single),
    batched: () => replayRate(place, threads.batched),
    scanBatched: async () => scanRate(raw, threads.batched),
    transport: () => replayRate(place, threads.batched, place.transportPort),
  };
  await interleaved(1, measures); // To warm up.
  const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
    const texts = Object.entries(values).map(([name, value]) => `${name} ${perSecond(value)}`);
    bench.progress(`replay, round ${round}: ${texts.join(", ")}`);
  });
  await raw.close();
  const single = { figure: "replay, recorded one by one", heddle: measured.single, show: perSecond };
  const batched = { figure: "replay, recorded 100 at a time", heddle: measured.batched, show: perSecond };
  const scan = (values: readonly number[]) => ({ name: "raw lmdb scan", values });
  const transport = { name: "raw-http2 out of memory", values: measured.transport };
  return [
    atLeast({ ...single, peer: scan(measured.scanSingle), times: 0.5 }),
    atLeast({ ...batched, peer: scan(measured.scanBatched), times: 0.5 }),
    noted({ ...single, peer: transport }),
    noted({ ...batched, peer: transport }),
  ];
}

async function replayRate(
  { server, subscriber }: Place,
  { threadId, events }: FilledThread,
  port = server.port,
): Promise<number> {
  const read = await subscriber.ask("replay", { port, threadId });
  if (read.events !== events) throw new Error(`A replay of ${events} events came to ${read.events}`);
  return events / (read.ms / 1000);
}

function scanRate(raw: RawLmdb, { threadId, events, batchEvents, frameBytes }: FilledThread): number {
  const thread = threadKey({ tenant: "default", threadId: threadId as ThreadId });
  const startedAt = performance.now();
  const { entries, bytes } = raw.scan("events", { start: thread, end: endOf(thread) });
  const ms = performance.now() - startedAt;
  if (entries !== events / batchEvents || bytes < frameBytes)
    throw new Error(`A scan of ${events} events came to ${entries} entries`);
  return events / (ms / 1000);
}

/** Both read the same number of events, so that both leave the same garbage: only the thread's length differs. */
async function compareMemory(
  bench: Bench,
  place: Place,
  threads: { long: FilledThread; short: FilledThread },
): Promise<Row> {
  const { pid } = place.server;
  const growth = async (thread: FilledThread, times: number): Promise<number> => {
    const before = anonymousBytes(pid);
    const { peak } = await peakWhile(pid, async () => {
      for (let time = 0; time < times; time++) await replayRate(place, thread);
    });
    return peak - before;
  };
  const short = await growth(threads.short, shortParts);
  const long = await growth(threads.long, 1);
  bench.progress(`replay, memory: ${mebibytes(short)} and ${mebibytes(long)} more at their peaks`);
  return within(
    `replay of ${threads.long.events} events: more memory than ${shortParts} × ${threads.short.events}`,
    Math.max(0, long - short),
    {
      at: toleratedBytes,
      show: mebibytes,
      peers: `${mebibytes(long)} against ${mebibytes(short)}`,
    },
  );
}

// From the moment an event is given to the log, to the recorder in the server's process, or to RecorderService, until a live
// subscriber has it over loopback gRPC; beside one flushed commit of the same puts by bare LMDB.
import { setTimeout as sleep } from "node:timers/promises";
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { interleaved, type Scenario } from "../scenario.js";
import type { Pace } from "../support/pace.js";
import { capturedAppend, putsOf } from "../support/recorded-append.js";
import { atMost, millis, noted } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { Workspace } from "../support/workspace.js";
import type { ProducerAsks } from "../workers/producer.js";
import type { InsideAsks } from "../workers/recorder-inside.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

const rounds = 7;
const pace: Pace = { batches: 100, batchEvents: 1, intervalMs: 4 };
const warmUp: Pace = { batches: 1500, batchEvents: 1, intervalMs: 1 };

export const latency: Scenario = {
  name: "latency",
  about: "from an append to its delivery, one event at a time",
  async run(bench) {
    const used = bench.quick ? { ...pace, batches: 10 } : pace;
    const { recorder, append } = await insideSubjects(bench.workspace);
    const overGrpc = await grpcSubject(bench.workspace);
    const commit = await commitSubject(bench.workspace);
    for (const measure of [append, overGrpc, commit.measure]) await measure(bench.quick ? used : warmUp);
    const measures = {
      append: () => append(used),
      recorder: () => recorder(used),
      overGrpc: () => overGrpc(used),
      commit: () => commit.measure(used),
    };
    const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
      const texts = Object.entries(values).map(([name, value]) => `${name} ${millis(value)}`);
      bench.progress(`latency, round ${round}: ${texts.join(", ")}`);
    });
    await commit.close();
    const peer = { name: "raw lmdb, one flushed commit", values: measured.commit };
    return [
      atMost({ figure: "append → delivered, p50", heddle: measured.append, peer, times: 2, show: millis }),
      atMost({ figure: "recorder → delivered, p50", heddle: measured.recorder, peer, times: 2, show: millis }),
      noted({ figure: "RecordEvents → delivered, p50", heddle: measured.overGrpc, peer, show: millis }),
    ];
  },
};

type Measure = (pace: Pace) => Promise<number>;

async function insideSubjects(workspace: Workspace): Promise<Record<"recorder" | "append", Measure>> {
  const server = await workspace.worker<InsideAsks>("recorder-inside.ts", [workspace.directory()]);
  const opened = await server.ask("open", undefined);
  const measure = await delivered(workspace, opened);
  return {
    recorder: measure((used) => server.ask("produce", { ...used, since: "recorder" })),
    append: measure((used) => server.ask("produce", { ...used, since: "append" })),
  };
}

async function grpcSubject(workspace: Workspace): Promise<Measure> {
  const { port } = await workspace.heddle(workspace.directory());
  const producer = await workspace.worker<ProducerAsks>("producer.ts");
  const opened = await producer.ask("open", port);
  const measure = await delivered(workspace, { port, ...opened });
  return measure((used) => producer.ask("produce", used));
}

/** One subscriber, for ways to produce that answer when each event was sent. */
async function delivered(
  workspace: Workspace,
  thread: { port: number; threadId: string; head: bigint },
): Promise<(produce: (pace: Pace) => Promise<Float64Array>) => Measure> {
  const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  const { port, threadId, head } = thread;
  await subscribers.ask("open", {
    port,
    threadIds: [threadId],
    connections: 1,
    streams: 1,
    afterSequence: head,
    timed: true,
  });
  return (produce) => async (used) => {
    await subscribers.ask("reset", undefined);
    const [sent] = await Promise.all([produce(used), subscribers.ask("received", used.batches)]);
    const [arrived] = await subscribers.ask("arrivals", undefined);
    return median([...arrived!].map((at, index) => at - sent[index]!));
  };
}

async function commitSubject(workspace: Workspace): Promise<{ measure: Measure; close(): Promise<void> }> {
  const batch = await capturedAppend(workspace.directory());
  const raw = new RawLmdb(workspace.directory());
  const key = { tenant: "default", threadId: newId<ThreadId>() };
  let head = 0n;
  const measure: Measure = async ({ batches, intervalMs }) => {
    const took: number[] = [];
    for (let count = 0; count < batches; count++) {
      const due = sleep(intervalMs);
      const puts = putsOf(key, head++, batch);
      const startedAt = performance.now();
      await raw.put(puts);
      took.push(performance.now() - startedAt);
      await due;
    }
    return median(took);
  };
  return { measure, close: () => raw.close() };
}

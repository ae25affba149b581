// Durable appends a second, 256 threads with one in flight each, in one process. Three subjects do the same work:
//   recorder   Recordings.record: lease, transition check, redaction, encoding, then the append (RecordEvents without HTTP)
//   log        EventLog.append with the batch that the recorder makes: one event and the thread's document
//   raw lmdb   the same puts, keys and values of the same bytes, flushed
import type { AppendBatch } from "../../src/log/event-log.js";
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { interleaved, type Scenario } from "../scenario.js";
import { openBuiltCore } from "../support/built.js";
import { capturedAppend, openOutputProducer, putsOf } from "../support/recorded-append.js";
import { atLeast, noted, perSecond } from "../support/rows.js";

const inFlight = 256;
const rounds = 7;
/** Of every thread, in each round. */
const appends = 80;

export const append: Scenario = {
  name: "append",
  about: "durable appends a second with 256 in flight",
  async run({ workspace, quick, progress }) {
    const perRound = quick ? 4 : appends;
    const batch = await capturedAppend(workspace.directory());
    const recorder = await recorderSubject(workspace.directory());
    const log = await logSubject(workspace.directory(), batch);
    const raw = await rawSubject(workspace.directory(), batch);
    const measures = {
      recorder: () => rate(recorder.lanes, perRound),
      log: () => rate(log.lanes, perRound),
      raw: () => rate(raw.lanes, perRound),
    };
    await interleaved(1, measures); // To warm up.
    const measured = await interleaved(quick ? 1 : rounds, measures, (round, values) => {
      const texts = Object.entries(values).map(([name, value]) => `${name} ${perSecond(value)}`);
      progress(`append, round ${round}: ${texts.join(", ")}`);
    });
    for (const { close } of [recorder, log, raw]) await close();
    const puts = putsOf(someThread(), 0n, batch);
    const bytes = puts.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    const peer = { name: `raw lmdb, ${puts.length} puts of ${bytes} bytes together`, values: measured.raw };
    return [
      atLeast({ figure: "durable append, 256 in flight", heddle: measured.log, peer, times: 0.6, show: perSecond }),
      noted({ figure: "the same behind the recorder", heddle: measured.recorder, peer, show: perSecond }),
    ];
  },
};

/** One thread's next append. */
type Lane = () => Promise<unknown>;

async function rate(lanes: readonly Lane[], perLane: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    lanes.map(async (next) => {
      for (let count = 0; count < perLane; count++) await next();
    }),
  );
  return (lanes.length * perLane) / ((performance.now() - startedAt) / 1000);
}

async function recorderSubject(dir: string) {
  const core = await openBuiltCore(dir);
  const producers = await Promise.all(Array.from({ length: inFlight }, () => openOutputProducer(core)));
  return { lanes: producers.map(({ record }) => record), close: core.close };
}

async function logSubject(dir: string, batch: AppendBatch) {
  const { log, close } = await openBuiltCore(dir);
  const lanes = await Promise.all(
    Array.from({ length: inFlight }, async (): Promise<Lane> => {
      const key = someThread();
      let head = 0n;
      await log.create(key, batch.document!);
      return async () => {
        head = await log.append(key, head, batch);
      };
    }),
  );
  return { lanes, close };
}

async function rawSubject(dir: string, batch: AppendBatch) {
  const raw = new RawLmdb(dir);
  const lanes = Array.from({ length: inFlight }, (): Lane => {
    const key = someThread();
    const puts = putsOf(key, 0n, batch);
    let head = 0n;
    return () => {
      head++;
      return raw.put(puts.map((put) => (put.table === "events" ? { ...put, key: nextKey(put.key, head) } : put)));
    };
  });
  return { lanes, close: () => raw.close() };
}

/** The same key with another sequence at its end. */
function nextKey(key: Buffer, sequence: bigint): Buffer {
  const next = Buffer.from(key);
  next.writeBigUInt64BE(sequence, next.length - 8);
  return next;
}

const someThread = () => ({ tenant: "default", threadId: newId<ThreadId>() });

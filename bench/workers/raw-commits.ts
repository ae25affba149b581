// The bare commits of a run: the puts that the engine's appends come to, made by LMDB with nothing around it, each flushed
// before the next. Arguments: two data directories, one to record a run in, one for the commits.
import { join } from "node:path";
import type { Operation } from "../../src/log/commit-queue.js";
import type { AppendBatch } from "../../src/log/event-log.js";
import { newId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { answerAsks } from "../support/ask.js";
import { openBuiltCore, wire } from "../support/built.js";
import {
  AppendsUnderWay,
  busyModel,
  CallsOfRun,
  type CallsTook,
  nothingTool,
  sendWork,
  type Work,
} from "../support/engine.js";
import { putsOfAppends, watchAppends } from "../support/recorded-append.js";
import { stopwatch } from "../support/stopwatch.js";

const [recordedDir, rawDir] = process.argv.slice(2) as [string, string];
const raw = new RawLmdb(rawDir);

const asks = {
  /** Records a run, and remembers its appends. How many they are. */
  prepare: async (work: Work): Promise<number> => {
    const run = await recordedRun(work);
    runs.set(work.says, run);
    return run.appends.length;
  },
  /** The same commits again, for so many new threads at once. Of several runs, with their beginnings and ends. */
  commit: async ({ runs: count, says }: { runs: number; says: Work["says"] }): Promise<CallsTook> => {
    const { work, appends, asked } = runs.get(says)!;
    const threads = Array.from({ length: count }, () => putsOfAppends(appends));
    if (count === 1) {
      const ofRun = new CallsOfRun(work);
      await commitAll(threads[0]!, (begun) => asked.has(begun) && ofRun.asked(asked.get(begun)!));
      return ofRun.took;
    }
    const read = stopwatch();
    await Promise.all(threads.map((groups) => commitAll(groups)));
    return { ...read(), calls: count * work.calls };
  },
};

interface RecordedRun {
  readonly work: Work;
  readonly appends: readonly AppendBatch[];
  /** How many calls the model was asked behind when so many appends had begun. */
  readonly asked: ReadonlyMap<number, number>;
}

const runs = new Map<Work["says"], RecordedRun>();
export type RawCommitsAsks = typeof asks;
answerAsks(asks);

/** One after the other. `onNext`: so many have begun. */
async function commitAll(groups: readonly Operation[][], onNext?: (begun: number) => void): Promise<void> {
  for (const [begun, group] of groups.entries()) {
    onNext?.(begun);
    await raw.put(group);
  }
}

async function recordedRun(work: Work): Promise<RecordedRun> {
  const { log } = await openBuiltCore(join(recordedDir, newId()));
  const recorded: AppendBatch[] = [];
  const asked = new Map<number, number>();
  const appends = new AppendsUnderWay();
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const watched = watchAppends(log, (batch) => {
    recorded.push(batch);
    if (batch.busy === false) end();
    return appends.begun();
  });
  const core = await wire(watched, {
    model: busyModel(appends.settled, (behind) => asked.set(recorded.length, behind)),
    tools: [nothingTool],
  });
  const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
  await sendWork(core, threadId, work);
  await ended;
  await core.close();
  return { work, appends: recorded, asked };
}

// The bare commits of a run: the puts that the engine's appends come to, made by LMDB with nothing around it, each flushed
// before the next. Arguments: two data directories, one to record a run in, one for the commits.
import { join } from "node:path";
import type { AppendBatch } from "../../src/log/event-log.js";
import { newId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { answerAsks } from "../support/ask.js";
import { openBuiltCore, wire } from "../support/built.js";
import { AppendsUnderWay, busyModel, nothingTool, sendWork, type Work } from "../support/engine.js";
import { putsOfAppends, watchAppends } from "../support/recorded-append.js";

const [recordedDir, rawDir] = process.argv.slice(2) as [string, string];
const raw = new RawLmdb(rawDir);

const asks = {
  /** Records a run, and remembers its appends. How many they are. */
  prepare: async (work: Work): Promise<number> => {
    const recorded = await recordedAppends(work);
    batches.set(work.says, recorded);
    return recorded.length;
  },
  /** The same commits again, for so many new threads at once. How long they took. */
  commit: async ({ runs, says }: { runs: number; says: Work["says"] }): Promise<number> => {
    const threads = Array.from({ length: runs }, () => putsOfAppends(batches.get(says)!));
    const startedAt = performance.now();
    const commits = threads.map(async (groups) => {
      for (const group of groups) await raw.put(group);
    });
    await Promise.all(commits);
    return performance.now() - startedAt;
  },
};

const batches = new Map<Work["says"], readonly AppendBatch[]>();
export type RawCommitsAsks = typeof asks;
answerAsks(asks);

async function recordedAppends(work: Work): Promise<readonly AppendBatch[]> {
  const { log } = await openBuiltCore(join(recordedDir, newId()));
  const recorded: AppendBatch[] = [];
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
  const core = await wire(watched, { model: busyModel(appends.settled), tools: [nothingTool] });
  const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
  await sendWork(core, threadId, work);
  await ended;
  await core.close();
  return recorded;
}

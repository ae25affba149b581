// The bare commits of a run: the puts that the engine's appends come to, made by LMDB with nothing around it, each flushed
// before the next. Arguments: two data directories, one to record a run in, one for the commits.
import type { AppendBatch } from "../../src/log/event-log.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { answerAsks } from "../support/ask.js";
import { openBuiltCore, wire } from "../support/built.js";
import { busyModel, nothingTool, runCalls } from "../support/engine.js";
import { putsOfAppends, watchAppends } from "../support/recorded-append.js";

const [recordedDir, rawDir] = process.argv.slice(2) as [string, string];
const raw = new RawLmdb(rawDir);

const asks = {
  /** Records a run of so many calls, and remembers its appends. How many they are. */
  prepare: async (calls: number): Promise<number> => {
    batches = await recordedAppends(calls);
    return batches.length;
  },
  /** The same commits again, for so many new threads at once. How long they took. */
  commit: async (runs: number): Promise<number> => {
    const threads = Array.from({ length: runs }, () => putsOfAppends(batches));
    const startedAt = performance.now();
    const commits = threads.map(async (groups) => {
      for (const group of groups) await raw.put(group);
    });
    await Promise.all(commits);
    return performance.now() - startedAt;
  },
};

let batches: readonly AppendBatch[] = [];
export type RawCommitsAsks = typeof asks;
answerAsks(asks);

async function recordedAppends(calls: number): Promise<readonly AppendBatch[]> {
  const { log } = await openBuiltCore(recordedDir);
  const appends: AppendBatch[] = [];
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const watched = watchAppends(log, (batch) => {
    appends.push(batch);
    if (batch.busy === false) end();
  });
  const core = await wire(watched, { model: busyModel(), tools: [nothingTool] });
  const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
  await runCalls(core, { threadId, calls, ended });
  await core.close();
  return appends;
}

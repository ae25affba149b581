// The bare commits of a run: the puts that the engine's appends come to, made by LMDB with nothing around it, each flushed
// before the next. The same model is asked, and what it says is heard between the same commits: what a model takes is no part of
// what Heddle adds. Arguments: two data directories, one to record a run in, one for the commits.
import { join } from "node:path";
import type { Operation } from "../../src/log/commit-queue.js";
import type { AppendBatch } from "../../src/log/event-log.js";
import type { Model, ModelEvent, ModelMessage } from "../../src/model/model.js";
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
    const run = runs.get(says)!;
    const threads = Array.from({ length: count }, () => putsOfAppends(run.appends));
    ofRun = count === 1 ? new CallsOfRun(run.work) : undefined;
    const read = stopwatch();
    await Promise.all(threads.map((groups) => commitAll(run, groups)));
    return ofRun?.took ?? { ...read(), calls: count * run.work.calls };
  },
};

interface RecordedRun {
  readonly work: Work;
  readonly appends: readonly AppendBatch[];
  /** How much of what the model says had been heard when each of them began. */
  readonly heardBefore: readonly number[];
}

/** Of the run that goes on alone. */
let ofRun: CallsOfRun | undefined;
const model = busyModel(
  new AppendsUnderWay().settled, // None is under way while the model is heard.
  (behind) => ofRun?.asked(behind),
);

const runs = new Map<Work["says"], RecordedRun>();
export type RawCommitsAsks = typeof asks;
answerAsks(asks);

/** One after the other, each when so much has been heard as when it was recorded. */
async function commitAll({ work, heardBefore }: RecordedRun, groups: readonly Operation[][]): Promise<void> {
  const messages: ModelMessage[] = [{ role: "user", text: JSON.stringify(work) }];
  let events = ask(messages);
  let heard = 0;
  for (const [index, group] of groups.entries()) {
    while (heard < heardBefore[index]!) {
      const { done } = await events.next();
      if (!done) heard++;
      else {
        messages.push(...exchange);
        events = ask(messages);
      }
    }
    await raw.put(group);
  }
}

const ask = (messages: readonly ModelMessage[]): AsyncIterator<ModelEvent> =>
  model.stream({ ...nothingElse, messages }, never)[Symbol.asyncIterator]();
const nothingElse = { instructions: "", tools: [], toolChoice: { type: "auto" }, parallelToolCalls: true } as const;
const never = new AbortController().signal;
/** A reply and what came of it. The model looks at how many they are, and no further. */
const exchange: readonly ModelMessage[] = [
  { role: "assistant", text: "", calls: [] },
  { role: "tool", callId: "", text: "", isError: false },
];

async function recordedRun(work: Work): Promise<RecordedRun> {
  const { log } = await openBuiltCore(join(recordedDir, newId()));
  const recorded: AppendBatch[] = [];
  const heardBefore: number[] = [];
  let heard = 0;
  const appends = new AppendsUnderWay();
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const watched = watchAppends(log, (batch) => {
    recorded.push(batch);
    heardBefore.push(heard);
    if (batch.busy === false) end();
    return appends.begun();
  });
  const busy = busyModel(appends.settled, () => {});
  const counted: Model = {
    name: busy.name,
    async *stream(request, signal) {
      for await (const event of busy.stream(request, signal)) {
        heard++;
        yield event;
      }
    },
  };
  const core = await wire(watched, { model: counted, tools: [nothingTool] });
  const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
  await sendWork(core, threadId, work);
  await ended;
  await core.close();
  return { work, appends: recorded, heardBefore };
}

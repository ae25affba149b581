// A server whose engine is asked from inside its process. Arguments: the data directory.
import { EventEmitter } from "node:events";
import type { Model, ModelEvent } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
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
import { startInside } from "../support/inside-server.js";
import { beat } from "../support/pace.js";
import { watchAppends } from "../support/recorded-append.js";
import { sharedNowMs } from "../support/statistics.js";
import { stopwatch } from "../support/stopwatch.js";

const [dir] = process.argv.slice(2) as [string];
const { log } = await openBuiltCore(dir);
/** `idle` when a run's last append is stored. */
const bus = new EventEmitter();
const appends = new AppendsUnderWay();
const watched = watchAppends(log, (batch) => {
  const onStored = appends.begun();
  if (batch.busy !== false) return onStored;
  return () => {
    onStored?.();
    bus.emit("idle");
  };
});
/** Of the run that goes on alone. */
let ofRun: CallsOfRun | undefined;
let tokens: { count: number; intervalMs: number; sentMs: Float64Array } | undefined;
const busy = busyModel(appends.settled, (behind) => ofRun?.asked(behind));
/** Streams tokens where they are asked for, and is busy otherwise. */
const model: Model = {
  name: busy.name,
  stream: (request, signal) => (tokens ? streamTokens(tokens) : busy.stream(request, signal)),
};
const core = await wire(watched, { model, tools: [nothingTool] });
const server = await startInside(core);

async function* streamTokens({ count, intervalMs, sentMs }: NonNullable<typeof tokens>): AsyncGenerator<ModelEvent> {
  for (let token = 0; token < count; token++) {
    const due = beat(intervalMs);
    sentMs[token] = sharedNowMs();
    yield { type: "text", text: `token ${token} ` };
    await due;
  }
  yield { type: "end", reason: "stop", providerReason: "stop" };
}

function runsEnded(count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    bus.on("idle", function onIdle() {
      if (--left > 0) return;
      bus.off("idle", onIdle);
      resolve();
    });
  });
}

const asks = {
  open: async () => {
    const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
    return { port: server.port, threadId };
  },
  /** A run in each of the threads, all at once; each with so many calls, one after the other. Of several, with their beginnings and ends. */
  calls: async ({ threadIds, ...work }: Work & { threadIds: readonly string[] }): Promise<CallsTook> => {
    appends.isWatched = work.says === "in pieces";
    const alone = threadIds.length === 1 ? new CallsOfRun(work) : undefined;
    ofRun = alone;
    const read = stopwatch();
    const ended = runsEnded(threadIds.length);
    await Promise.all(threadIds.map((threadId) => sendWork(core, threadId, work)));
    await ended;
    return alone?.took ?? { ...read(), calls: threadIds.length * work.calls };
  },
  /** One run whose reply is so many tokens. When each was given to the loop. */
  tokens: async ({ threadId, ...pace }: { threadId: string; count: number; intervalMs: number }) => {
    tokens = { ...pace, sentMs: new Float64Array(pace.count) };
    const ended = runsEnded(1);
    await core.threads.send(threadId, { requestId: newId(), text: "talk", options: undefined });
    await ended;
    const { sentMs } = tokens;
    tokens = undefined;
    return sentMs;
  },
};

export type EngineAsks = typeof asks;
answerAsks(asks);

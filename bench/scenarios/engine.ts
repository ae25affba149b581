// What a tool call costs from its creation to its end, durable and with one subscriber, beside the bare commits that it makes
// and beside an SDK that stores nothing; and how long a token takes from the model to a subscriber.
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { interleaved, type Scenario } from "../scenario.js";
import { beat } from "../support/pace.js";
import { capturedAppend, putsOf } from "../support/recorded-append.js";
import { atMost, micros, millis, noted } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { Running, Workspace } from "../support/workspace.js";
import type { AiSdkAsks } from "../workers/ai-sdk.js";
import type { EngineAsks } from "../workers/engine-inside.js";
import type { RawCommitsAsks } from "../workers/raw-commits.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

const rounds = 7;
/** Of one run, one after the other; a thread has one run. */
const calls = 40;
const runsPerRound = 5;
/** A token every so often: about what a fast model does, and longer than the coalescing window. */
const tokenPace = { count: 40, intervalMs: 40 } as const;

export const engine: Scenario = {
  name: "engine",
  about: "a tool call from creation to end, durable; and a token from the model to a subscriber",
  async run(bench) {
    const heddle = await heddleSubject(bench.workspace);
    const raw = await rawSubject(bench.workspace);
    const sdk = await bench.workspace.worker<AiSdkAsks>("ai-sdk.ts");
    const commit = await commitSubject(bench.workspace);
    bench.progress(`engine: a run of ${calls} calls makes ${await raw.ask("prepare", calls)} commits`);
    const repeat = bench.quick ? 1 : runsPerRound;
    const used: Record<string, number[]> = { heddle: [], raw: [], sdk: [] };
    const timed = (name: string, worker: Running<unknown>, run: () => Promise<number>) => async () => {
      if (name === "heddle") await heddle.prepare(repeat);
      const before = await worker.ask("usage", undefined);
      let ms = 0;
      for (let count = 0; count < repeat; count++) ms += await run();
      const { cpuUs } = await worker.ask("usage", undefined);
      used[name]!.push((cpuUs - before.cpuUs) / (repeat * calls));
      return (ms * 1000) / (repeat * calls);
    };
    const measures = {
      heddle: timed("heddle", heddle.server, () => heddle.run(calls)),
      raw: timed("raw", raw, () => raw.ask("commit", undefined)),
      sdk: timed("sdk", sdk, () => sdk.ask("calls", calls)),
      token: () => heddle.tokens(),
      commit: () => commit(),
    };
    for (let warm = 0; warm < (bench.quick ? 1 : 4); warm++) await interleaved(1, measures);
    for (const values of Object.values(used)) values.length = 0;
    const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
      const cpu = Object.entries(used).map(([name, all]) => `${name} ${micros(all.at(-1)!)} CPU`);
      bench.progress(
        `engine, round ${round}: ${cpu.join(", ")}; heddle ${micros(values.heddle)}, raw ${micros(values.raw)}, token ${millis(values.token)}, commit ${millis(values.commit)}`,
      );
    });
    const bare = (values: readonly number[]) => ({ name: "its bare commits, raw lmdb", values });
    const call = "tool call, created → complete";
    return [
      atMost({ figure: `${call}: CPU`, heddle: used["heddle"]!, peer: bare(used["raw"]!), times: 1.5, show: micros }),
      atMost({ figure: `${call}: time`, heddle: measured.heddle, peer: bare(measured.raw), times: 1.5, show: micros }),
      atMost({
        figure: `${call}: CPU`,
        heddle: used["heddle"]!,
        peer: { name: "Vercel AI SDK, not durable", values: used["sdk"]! },
        times: 1 / 3,
        spoken: "1/3",
        show: micros,
      }),
      noted({
        figure: `${call}: time`,
        heddle: measured.heddle,
        peer: { name: "Vercel AI SDK, not durable", values: measured.sdk },
        show: micros,
      }),
      atMost({
        figure: "token → MessageDelta delivered, p50",
        heddle: measured.token,
        peer: { name: "raw lmdb, one flushed commit", values: measured.commit },
        times: 2,
        show: millis,
      }),
    ];
  },
};

/** One subscriber follows whatever is measured. */
async function heddleSubject(workspace: Workspace) {
  const server = await workspace.worker<EngineAsks>("engine-inside.ts", [workspace.directory()]);
  const followed = async () => {
    const opened = await server.ask("open", undefined);
    const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
    const { port, threadId } = opened;
    await subscribers.ask("open", { port, threadIds: [threadId], connections: 1, streams: 1, timed: true });
    return { threadId, subscribers };
  };
  const talk = await followed();
  const prepared: Awaited<ReturnType<typeof followed>>[] = [];
  return {
    server,
    /** Outside of the measured time: threads for so many runs, a new conversation each, with a subscriber. */
    prepare: async (runs: number): Promise<void> => {
      for (const { subscribers } of prepared.splice(0)) await subscribers.stop();
      for (let run = 0; run < runs; run++) prepared.push(await followed());
    },
    run: async (count: number): Promise<number> => {
      const next = prepared.shift()!;
      const ms = await server.ask("calls", { threadId: next.threadId, calls: count });
      prepared.push(next);
      return ms;
    },
    tokens: async (): Promise<number> => {
      for (let attempt = 0; attempt < 5; attempt++) {
        const delays = await tokenDelays(server, talk);
        if (delays) return median(delays);
      }
      throw new Error("The machine is too busy: tokens were joined in every attempt");
    },
  };
}

/**
 * The run's own events come before and after: the deltas of the reply are told by their place. Undefined when the machine was
 * so late with a token that it was joined with the next.
 */
async function tokenDelays(
  server: Running<EngineAsks>,
  { threadId, subscribers }: { threadId: string; subscribers: Running<SubscriberAsks> },
): Promise<number[] | undefined> {
  await subscribers.ask("reset", undefined);
  const sent = await server.ask("tokens", { threadId, ...tokenPace });
  await beat(lastEventMs);
  const [arrived] = await subscribers.ask("arrivals", undefined);
  if (arrived!.length !== eventsBefore + tokenPace.count + eventsAfter) return undefined;
  return Array.from(arrived!.slice(eventsBefore, eventsBefore + tokenPace.count), (at, index) => at - sent[index]!);
}

/** RunStarted, the user's message in three, and the reply's own MessageCreated. */
const eventsBefore = 5;
/** MessageCompleted and RunCompleted. */
const eventsAfter = 2;
/** More than the last event takes. */
const lastEventMs = 200;

const rawSubject = (workspace: Workspace): Promise<Running<RawCommitsAsks>> =>
  workspace.worker<RawCommitsAsks>("raw-commits.ts", [workspace.directory(), workspace.directory()]);

/** The p50 of one flushed commit, at the pace of the tokens. */
async function commitSubject(workspace: Workspace): Promise<() => Promise<number>> {
  const batch = await capturedAppend(workspace.directory());
  const raw = new RawLmdb(workspace.directory());
  const key = { tenant: "default", threadId: newId<ThreadId>() };
  let head = 0n;
  return async () => {
    const took: number[] = [];
    for (let count = 0; count < tokenPace.count; count++) {
      const due = new Promise((resolve) => setTimeout(resolve, tokenPace.intervalMs));
      const puts = putsOf(key, head++, batch);
      const startedAt = performance.now();
      await raw.put(puts);
      took.push(performance.now() - startedAt);
      await due;
    }
    return median(took);
  };
}

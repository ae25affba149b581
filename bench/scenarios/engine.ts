// What a tool call costs from its creation to its end, durable and with one subscriber, beside the bare commits that it makes
// and beside an SDK that stores nothing; and how long a token takes from the model to a subscriber.
import { newId, type ThreadId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { interleaved, type Scenario } from "../scenario.js";
import type { CallsTook, Work } from "../support/engine.js";
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
/** Until V8 has compiled what it compiles, the last of it behind ten thousand calls: a server is judged warm. */
const warmUps = 12;
/** Of one run, one after the other. Each run is a conversation of its own. */
const calls = 40;
/** One run after the other, beside the bare commits: what a call takes by itself. */
const runsInTurn = 20;
/** As many at once, beside the SDK: what a call takes on a server that has something to do. */
const runsAtOnce = 32;
/** So many runs at once, so often. */
const times = 4;
/** Before what counts, of one after the other and of many at once: see `cpu`. */
const comingBack = { runs: 5, times: 1 } as const;
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
    for (const says of ["in pieces", "at once"] as const) {
      const commits = await raw.ask("prepare", { calls, says });
      bench.progress(`engine: a run of ${calls} calls makes ${commits} commits when the model answers ${says}`);
    }
    const turns = bench.quick ? 1 : runsInTurn;
    const atOnce = bench.quick ? 2 : runsAtOnce;
    const timeOf: Record<string, number[]> = {};
    /**
     * CPU of a call; its time is kept aside. Each subject has rested while the others had their turn: the machine has put its memory aside,
     * and V8 compiles and collects behind a rest. Everybody works a little before it counts.
     */
    const cpu = (name: string, turn: Turn) => async () => {
      await turn.prepare?.((turn.before + turn.times) * turn.runs);
      await inTurn(turn.before, turn.run);
      const took = await inTurn(turn.times, turn.run);
      timeOf[name] = [...(timeOf[name] ?? []), (took.ms * 1000) / took.calls];
      return took.cpuUs / took.calls;
    };
    const inPieces = { runs: 1, says: "in pieces" } as const;
    const quick = { runs: 1, says: "at once" } as const;
    const many = { runs: atOnce, says: "at once" } as const;
    const oneByOne = { runs: 1, times: turns, before: comingBack.runs };
    const together = { runs: atOnce, times: bench.quick ? 1 : times, before: comingBack.times };
    const prepare = (count: number): Promise<void> => heddle.prepare(count);
    const measures = {
      heddle: cpu("heddle", { ...oneByOne, prepare, run: () => heddle.run(inPieces) }),
      raw: cpu("raw", { ...oneByOne, run: () => raw.ask("commit", inPieces) }),
      heddleQuick: cpu("heddleQuick", { ...oneByOne, prepare, run: () => heddle.run(quick) }),
      rawQuick: cpu("rawQuick", { ...oneByOne, run: () => raw.ask("commit", quick) }),
      heddleAtOnce: cpu("heddleAtOnce", { ...together, prepare, run: () => heddle.run(many) }),
      rawAtOnce: cpu("rawAtOnce", { ...together, run: () => raw.ask("commit", many) }),
      sdk: cpu("sdk", { ...together, run: () => sdk.ask("calls", { runs: atOnce, calls }) }),
      token: () => heddle.tokens(),
      commit: () => commit(),
    };
    const { token: _token, commit: _commit, ...compiled } = measures;
    await interleaved(bench.quick ? 1 : warmUps, compiled);
    await interleaved(1, measures);
    for (const values of Object.values(timeOf)) values.length = 0;
    const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, { token, commit, ...cpus }) => {
      const texts = Object.entries(cpus).map(
        ([name, value]) => `${name} ${micros(value)} CPU, ${micros(timeOf[name]!.at(-1)!)}`,
      );
      bench.progress(`engine, round ${round}: ${texts.join("; ")}; token ${millis(token)}, commit ${millis(commit)}`);
    });
    const bare = (values: readonly number[]) => ({ name: "its bare commits, raw lmdb", values });
    const sdkPeer = (values: readonly number[]) => ({ name: "Vercel AI SDK, nothing stored", values });
    const call = "tool call, created → complete";
    const busy = `${call}, ${atOnce} runs at once`;
    const besideCommits = (figure: string, name: "heddle" | "heddleQuick", rawName: "raw" | "rawQuick") => [
      atMost({
        figure: `${figure}: CPU`,
        heddle: measured[name],
        peer: bare(measured[rawName]),
        times: 1.5,
        show: micros,
      }),
      atMost({
        figure: `${figure}: time`,
        heddle: timeOf[name]!,
        peer: bare(timeOf[rawName]!),
        times: 1.5,
        show: micros,
      }),
    ];
    return [
      ...besideCommits(`${call}, of a model that streams`, "heddle", "raw"),
      ...besideCommits(`${call}, of one that answers at once`, "heddleQuick", "rawQuick"),
      atMost({
        figure: `${busy}: CPU`,
        heddle: measured.heddleAtOnce,
        peer: sdkPeer(measured.sdk),
        times: 1 / 3,
        spoken: "1/3",
        show: micros,
      }),
      noted({
        figure: `the bare commits of a call, ${atOnce} runs at once: CPU`,
        heddle: measured.rawAtOnce,
        peer: sdkPeer(measured.sdk),
        show: micros,
      }),
      noted({ figure: `${busy}: time`, heddle: timeOf["heddleAtOnce"]!, peer: sdkPeer(timeOf["sdk"]!), show: micros }),
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

/** What a subject does in a round. */
interface Turn {
  /** At once. */
  readonly runs: number;
  /** One after the other. */
  readonly times: number;
  /** So many more before them do not count. */
  readonly before: number;
  /** Before all of them, for so many runs. */
  prepare?(runs: number): Promise<void>;
  run(): Promise<CallsTook>;
}

async function inTurn(times: number, run: () => Promise<CallsTook>): Promise<CallsTook> {
  const sum = { ms: 0, cpuUs: 0, calls: 0 };
  for (let count = 0; count < times; count++) {
    const { ms, cpuUs, calls } = await run();
    sum.ms += ms;
    sum.cpuUs += cpuUs;
    sum.calls += calls;
  }
  return sum;
}

/** One subscriber follows whatever is measured. */
async function heddleSubject(workspace: Workspace) {
  const server = await workspace.worker<EngineAsks>("engine-inside.ts", [workspace.directory()]);
  const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  const talkers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  const follow = async (worker: Running<SubscriberAsks>, streams: number): Promise<string[]> => {
    const threadIds: string[] = [];
    let port = 0;
    for (let count = 0; count < streams; count++) {
      const opened = await server.ask("open", undefined);
      port = opened.port;
      threadIds.push(opened.threadId);
    }
    await worker.ask("open", { port, threadIds, connections: 1, streams, timed: true });
    return threadIds;
  };
  const [threadId] = (await follow(talkers, 1)) as [string];
  const talk = { threadId, subscribers: talkers };
  let prepared: string[] = [];
  return {
    /** Outside of the measured time: threads for so many runs, each with a subscriber. */
    prepare: async (runs: number): Promise<void> => {
      await subscribers.ask("close", undefined);
      prepared = await follow(subscribers, runs);
    },
    run: ({ runs, says }: { runs: number; says: Work["says"] }): Promise<CallsTook> =>
      server.ask("calls", { threadIds: prepared.splice(0, runs), calls, says }),
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

// Server CPU (user and system, all threads) for one event delivered to one subscriber. Heddle's figure has everything in
// it: the producer's request, the checks, the flushed append, the hub. Its peers make their events out of nothing, so the
// price of the append, measured in the same rounds on a thread that nobody follows, stands beside it.
import { newId } from "../../src/thread/ids.js";
import { type Bench, interleaved, type Scenario } from "../scenario.js";
import type { Pace } from "../support/pace.js";
import { atMost, micros, type Row } from "../support/rows.js";
import type { Running, Workspace } from "../support/workspace.js";
import type { PeerAsks, PeerName } from "../workers/peer-server.js";
import type { ProducerAsks } from "../workers/producer.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

interface Shape extends Pace {
  readonly subscribers: number;
  readonly connections: number;
  readonly peers: readonly PeerName[];
}

/** Heddle's figure in parts of the peer's. */
const limits: Readonly<Record<PeerName, { times: number; spoken: string }>> = {
  "raw-http2": { times: 1.5, spoken: "1.5×" },
  "connect-node": { times: 1 / 6, spoken: "1/6" },
  "grpc-js": { times: 1 / 4, spoken: "1/4" },
};
const everyPeer = Object.keys(limits) as PeerName[];

/** Intervals leave the slowest peer of a shape time to rest: nobody falls behind, and nothing is joined by chance. */
const shapes: readonly Shape[] = [
  { subscribers: 100, connections: 10, batchEvents: 1, batches: 250, intervalMs: 8, peers: everyPeer },
  { subscribers: 1000, connections: 20, batchEvents: 1, batches: 30, intervalMs: 80, peers: everyPeer },
  { subscribers: 100, connections: 10, batchEvents: 10, batches: 100, intervalMs: 20, peers: ["raw-http2"] },
  { subscribers: 1000, connections: 20, batchEvents: 10, batches: 40, intervalMs: 50, peers: ["raw-http2"] },
];

const rounds = 3;
const warmUps = 1;

export const fanOut: Scenario = {
  name: "fan-out",
  about: "server CPU for one event delivered to one subscriber, 100 and 1,000 subscribers",
  async run(bench) {
    const rows: Row[] = [];
    for (const shape of shapes) rows.push(...(await measureShape(bench, bench.quick ? shortened(shape) : shape)));
    return rows;
  },
};

const shortened = (shape: Shape): Shape => ({ ...shape, batches: Math.ceil(shape.batches / 10) });

async function measureShape(bench: Bench, shape: Shape): Promise<Row[]> {
  const figure = `fan-out to ${shape.subscribers}, ${shape.batchEvents} a write`;
  const subjects = [
    ...(await startHeddle(bench.workspace, shape)),
    ...(await Promise.all(shape.peers.map((peer) => startPeer(bench.workspace, peer, shape)))),
  ];
  const measures = Object.fromEntries(subjects.map(({ name, measure }) => [name, measure]));
  await interleaved(warmUps, measures);
  const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
    const texts = Object.entries(values).map(([name, value]) => `${name} ${micros(value)}`);
    bench.progress(`${figure}, round ${round}: ${texts.join(", ")}`);
  });
  const written = await Promise.all(
    subjects.map(async ({ name, eventsPerWrite }) => `${name} ${(await eventsPerWrite()).toFixed(2)}`),
  );
  bench.progress(`${figure}, events a write: ${written.join(", ")}`);
  for (const { stop } of subjects) await stop();
  return rowsOf(figure, shape, measured);
}

function rowsOf(figure: string, { peers }: Shape, measured: Readonly<Record<string, number[]>>): Row[] {
  const heddle = measured["heddle"]!;
  const delivery = heddle.map((value, round) => value - measured["append alone"]![round]!);
  const peerOf = (name: PeerName) => ({ name, values: measured[name]! });
  return [
    ...peers.map((name) => atMost({ figure, heddle, peer: peerOf(name), ...limits[name], show: micros })),
    atMost({
      figure: `${figure}, append taken off`,
      heddle: delivery,
      peer: peerOf("raw-http2"),
      ...limits["raw-http2"],
      show: micros,
    }),
  ];
}

interface Subject {
  readonly name: string;
  /** Microseconds of CPU a delivery. */
  measure(): Promise<number>;
  eventsPerWrite(): Promise<number>;
  stop(): Promise<void>;
}

async function startHeddle(workspace: Workspace, shape: Shape): Promise<Subject[]> {
  const server = await workspace.heddle(workspace.directory());
  const producer = await workspace.worker<ProducerAsks>("producer.ts");
  const { threadId, head } = await producer.ask("open", server.port);
  const subscribers = await subscribe(workspace, shape, { port: server.port, threadId, afterSequence: head });
  const lonely = await workspace.worker<ProducerAsks>("producer.ts");
  await lonely.ask("open", server.port);
  const deliveries = deliveriesOf(shape);
  return [
    {
      name: "heddle",
      measure: () => cpuPerDelivery(server, { subscribers, deliveries, produce: () => producer.ask("produce", shape) }),
      eventsPerWrite: () => eventsPerWrite(subscribers),
      stop: async () => void (await Promise.all([subscribers, producer, server].map((running) => running.stop()))),
    },
    {
      name: "append alone",
      measure: () => cpuPerDelivery(server, { deliveries, produce: () => lonely.ask("produce", shape) }),
      eventsPerWrite: async () => shape.batchEvents,
      stop: () => lonely.stop(),
    },
  ];
}

async function startPeer(workspace: Workspace, name: PeerName, shape: Shape): Promise<Subject> {
  const threadId = newId();
  const server = await workspace.worker<PeerAsks>("peer-server.ts", [name, threadId]);
  const port = await server.ask("port", undefined);
  const subscribers = await subscribe(workspace, shape, { port, threadId, afterSequence: 0n });
  return {
    name,
    measure: async () => {
      await server.ask("prepare", shape);
      const produce = () => server.ask("publish", shape);
      return cpuPerDelivery(server, { subscribers, deliveries: deliveriesOf(shape), produce });
    },
    eventsPerWrite: () => eventsPerWrite(subscribers),
    stop: async () => void (await Promise.all([subscribers, server].map((running) => running.stop()))),
  };
}

async function subscribe(
  workspace: Workspace,
  shape: Shape,
  to: { port: number; threadId: string; afterSequence: bigint },
) {
  const { subscribers: streams, connections } = shape;
  const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await subscribers.ask("open", { ...to, threadIds: [to.threadId], streams, connections });
  return subscribers;
}

interface Load {
  readonly subscribers?: Running<SubscriberAsks>;
  readonly deliveries: number;
  readonly produce: () => Promise<unknown>;
}

async function cpuPerDelivery(server: Running<unknown>, { subscribers, deliveries, produce }: Load): Promise<number> {
  await subscribers?.ask("reset", undefined);
  const before = await server.ask("usage", undefined);
  await Promise.all([produce(), subscribers?.ask("received", deliveries)]);
  const after = await server.ask("usage", undefined);
  return (after.cpuUs - before.cpuUs) / deliveries;
}

async function eventsPerWrite(subscribers: Running<SubscriberAsks>): Promise<number> {
  const { events, chunks } = await subscribers.ask("counted", undefined);
  return events / chunks;
}

const deliveriesOf = ({ subscribers, batches, batchEvents }: Shape): number => subscribers * batches * batchEvents;

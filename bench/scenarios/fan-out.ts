// Server CPU (user and system, all threads) for one event delivered to one subscriber. The peers make their events out of
// nothing, so the price of Heddle's (the producer's request, the checks, the flushed append) is measured in the same rounds,
// on a thread that nobody follows, and taken off; the last row of a group has it in.
//
// Two regimes. At the pace of one producer that waits for its answers, and a little longer, each batch is one write a subscriber, and
// everybody keeps that pace. At full speed, many events are in flight in the server's own process: what has piled up behind a flush goes
// out in one write, and the frameworks get one event after the other, as fast as they can.
import { newId } from "../../src/thread/ids.js";
import { type Bench, interleaved, type Scenario } from "../scenario.js";
import { apartMs, type Pace } from "../support/pace.js";
import { atMost, micros, noted, type Row } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { Running, Workspace } from "../support/workspace.js";
import type { PeerAsks, PeerName } from "../workers/peer-server.js";
import type { ProducerAsks } from "../workers/producer.js";
import type { InsideAsks } from "../workers/recorder-inside.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

interface Shape {
  readonly subscribers: number;
  readonly connections: number;
  readonly batches: number;
  readonly batchEvents: number;
  /** A batch is not one request but so many events in flight, and nobody waits for anything. */
  readonly fullSpeed?: true;
}

/** Heddle's figure in parts of the peer's. */
const limits: Readonly<Record<PeerName, { times: number; spoken: string }>> = {
  "raw-http2": { times: 1.5, spoken: "1.5×" },
  "connect-node": { times: 1 / 6, spoken: "1/6" },
  "grpc-js": { times: 1 / 4, spoken: "1/4" },
};
const peerNames = Object.keys(limits) as PeerName[];

const shapes: readonly Shape[] = [
  { subscribers: 100, connections: 10, batchEvents: 1, batches: 300 },
  { subscribers: 1000, connections: 20, batchEvents: 1, batches: 80 },
  { subscribers: 100, connections: 10, batchEvents: 10, batches: 240 },
  { subscribers: 1000, connections: 20, batchEvents: 10, batches: 40 },
  { subscribers: 100, connections: 10, batchEvents: 32, batches: 480, fullSpeed: true },
  { subscribers: 1000, connections: 20, batchEvents: 32, batches: 64, fullSpeed: true },
];

const rounds = 7;
/** A server is judged warm: the way of an append is longer than a peer's, and takes longer to be compiled. */
const warmUpAppends = 800;

export const fanOut: Scenario = {
  name: "fan-out",
  about: "server CPU for one event delivered to one subscriber, 100 and 1,000 subscribers",
  async run(bench) {
    const rows: Row[] = [];
    for (const shape of shapes) rows.push(...(await measureShape(bench, bench.quick ? shortened(shape) : shape)));
    return rows;
  },
};

const shortened = (shape: Shape): Shape => ({ ...shape, batches: Math.ceil(shape.batches / 6) });

async function measureShape(bench: Bench, shape: Shape): Promise<Row[]> {
  const figure = `fan-out to ${shape.subscribers}, ${shape.fullSpeed ? "full speed" : `${shape.batchEvents} a write`}`;
  const heddle = await (shape.fullSpeed ? startInside : startHeddle)(bench.workspace, shape);
  const peers = await Promise.all(peerNames.map((peer) => startPeer(bench.workspace, peer, shape)));
  const measures = atOnePace([heddle.followed, heddle.alone, ...peers], shape);
  await interleaved(1, measures); // To warm up.
  const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
    const texts = Object.entries(values).map(([name, value]) => `${name} ${micros(value)}`);
    bench.progress(`${figure}, round ${round}: ${texts.join(", ")}`);
  });
  for (const { name, eventsPerWrite } of [heddle.followed, ...peers]) {
    bench.progress(`${figure}: ${name} had ${(await eventsPerWrite()).toFixed(2)} events in a write`);
  }
  for (const { stop } of [heddle, ...peers]) await stop();
  return rowsOf(figure, shape, measured);
}

function rowsOf(figure: string, { fullSpeed }: Shape, measured: Readonly<Record<string, number[]>>): Row[] {
  const heddle = measured["heddle"]!;
  const alone = measured["append alone"]!;
  const deliveries = heddle.map((value, round) => value - alone[round]!);
  const against = (name: PeerName) => ({ peer: { name, values: measured[name]! }, show: micros });
  return [
    ...peerNames.map((name) => atMost({ figure, heddle: deliveries, ...against(name), ...limits[name] })),
    noted({
      figure: `${figure}, with ${fullSpeed ? "recorder and append" : "RecordEvents and its append"} (${micros(median(alone))})`,
      heddle,
      ...against("raw-http2"),
    }),
  ];
}

interface Subject {
  readonly name: string;
  /** Microseconds of CPU a delivery. */
  measure(intervalMs: number): Promise<number>;
  eventsPerWrite(): Promise<number>;
}

/** The first goes as fast as one producer can whose batches are to be writes of their own, and the others keep the pace it set. */
function atOnePace(subjects: readonly Subject[], { batches }: Shape): Record<string, () => Promise<number>> {
  let intervalMs = 0;
  const measureFirst = (subject: Subject) => async () => {
    const startedAt = performance.now();
    const value = await subject.measure(apartMs);
    intervalMs = Math.round((performance.now() - startedAt) / batches);
    return value;
  };
  const [first, ...others] = subjects as [Subject, ...Subject[]];
  const entries = others.map(({ name, measure }) => [name, () => measure(intervalMs)] as const);
  return { [first.name]: measureFirst(first), ...Object.fromEntries(entries) };
}

async function startHeddle(workspace: Workspace, shape: Shape) {
  const server = await workspace.heddle(workspace.directory());
  const producer = await workspace.worker<ProducerAsks>("producer.ts");
  const lonely = await workspace.worker<ProducerAsks>("producer.ts");
  const { threadId, head } = await producer.ask("open", server.port);
  await lonely.ask("open", server.port);
  await lonely.ask("produce", { ...shape, batches: warmUpAppends, intervalMs: 0 });
  const subscribers = await subscribe(workspace, shape, { port: server.port, threadId, afterSequence: head });
  const deliveries = deliveriesOf(shape);
  const followed: Subject = {
    name: "heddle",
    measure: (intervalMs) => {
      const produce = () => producer.ask("produce", { ...shape, intervalMs });
      return cpuPerDelivery(server, { subscribers, deliveries, produce });
    },
    eventsPerWrite: () => eventsPerWrite(subscribers),
  };
  const alone: Subject = {
    name: "append alone",
    measure: (intervalMs) => {
      const produce = () => lonely.ask("produce", { ...shape, intervalMs });
      return cpuPerDelivery(server, { deliveries, produce });
    },
    eventsPerWrite: async () => shape.batchEvents,
  };
  return { followed, alone, stop: () => stopInTurn([subscribers, producer, lonely, server]) };
}

/** The recorder is called in the server's process, as the peers make their events in theirs. */
async function startInside(workspace: Workspace, shape: Shape) {
  const server = await workspace.worker<InsideAsks>("recorder-inside.ts", [workspace.directory()]);
  const { port, threadId, head } = await server.ask("open", undefined);
  const events = shape.batches * shape.batchEvents;
  const flood = (followed: boolean) => server.ask("flood", { events, inFlight: shape.batchEvents, followed });
  await flood(false);
  const subscribers = await subscribe(workspace, shape, { port, threadId, afterSequence: head });
  const deliveries = deliveriesOf(shape);
  const followed: Subject = {
    name: "heddle",
    measure: () => cpuPerDelivery(server, { subscribers, deliveries, produce: () => flood(true) }),
    eventsPerWrite: () => eventsPerWrite(subscribers),
  };
  const alone: Subject = {
    name: "append alone",
    measure: () => cpuPerDelivery(server, { deliveries, produce: () => flood(false) }),
    eventsPerWrite: async () => shape.batchEvents,
  };
  return { followed, alone, stop: () => stopInTurn([subscribers, server]) };
}

/**
 * Raw HTTP/2 keeps to Heddle's writes and pace always. The frameworks are given fewer events, for they take long and their
 * figures are steady; at full speed single events, and no pause.
 */
function paceOf(peer: PeerName, { batches, batchEvents, fullSpeed }: Shape, intervalMs: number): Pace {
  if (peer === "raw-http2") return { batches, batchEvents, intervalMs };
  if (fullSpeed) return { batches: Math.ceil((batches * batchEvents) / 16), batchEvents: 1, intervalMs: 0 };
  return { batches: Math.ceil(batches / 4), batchEvents, intervalMs };
}

async function startPeer(workspace: Workspace, name: PeerName, shape: Shape) {
  const threadId = newId();
  const server = await workspace.worker<PeerAsks>("peer-server.ts", [name, threadId]);
  const port = await server.ask("port", undefined);
  const subscribers = await subscribe(workspace, shape, { port, threadId, afterSequence: 0n });
  const subject: Subject = {
    name,
    measure: async (intervalMs) => {
      const pace = paceOf(name, shape, intervalMs);
      await server.ask("prepare", pace);
      const produce = () => server.ask("publish", pace);
      const deliveries = deliveriesOf({ ...shape, ...pace });
      return cpuPerDelivery(server, { subscribers, deliveries, produce });
    },
    eventsPerWrite: () => eventsPerWrite(subscribers),
  };
  return { ...subject, stop: () => stopInTurn([subscribers, server]) };
}

async function subscribe(
  workspace: Workspace,
  { subscribers: streams, connections }: Shape,
  to: { port: number; threadId: string; afterSequence: bigint },
): Promise<Running<SubscriberAsks>> {
  const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await subscribers.ask("open", { ...to, threadIds: [to.threadId], streams, connections });
  return subscribers;
}

/** Clients before servers, so that nobody sees a stream end. */
export async function stopInTurn(running: readonly { stop(): Promise<void> }[]): Promise<void> {
  for (const { stop } of running) await stop();
}

interface Load {
  readonly subscribers?: Running<SubscriberAsks>;
  readonly deliveries: number;
  readonly produce: () => Promise<unknown>;
}

export async function cpuPerDelivery(server: Running<unknown>, load: Load): Promise<number> {
  const { subscribers, deliveries, produce } = load;
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

// Anonymous memory of the server for one subscriber that waits: 10,000 of them, 100 on each of 100 connections, spread
// over 100 threads. The peers hold the same number of streams.
import { setTimeout as sleep } from "node:timers/promises";
import { newId } from "../../src/thread/ids.js";
import type { Bench, Scenario } from "../scenario.js";
import { anonymousBytes } from "../support/memory.js";
import { kibibytes, within } from "../support/rows.js";
import type { Running, Workspace } from "../support/workspace.js";
import type { PeerAsks, PeerName } from "../workers/peer-server.js";
import type { ProducerAsks } from "../workers/producer.js";
import type { SubscriberAsks } from "../workers/subscribers.js";

const limitBytes = 64 * 1024;
const streamsPerConnection = 100;
const threads = 100;
/** Time for the last answers to leave and the collector to look once. */
const settleMs = 2000;

export const idle: Scenario = {
  name: "idle",
  about: "the server's memory for each of 10,000 idle subscribers",
  async run(bench) {
    const connections = bench.quick ? 5 : 100;
    const heddle = await heddleMemory(bench, connections);
    const peers: string[] = [];
    for (const name of ["raw-http2", "connect-node", "grpc-js"] as const) {
      peers.push(`${name}: ${kibibytes(await peerMemory(bench, name, connections))}`);
    }
    const figure = `idle subscriber, ${(connections * streamsPerConnection).toLocaleString("en")} of them`;
    return [within(figure, heddle, { at: limitBytes, show: kibibytes, peers: peers.join(", ") })];
  },
};

async function heddleMemory(bench: Bench, connections: number): Promise<number> {
  const server = await bench.workspace.heddle(bench.workspace.directory());
  const producer = await bench.workspace.worker<ProducerAsks>("producer.ts");
  const threadIds = await producer.ask("threads", { port: server.port, count: threads });
  return memoryOf(bench, server, { name: "heddle", port: server.port, threadIds, connections });
}

async function peerMemory(bench: Bench, name: PeerName, connections: number): Promise<number> {
  const threadId = newId();
  const server = await bench.workspace.worker<PeerAsks>("peer-server.ts", [name, threadId]);
  const port = await server.ask("port", undefined);
  return memoryOf(bench, server, { name, port, threadIds: [threadId], connections });
}

interface Target {
  readonly name: string;
  readonly port: number;
  readonly threadIds: readonly string[];
  readonly connections: number;
}

async function memoryOf({ workspace, progress }: Bench, server: Running<unknown>, target: Target): Promise<number> {
  const { port, threadIds, connections } = target;
  const before = anonymousBytes(server.pid);
  const subscribers = await openAll(workspace, { port, threadIds, connections });
  await sleep(settleMs);
  const bytes = (anonymousBytes(server.pid) - before) / (connections * streamsPerConnection);
  progress(`idle, ${target.name}: ${kibibytes(bytes)} each`);
  await subscribers.stop();
  await server.stop();
  return bytes;
}

async function openAll(workspace: Workspace, target: Omit<Target, "name">): Promise<Running<SubscriberAsks>> {
  const subscribers = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await subscribers.ask("open", { ...target, streams: target.connections * streamsPerConnection });
  return subscribers;
}

// Server CPU for one event of a response delivered to one follower over the Responses API, beside the gRPC lane: the same events in the
// same appends, and the price of the append alone, which is taken off both.
import { type Bench, interleaved, type Scenario } from "../scenario.js";
import { apartMs } from "../support/pace.js";
import { atMost, micros, noted, type Row } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { ResponsesAsks } from "../workers/responses-inside.js";
import type { SubscriberAsks } from "../workers/subscribers.js";
import { cpuPerDelivery, stopInTurn } from "./fan-out.js";

interface Shape {
  readonly followers: number;
  readonly connections: number;
  readonly batches: number;
  readonly batchEvents: number;
}

const shapes: readonly Shape[] = [
  { followers: 100, connections: 10, batchEvents: 1, batches: 300 },
  { followers: 1000, connections: 20, batchEvents: 1, batches: 80 },
  { followers: 100, connections: 10, batchEvents: 10, batches: 240 },
  { followers: 1000, connections: 20, batchEvents: 10, batches: 40 },
];

const rounds = 5;
const warmUpBatches = 800;

export const responses: Scenario = {
  name: "responses",
  about: "server CPU for one event of a response delivered over SSE, beside the gRPC lane",
  async run(bench) {
    const rows: Row[] = [];
    for (const shape of shapes)
      rows.push(...(await measure(bench, bench.quick ? { ...shape, batches: Math.ceil(shape.batches / 6) } : shape)));
    return rows;
  },
};

async function measure({ workspace, quick, progress }: Bench, shape: Shape): Promise<Row[]> {
  const figure = `response to ${shape.followers}, ${shape.batchEvents} a write`;
  const server = await workspace.worker<ResponsesAsks>("responses-inside.ts", [workspace.directory()]);
  const [sse, grpc, alone] = [
    await server.ask("open", undefined),
    await server.ask("open", undefined),
    await server.ask("open", undefined),
  ];
  const deliveries = shape.followers * shape.batches * shape.batchEvents;
  const talk = (threadId: string, batches = shape.batches) =>
    server.ask("talk", { threadId, batches, batchEvents: shape.batchEvents, intervalMs: apartMs });
  await talk(alone.threadId, warmUpBatches);
  const followers = { streams: shape.followers, connections: shape.connections };
  const overSse = await workspace.worker<SubscriberAsks>("subscribers.ts");
  await overSse.ask("open", { port: sse.port, threadIds: [sse.threadId], responseId: sse.responseId, ...followers });
  const overGrpc = await workspace.worker<SubscriberAsks>("subscribers.ts");
  const { port, threadId, head: afterSequence } = grpc;
  await overGrpc.ask("open", { port, threadIds: [threadId], afterSequence, ...followers });
  const measures = {
    sse: () => cpuPerDelivery(server, { subscribers: overSse, deliveries, produce: () => talk(sse.threadId) }),
    grpc: () => cpuPerDelivery(server, { subscribers: overGrpc, deliveries, produce: () => talk(threadId) }),
    alone: () => cpuPerDelivery(server, { deliveries, produce: () => talk(alone.threadId) }),
  };
  await interleaved(1, measures); // To warm up.
  const measured = await interleaved(quick ? 1 : rounds, measures, (round, values) => {
    const texts = Object.entries(values).map(([name, value]) => `${name} ${micros(value)}`);
    progress(`${figure}, round ${round}: ${texts.join(", ")}`);
  });
  for (const [name, worker] of Object.entries({ sse: overSse, grpc: overGrpc })) {
    const { events, chunks, bytes } = await worker.ask("counted", undefined);
    progress(
      `${figure}: ${name} had ${(events / chunks).toFixed(2)} events in a write, ${Math.round(bytes / events)} bytes each`,
    );
  }
  await stopInTurn([overSse, overGrpc, server]);
  return rowsOf(figure, measured);
}

function rowsOf(figure: string, measured: Readonly<Record<"sse" | "grpc" | "alone", number[]>>): Row[] {
  const { sse, grpc, alone } = measured;
  const less = (values: readonly number[]): number[] => values.map((value, round) => value - alone[round]!);
  const name = "the gRPC lane";
  return [
    atMost({ figure, heddle: less(sse), peer: { name, values: less(grpc) }, times: 2, show: micros }),
    noted({
      figure: `${figure}, with the append (${micros(median(alone))})`,
      heddle: sse,
      peer: { name, values: grpc },
      show: micros,
    }),
  ];
}

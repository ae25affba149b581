// kill -9 of the server while producers record and subscribers follow, over and over: everything acknowledged is there,
// sequences are dense, and everyone goes on exactly where they were.
import { EventEmitter, once } from "node:events";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { followThread } from "../../src/client/follow-thread.js";
import { isResumable } from "../../src/client/resumable.js";
import { newId } from "../../src/thread/ids.js";
import { type Clients, grpcClients } from "../support/clients.js";
import { RunScript } from "../support/scenario.js";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";

const rounds = 20;
const producerCount = 6;
const followersPerThread = 2;

let dataDir: string;
let server: ServerProcess;
/** Settled while a server listens; a new promise while none does. */
let listening: Promise<void> = Promise.resolve();

beforeAll(async () => {
  dataDir = await newDataDir();
  server = await startServerProcess({ dataDir });
});
afterAll(async () => {
  await server.stop();
  await removeDataDir(dataDir);
});

async function killAndRestart(): Promise<void> {
  const { port } = server;
  let up = (): void => {};
  listening = new Promise((resolve) => {
    up = resolve;
  });
  await server.kill();
  server = await startServerProcess({ dataDir, port });
  up();
}

interface Hold {
  readonly threadId: string;
  readonly recordingId: string;
  readonly epoch: bigint;
}

/** Somebody's loop: sends batches one after the other, and each again until it is answered. */
class Producer {
  /** What was acknowledged: the text by its sequence. */
  readonly acknowledged = new Map<bigint, string>();
  repeated = 0;
  readonly #clients: Clients;
  readonly #hold: Hold;
  readonly #run = new RunScript();
  readonly #callId = newId();
  #sequence = 0n;

  constructor(clients: Clients, hold: Hold) {
    this.#clients = clients;
    this.#hold = hold;
  }

  get threadId(): string {
    return this.#hold.threadId;
  }

  async begin(): Promise<void> {
    const id = this.#callId;
    await this.#send([
      this.#run.started(),
      this.#run.created(id),
      this.#run.inputCompleted(id),
      this.#run.callStarted(id),
    ]);
  }

  async print(count: number): Promise<void> {
    const texts = Array.from({ length: count }, (_, n) => `batch ${this.#sequence + 1n}, line ${n}\n`);
    const first = await this.#send(texts.map((text) => this.#run.output(this.#callId, text)));
    for (const [n, text] of texts.entries()) this.acknowledged.set(first + BigInt(n), text);
  }

  async finish(): Promise<void> {
    await this.#send([this.#run.complete(this.#callId), this.#run.completed()]);
    await this.#clients.recorder.closeRecording(this.#hold);
  }

  async #send(events: StreamThreadEventsResponse[]): Promise<bigint> {
    const request = { ...this.#hold, producerSequence: ++this.#sequence, events };
    for (;;) {
      try {
        return (await this.#clients.recorder.recordEvents(request)).firstSequence;
      } catch (error) {
        // Only the server's death may be met: a gap, a fence or a violation is what this test looks for.
        if (!isResumable(ConnectError.from(error))) throw error;
        this.repeated++;
        await listening;
      }
    }
  }
}

async function openProducer(clients: Clients): Promise<Producer> {
  const { thread } = await clients.threads.createThread({});
  const threadId = thread!.id;
  const { recordingId, epoch } = await clients.recorder.openRecording({ threadId, producer: "kill test" });
  const producer = new Producer(clients, { threadId, recordingId, epoch });
  await producer.begin();
  return producer;
}

async function followToEnd(threadId: string): Promise<StreamThreadEventsResponse[]> {
  const events: StreamThreadEventsResponse[] = [];
  const { signal } = new AbortController();
  const backoff = { firstDelayMs: 20, maxDelayMs: 200 };
  for await (const event of followThread(grpcClients(server.url).threads, {
    threadId,
    afterSequence: 0n,
    follow: true,
    signal,
    backoff,
  })) {
    events.push(event);
    if (event.payload.case === "runCompleted") break;
  }
  return events;
}

test(`T1, L1, L4, S1: ${rounds} kills lose nothing that was acknowledged, and nobody notices more than a pause`, {
  timeout: 180_000,
}, async () => {
  const producers = await Promise.all(
    Array.from({ length: producerCount }, () => openProducer(grpcClients(server.url))),
  );
  const following = producers.map(({ threadId }) =>
    Array.from({ length: followersPerThread }, () => followToEnd(threadId)),
  );

  let stopping = false;
  const progress = new EventEmitter();
  const working = producers.map(async (producer, index) => {
    for (let n = 0; !stopping; n++) {
      await producer.print(1 + ((n + index) % 5));
      progress.emit("acknowledged");
    }
    await producer.finish();
  });
  const failed = Promise.all(working).then(() => {});
  for (let round = 0; round < rounds; round++) {
    // Not by the clock: a round ends somewhere inside the work, a different place each time.
    for (let batches = 30 + round * 3; batches > 0; batches--)
      await Promise.race([once(progress, "acknowledged"), failed]);
    await killAndRestart();
  }
  stopping = true;
  await Promise.all(working);

  expect(
    producers.some(({ repeated }) => repeated > 0),
    "some batch must have met a kill",
  ).toBe(true);
  for (const [index, { acknowledged }] of producers.entries()) {
    for (const events of await Promise.all(following[index]!)) {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, n) => BigInt(n + 1)));
      for (const [sequence, text] of acknowledged) {
        expect(events[Number(sequence) - 1]?.payload.value).toMatchObject({ text });
      }
      // Each batch once, in order, with dense offsets: nothing was stored twice.
      const outputs = events.flatMap(({ payload }) => (payload.case === "toolCallOutputDelta" ? [payload.value] : []));
      expect(outputs).toHaveLength(acknowledged.size);
      let offset = 0n;
      for (const output of outputs) {
        expect(output.offset).toBe(offset);
        offset += BigInt(Buffer.byteLength(output.text));
      }
      expect(events.filter(({ payload }) => payload.case === "toolCallComplete")).toHaveLength(1);
    }
  }
});

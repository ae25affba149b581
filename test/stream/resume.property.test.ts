// S1 as a property: whatever is appended, cut and resumed in whatever order, every subscriber sees 1..n exactly.
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Feed, Sink } from "../../src/stream/feed.js";
import { decodeFrames, envelopeBytes, frameLength } from "../../src/thread/frame.js";
import { newId } from "../../src/thread/ids.js";
import { type Core, openCore, openProducer } from "../support/core.js";
import { RunScript } from "../support/scenario.js";

type Step =
  | { kind: "append"; events: number; size: number }
  | { kind: "cut"; subscriber: number; bytes: number }
  | { kind: "stall" | "read"; subscriber: number }
  | { kind: "settle" };

const subscribers = 5;
const subscriber = fc.nat(subscribers - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      events: fc.integer({ min: 1, max: 20 }),
      size: fc.integer({ min: 1, max: 20_000 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("cut" as const), subscriber, bytes: fc.nat(70_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("stall" as const, "read" as const), subscriber }) },
  { weight: 1, arbitrary: fc.constant({ kind: "settle" as const }) },
);

/** A client behind a connection that can break inside any byte: it keeps whole frames only, and resumes after the last. */
class Client implements Sink {
  readonly seen: bigint[] = [];
  #unread: Buffer = Buffer.alloc(0);
  #feed: Feed | undefined;
  #stalled = false;
  readonly #core: Core;
  readonly #threadId: string;

  constructor(core: Core, threadId: string) {
    this.#core = core;
    this.#threadId = threadId;
  }

  async connect(): Promise<void> {
    const feed = await this.#core.threads.openFeed(
      { threadId: this.#threadId, afterSequence: this.seen.at(-1) ?? 0n, follow: true },
      this,
    );
    this.#feed = feed;
    feed.start();
  }

  write(frames: Buffer): boolean {
    this.#unread = Buffer.concat([this.#unread, frames]);
    if (!this.#stalled) this.#read();
    return !this.#stalled;
  }

  end(): void {}

  stall(): void {
    this.#stalled = true;
  }

  resume(): void {
    this.#stalled = false;
    this.#read();
    this.#feed?.resume();
  }

  /** Loses the connection after some of the bytes that were on their way, and comes back. */
  async cut(bytes: number): Promise<void> {
    this.#feed?.abandon();
    this.#unread = this.#unread.subarray(0, bytes);
    this.#read();
    this.#unread = Buffer.alloc(0);
    this.#stalled = false;
    await this.connect();
  }

  #read(): void {
    let end = 0;
    while (this.#unread.length >= end + envelopeBytes && this.#unread.length >= end + frameLength(this.#unread, end)) {
      end += frameLength(this.#unread, end);
    }
    for (const { sequence } of decodeFrames(this.#unread.subarray(0, end))) if (sequence > 0n) this.seen.push(sequence);
    this.#unread = this.#unread.subarray(end);
  }
}

test("S1: random appends, cuts, stalls and resumes: every subscriber sees 1..n exactly", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const core = openCore();
      try {
        const producer = await openProducer(core);
        const run = new RunScript();
        const id = newId();
        await producer.record([run.started(), run.created(id), run.inputCompleted(id), run.callStarted(id)]);
        let head = 4;
        const clients = Array.from({ length: subscribers }, () => new Client(core, producer.threadId));
        for (const client of clients) await client.connect();
        for (const step of steps) {
          if (step.kind === "append") {
            await producer.record(Array.from({ length: step.events }, () => run.output(id, "x".repeat(step.size))));
            head += step.events;
          } else if (step.kind === "cut") await clients[step.subscriber]!.cut(step.bytes);
          else if (step.kind === "stall") clients[step.subscriber]!.stall();
          else if (step.kind === "read") clients[step.subscriber]!.resume();
          else await new Promise<void>((resolve) => setImmediate(resolve));
        }
        for (const client of clients) client.resume();
        const all = Array.from({ length: head }, (_, index) => BigInt(index + 1));
        for (const client of clients)
          await vi.waitFor(() => expect(client.seen.length).toBeGreaterThanOrEqual(head), { interval: 1 });
        for (const client of clients) expect(client.seen).toEqual(all);
      } finally {
        core.feeds.close();
        core.recordings.dispose();
      }
    }),
    { numRuns: 150 },
  );
});

// The inside of a server upon a store in memory: recorder, recordings and streams, without HTTP.
import { afterEach } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { LeaseClock } from "../../src/recorder/lease-clocks.js";
import { Recorder } from "../../src/recorder/recorder.js";
import { type Batch, Recordings } from "../../src/recorder/recordings.js";
import { Feeds } from "../../src/stream/feeds.js";
import { Hub } from "../../src/stream/hub.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { createRedactor } from "../../src/thread/redact.js";
import { Threads } from "../../src/threads.js";
import { ToolCalls } from "../../src/tool-calls.js";

export interface CoreOptions {
  log?: EventLog;
  clock?: LeaseClock;
  secrets?: readonly string[];
  heartbeatMs?: number;
  maxAgeMs?: number;
}

export function openCore(options: CoreOptions = {}) {
  const log = options.log ?? openMemoryLog();
  const errors: unknown[] = [];
  const recorder = new Recorder(log, createRedactor({ secrets: options.secrets ?? [] }));
  const recordings = new Recordings(recorder, {
    ...(options.clock && { clock: options.clock }),
    onError: (error) => errors.push(error),
  });
  const hub = new Hub(log);
  const feeds = new Feeds(hub, { heartbeatMs: options.heartbeatMs ?? 60_000, maxAgeMs: options.maxAgeMs ?? 3_600_000 });
  const threads = new Threads({ log, recorder, recordings, feeds });
  return { log, recorder, recordings, hub, feeds, threads, toolCalls: new ToolCalls(log), errors };
}

export type Core = ReturnType<typeof openCore>;

/** Makes cores that are closed after each test. */
export function useCores(): (options?: CoreOptions) => Core {
  const made: Core[] = [];
  afterEach(() => {
    for (const { feeds, recordings } of made.splice(0)) {
      feeds.close();
      recordings.dispose();
    }
  });
  return (options) => {
    const core = openCore(options);
    made.push(core);
    return core;
  };
}

/** The log with some of its methods replaced. */
export const replaced = (log: EventLog, methods: Partial<EventLog>): EventLog =>
  new Proxy(log, {
    get: (target, name) => (methods[name as keyof EventLog] ?? target[name as keyof EventLog]).bind(target),
  });

/** A producer that holds a new thread. */
export async function openProducer(
  core: Pick<Core, "threads">,
  options: { threadId?: string; leaseMs?: number; takeOver?: boolean } = {},
) {
  const threadId = options.threadId ?? (await core.threads.create({ threadId: "", title: "", labels: {} })).id;
  const opened = await core.threads.openRecording(threadId, {
    producer: "a test",
    leaseMs: options.leaseMs,
    takeOver: options.takeOver ?? false,
  });
  let producerSequence = 0n;
  return {
    threadId,
    ...opened,
    /** Sends the next batch. */
    record: (events: readonly ThreadEvent[], contents: Batch["contents"] = []) =>
      core.threads.record(threadId, { ...opened, producerSequence: ++producerSequence, events, contents }),
    /** Sends a batch as it is. */
    send: (batch: Partial<Batch>) =>
      core.threads.record(threadId, { ...opened, producerSequence: 0n, events: [], contents: [], ...batch }),
    close: () => core.threads.closeRecording(threadId, opened),
  };
}

/** All stored events of a thread, read to its head. */
export async function storedEvents(
  core: Pick<Core, "threads">,
  threadId: string,
  afterSequence = 0n,
): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const event of core.threads.follow(
    { threadId, afterSequence, follow: false },
    new AbortController().signal,
  )) {
    if (event.sequence > 0n) events.push(event);
  }
  return events;
}

/** A clock that the test moves. */
export class ManualClock implements LeaseClock {
  #now = 0;
  readonly #timers = new Set<{ at: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue;
      timer.run();
    }
  }
}

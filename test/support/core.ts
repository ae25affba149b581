// The inside of a server upon a store in memory: recorder, recordings and streams, without HTTP.
import { afterEach } from "vitest";
import { ExecutorCalls } from "../../src/executor-calls.js";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import type { ApprovalSettings } from "../../src/loop/approvals.js";
import type { DelegationLimits } from "../../src/loop/delegated-tasks.js";
import type { RunDefaults } from "../../src/loop/options.js";
import type { RunLimits } from "../../src/loop/run.js";
import { Runs } from "../../src/loop/runs.js";
import { ChildRuns } from "../../src/loop/sub-runs.js";
import type { Model } from "../../src/model/model.js";
import type { LeaseClock } from "../../src/recorder/lease-clocks.js";
import type { Batch } from "../../src/recorder/record-batch.js";
import { Recorder } from "../../src/recorder/recorder.js";
import { Recordings } from "../../src/recorder/recordings.js";
import { Responses } from "../../src/responses.js";
import { Feeds } from "../../src/stream/feeds.js";
import { Hub } from "../../src/stream/hub.js";
import { HeddleError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { createRedactor } from "../../src/thread/redact.js";
import { Threads } from "../../src/threads.js";
import { delegateTask } from "../../src/tool/builtin/delegate-task.js";
import { OfferedTools } from "../../src/tool/client/offered-tools.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { noToolServers, type ToolServers } from "../../src/tool/tool-server.js";
import { ToolCalls } from "../../src/tool-calls.js";
import { ToolOffers } from "../../src/tool-offers.js";

export interface CoreOptions {
  log?: EventLog;
  clock?: LeaseClock;
  secrets?: readonly string[];
  /** How soon followers of a thread are told again: 0 for at once. */
  momentMs?: number;
  heartbeatMs?: number;
  maxAgeMs?: number;
  /** Answers every run. Without one, runs are refused. */
  model?: Model;
  tools?: readonly ToolDefinition[];
  servers?: ToolServers;
  policy?: Partial<ApprovalSettings>;
  workspace?: string;
  defaults?: Partial<RunDefaults>;
  limits?: Partial<RunLimits>;
  /** delegate_task is among the tools. */
  delegation?: Partial<DelegationLimits>;
  afterRestart?: "continue" | "end";
}

export function openCore(options: CoreOptions = {}) {
  const log = options.log ?? openMemoryLog();
  const errors: unknown[] = [];
  const recorder = new Recorder(log, createRedactor({ secrets: options.secrets ?? [] }));
  const delegation = { depth: 2, atOnce: 4, perRun: 32, ...options.delegation };
  const subRuns = new ChildRuns(delegation);
  const supply = {
    tools: new ToolRegistry([...(options.tools ?? []), ...(options.delegation ? [delegateTask(subRuns)] : [])]),
    servers: options.servers ?? noToolServers,
    offered: new OfferedTools(),
  };
  const runs = new Runs({
    log,
    recorder,
    supply,
    modelFor: (name) => {
      if (options.model) return options.model;
      throw new HeddleError("model_not_offered", "This core has no model", { detail: { model: name } });
    },
    defaults: {
      model: "a:model",
      instructions: "",
      maxSteps: 20,
      maxTokens: 0,
      timeLimitMs: 60_000,
      approvals: "ask",
      ...options.defaults,
    },
    limits: {
      toolTimeoutMs: 30_000,
      quietMs: 5_000,
      stopGraceMs: 500,
      claimTimeoutMs: 3_600_000,
      firstBackoffMs: 1,
      ...options.limits,
    },
    delegation,
    policy: { policy: {}, trusted: false, approvalTimeoutMs: 3_600_000, ...options.policy },
    ...(options.clock && { clock: options.clock }),
    workspace: options.workspace,
    afterRestart: options.afterRestart ?? "continue",
    onError: (error) => errors.push(error),
  });
  subRuns.runWith({ log, recorder, runs, onError: (error) => errors.push(error) });
  const recordings = new Recordings(recorder, {
    ...(options.clock && { clock: options.clock }),
    onError: (error) => errors.push(error),
    recoverRun: (key) => runs.recover(key),
    afterRecovery: (key) => responses.finishDeletions(key),
  });
  const hub = new Hub(log, options.momentMs === undefined ? {} : { momentMs: options.momentMs });
  const feeds = new Feeds(hub, { heartbeatMs: options.heartbeatMs ?? 60_000, maxAgeMs: options.maxAgeMs ?? 3_600_000 });
  const threads = new Threads({ log, recorder, recordings, runs, feeds });
  const responses = new Responses({ log, runs, threads });
  return {
    log,
    recorder,
    recordings,
    runs,
    supply,
    hub,
    feeds,
    threads,
    responses,
    toolCalls: new ToolCalls(log, runs),
    executorCalls: new ExecutorCalls(log, runs.clientCalls),
    toolOffers: new ToolOffers({ log, offered: supply.offered, lasting: feeds.lasting }),
    errors,
  };
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

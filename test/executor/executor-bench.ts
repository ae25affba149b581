// An executor and a server in one process, over Connect without a network: what is on the way between them can be lost.
import { Code, ConnectError, createClient, createRouterTransport, type Interceptor } from "@connectrpc/connect";
import { afterEach } from "vitest";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";
import { Executor, type ExecutorParts } from "../../src/executor/executor.js";
import type { ExecutorEvent } from "../../src/executor/executor-events.js";
import { threadService } from "../../src/projection/connect/thread-service.js";
import { toolCallService } from "../../src/projection/connect/tool-call-service.js";
import { toolService } from "../../src/projection/connect/tool-service.js";
import { toWire } from "../../src/projection/connect/wire-error.js";
import { ToolRegistry } from "../../src/tool/registry.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { type Core, type CoreOptions, openCore } from "../support/core.js";

type Kind = ExecutorEvent["kind"];

export interface BenchOptions extends CoreOptions {
  /** Of the executor. */
  readonly here: readonly ToolDefinition[];
  readonly executor?: Partial<ExecutorParts>;
  /** True: the request arrives, and its answer is lost. Asked for each. */
  readonly losesAnswer?: (method: string) => boolean;
  /** True: it never arrives. */
  readonly losesRequest?: (method: string) => boolean;
}

export class ExecutorBench {
  readonly core: Core;
  readonly events: ExecutorEvent[] = [];
  readonly methods: string[] = [];
  readonly #leave = new AbortController();
  readonly #serving: Promise<void>;
  #wake: () => void = () => {};

  constructor(options: BenchOptions) {
    this.core = openCore(options);
    const transport = createRouterTransport(
      (router) => {
        router.service(ThreadService, threadService(this.core.threads));
        router.service(ToolCallService, toolCallService(this.core.toolCalls, this.core.executorCalls));
        router.service(ToolService, toolService(this.core.toolCalls, this.core.toolOffers));
      },
      { transport: { interceptors: [this.#noted(), lossy(options)] }, router: { interceptors: [translated] } },
    );
    const executor = new Executor({
      server: {
        threads: () => createClient(ThreadService, transport),
        toolCalls: () => createClient(ToolCallService, transport),
        tools: () => createClient(ToolService, transport),
        backoff: { firstDelayMs: 1, maxDelayMs: 20 },
      },
      tools: new ToolRegistry(options.here),
      policy: { policy: {}, trusted: false },
      settings: { workspace: "/nowhere", toolTimeoutMs: 30_000, quietMs: 60_000, stopGraceMs: 500 },
      executorName: "here",
      answerer: "somebody",
      leaseMs: 30_000,
      concurrency: 4,
      threadId: undefined,
      asker: { kind: "nobody" },
      isPatient: true,
      ...options.executor,
      on: (event) => {
        this.events.push(event);
        this.#wake();
      },
    });
    this.#serving = executor.run(this.#leave.signal);
    this.#serving.catch(() => {});
  }

  of<Name extends Kind>(kind: Name): Extract<ExecutorEvent, { kind: Name }>[] {
    return this.events.filter((event): event is Extract<ExecutorEvent, { kind: Name }> => event.kind === kind);
  }

  async until(kind: Kind, count = 1): Promise<this> {
    while (this.of(kind).length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this;
  }

  /** Ctrl-C. */
  stop(): Promise<void> {
    this.#leave.abort(new Error("interrupted"));
    return this.#serving;
  }

  async close(): Promise<void> {
    await this.stop().catch(() => {});
    await this.core.runs.close();
    this.core.feeds.close();
    this.core.recordings.dispose();
  }

  #noted(): Interceptor {
    return (next) => (request) => {
      this.methods.push(request.method.name);
      return next(request);
    };
  }
}

/** Of single requests: streams are left alone. */
const lossy =
  ({ losesAnswer = () => false, losesRequest = () => false }: BenchOptions): Interceptor =>
  (next) =>
  async (request) => {
    if (request.stream) return next(request);
    const lost = () => new ConnectError("lost on the way", Code.Unavailable);
    if (losesRequest(request.method.name)) throw lost();
    const isLost = losesAnswer(request.method.name);
    const answer = await next(request).catch((reason) => {
      throw isLost ? lost() : reason;
    });
    if (isLost) throw lost();
    return answer;
  };

const translated: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    if (!response.stream) return response;
    const messages = response.message;
    async function* all() {
      try {
        yield* messages;
      } catch (reason) {
        throw toWire(reason);
      }
    }
    return { ...response, message: all() };
  } catch (reason) {
    throw toWire(reason);
  }
};

/** Benches that are gone after each test. Resolves when the tools are offered. */
export function useBenches(): (options: BenchOptions) => Promise<ExecutorBench> {
  const made: ExecutorBench[] = [];
  afterEach(async () => {
    await Promise.all(made.splice(0).map((bench) => bench.close()));
  });
  return (options) => {
    const bench = new ExecutorBench(options);
    made.push(bench);
    return bench.until("offered");
  };
}

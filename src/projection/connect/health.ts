// grpc.health.v1: whether the server takes requests. All services live and die together, so that one switch says it all.
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.js";

export interface Health {
  /**
   * Every service starts as serving. False tells all watchers and ends their streams: a server that stops serving is going
   * away, and must not be held up by those who watch it.
   */
  setServing(serving: boolean): void;
  /** Undefined for a service that the server does not have. The empty name is the server as a whole. */
  statusOf(service: string): Status | undefined;
  /** The names that have a status. */
  readonly names: readonly string[];
  /** Resolves when the server stops serving, or when the signal says that nobody waits any more. */
  whenStopped(signal: AbortSignal): Promise<void>;
}

export function createHealth(services: readonly DescService[]): Health {
  const names = ["", ...services.map((service) => service.typeName)];
  const known = new Set(names);
  const waiting = new Set<() => void>();
  let serving = true;

  return {
    names,
    statusOf: (service) => (known.has(service) ? (serving ? Status.SERVING : Status.NOT_SERVING) : undefined),
    setServing(value) {
      serving = value;
      if (serving) return;
      for (const wake of [...waiting]) wake();
    },
    whenStopped: (signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        if (!serving || signal.aborted) return resolve();
        waiting.add(wake);
        signal.addEventListener("abort", wake);
      }),
  };
}

export function registerHealth(router: ConnectRouter, health: Health): void {
  router.service(HealthService, {
    check({ service }) {
      const status = health.statusOf(service);
      if (status === undefined) throw new ConnectError(`this server has no service "${service}"`, Code.NotFound);
      return { status };
    },

    list: () => ({
      statuses: Object.fromEntries(
        health.names.map((name) => [name, { status: health.statusOf(name) ?? Status.UNKNOWN }]),
      ),
    }),

    async *watch({ service }, { signal }) {
      const first = health.statusOf(service) ?? Status.SERVICE_UNKNOWN;
      yield { status: first };
      await health.whenStopped(signal);
      const last = health.statusOf(service) ?? Status.SERVICE_UNKNOWN;
      if (!signal.aborted && last !== first) yield { status: last };
    },
  });
}

// grpc.health.v1: whether the server takes requests. All services live and die together, so that one switch says it all. Beside them
// stand others that the server depends on, each with a name of its own (`mcp/LABEL`): what becomes of them changes nothing of the rest.
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
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
  /** False from the moment on at which the server stops serving. */
  readonly serving: boolean;
  /** Resolves when a status may have changed, or when the signal says that nobody waits any more. */
  whenChanged(signal: AbortSignal): Promise<void>;
}

/** Others that have a status. Undefined: it is not known. */
export interface Dependencies {
  statuses(): ReadonlyMap<string, boolean | undefined>;
  /** Calls back when one may have changed. */
  onChange(listener: () => void): void;
}

const noDependencies: Dependencies = { statuses: () => new Map(), onChange: () => {} };

export function createHealth(services: readonly DescService[], dependencies = noDependencies): Health {
  const names = ["", ...services.map((service) => service.typeName)];
  const known = new Set(names);
  const waiting = new Set<() => void>();
  let serving = true;
  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake();
  };
  dependencies.onChange(wakeAll);

  return {
    get names() {
      return [...names, ...dependencies.statuses().keys()];
    },
    get serving() {
      return serving;
    },
    statusOf: (service) => {
      if (known.has(service)) return serving ? Status.SERVING : Status.NOT_SERVING;
      const others = dependencies.statuses();
      return others.has(service) ? dependencyStatus(others.get(service)) : undefined;
    },
    setServing(value) {
      serving = value;
      wakeAll();
    },
    whenChanged: (signal) =>
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

const dependencyStatus = (isThere: boolean | undefined): Status =>
  isThere === undefined ? Status.UNKNOWN : isThere ? Status.SERVING : Status.NOT_SERVING;

/** What the health protocol asks for. With its details it passes as it is: our own codes have no such one (wire-error.ts). */
const noService = (service: string): ConnectError =>
  new ConnectError(`this server has no service "${service.slice(0, 200)}"`, Code.NotFound, undefined, [
    { desc: ErrorInfoSchema, value: { reason: "SERVICE_NOT_FOUND", domain: "heddle" } },
  ]);

export function registerHealth(router: ConnectRouter, health: Health): void {
  router.service(HealthService, {
    check({ service }) {
      const status = health.statusOf(service);
      if (status === undefined) throw noService(service);
      return { status };
    },

    list: () => ({
      statuses: Object.fromEntries(
        health.names.map((name) => [name, { status: health.statusOf(name) ?? Status.UNKNOWN }]),
      ),
    }),

    async *watch({ service }, { signal }) {
      const now = (): Status => health.statusOf(service) ?? Status.SERVICE_UNKNOWN;
      let told: Status | undefined;
      while (!signal.aborted) {
        if (now() !== told) {
          told = now();
          yield { status: told };
        } else if (health.serving) {
          await health.whenChanged(signal);
        } else {
          return;
        }
      }
    },
  });
}

import { Code, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test, vi } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { createHealth, type Dependencies, registerHealth } from "../../../src/projection/connect/health.js";
import type { RequestHandler } from "../../../src/server/options.js";
import { startTestServer } from "../../server/support.js";

const threads = "heddle.v1.ThreadService";

async function start(dependencies?: Dependencies) {
  const health = createHealth([ThreadService], dependencies);
  const fallback = connectNodeAdapter({ routes: (router) => registerHealth(router, health) }) as RequestHandler;
  const server = await startTestServer({ fallback, timing: { drainMs: 60_000 } });
  const client = createClient(Health, createGrpcTransport({ baseUrl: server.url }));
  return { health, server, client, [Symbol.asyncDispose]: () => server.close() };
}

describe("health", () => {
  test("check: the server and its services are serving, until they are not; others are not found", async () => {
    await using place = await start();
    for (const service of ["", threads])
      expect(await place.client.check({ service })).toMatchObject({ status: Status.SERVING });
    await expect(place.client.check({ service: "nobody.Service" })).rejects.toMatchObject({ code: Code.NotFound });

    place.health.setServing(false);
    for (const service of ["", threads])
      expect(await place.client.check({ service })).toMatchObject({ status: Status.NOT_SERVING });

    place.health.setServing(true);
    expect(await place.client.check({ service: "" })).toMatchObject({ status: Status.SERVING });
  });

  test("list: every name with its status", async () => {
    await using place = await start();
    expect((await place.client.list({})).statuses).toMatchObject({
      "": { status: Status.SERVING },
      [threads]: { status: Status.SERVING },
    });
  });

  test("watch: the status at once, the change when it comes, and then the end, so that a drain is not held up", async () => {
    await using place = await start();
    const watches = ["", threads, "nobody.Service"].map((service) =>
      place.client.watch({ service })[Symbol.asyncIterator](),
    );
    const next = () => Promise.all(watches.map(async (watch) => (await watch.next()).value?.status));
    expect(await next()).toEqual([Status.SERVING, Status.SERVING, Status.SERVICE_UNKNOWN]);
    const change = next();
    place.health.setServing(false);
    expect(await change).toEqual([Status.NOT_SERVING, Status.NOT_SERVING, undefined]);
    expect(await next()).toEqual([undefined, undefined, undefined]);
    await place.server.close();
  });

  test("what the server depends on has a status of its own, which changes nothing of the rest", async () => {
    const statuses = new Map<string, boolean | undefined>([["mcp/a", undefined]]);
    let changed = (): void => {};
    const onChange = (listener: () => void): void => {
      changed = listener;
    };
    await using place = await start({ statuses: () => statuses, onChange });
    const stop = new AbortController();
    const watch = place.client.watch({ service: "mcp/a" }, { signal: stop.signal })[Symbol.asyncIterator]();
    const next = async () => (await watch.next()).value?.status;
    expect(await next()).toBe(Status.UNKNOWN);
    for (const [isThere, status] of [
      [false, Status.NOT_SERVING],
      [true, Status.SERVING],
    ] as const) {
      statuses.set("mcp/a", isThere);
      changed();
      expect(await next()).toBe(status);
    }
    expect((await place.client.list({})).statuses).toMatchObject({ "mcp/a": { status: Status.SERVING } });
    statuses.set("mcp/a", false);
    expect(await place.client.check({ service: "" })).toMatchObject({ status: Status.SERVING });
    await expect(place.client.check({ service: "mcp/b" })).rejects.toMatchObject({ code: Code.NotFound });
    stop.abort();
  });

  test("watch: a server that is not serving says so and ends", async () => {
    await using place = await start();
    place.health.setServing(false);
    const seen: Status[] = [];
    for await (const { status } of place.client.watch({ service: "" })) seen.push(status);
    expect(seen).toEqual([Status.NOT_SERVING]);
  });

  test("watch: a watcher that leaves is forgotten", async () => {
    await using place = await start();
    const leave = new AbortController();
    const watch = place.client.watch({ service: "" }, { signal: leave.signal })[Symbol.asyncIterator]();
    await watch.next();
    expect(place.server.gauges().streams).toBe(1);
    leave.abort();
    await expect(watch.next()).rejects.toMatchObject({ code: Code.Canceled });
    await vi.waitFor(() => expect(place.server.gauges().streams).toBe(0));
  });
});

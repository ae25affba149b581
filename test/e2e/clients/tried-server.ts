// A server that a suite tries hard: after every test the same process must answer and have nothing open, and at the end
// it must have nothing to say for itself but goodbye.
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../../support/server-process.js";
import { clientsFor, type OpenClients } from "./producer.js";

/** Of the suite's own connection, nothing is open between two calls; the question itself is one request. */
export const atRest = { subscriptions: 0, streams: 0, requests: 1 };

/** How long the server may take to notice that somebody has gone. */
const noticeMs = 10_000;

const title = "still here";

export interface TriedServer {
  readonly url: string;
  readonly port: number;
  readonly api: OpenClients;
  readonly threadId: string;
  status(): Promise<Record<string, number>>;
  rests(): Promise<void>;
}

/** Registers the suite's hooks. The server is there once its tests run. */
export function tryServer(options: { token?: string } = {}): TriedServer {
  let server: ServerProcess;
  let api: OpenClients;
  let threadId: string;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await newDataDir();
    server = await startServerProcess({
      dataDir,
      ...(options.token && { token: options.token, env: { HEDDLE_TOKEN: options.token } }),
    });
    api = clientsFor({ url: server.url, token: options.token });
    threadId = (await api.threads.createThread({ title })).thread!.id;
  });

  const rests = async (): Promise<void> => {
    await vi.waitFor(async () => expect(await server.status()).toMatchObject(atRest), { timeout: noticeMs });
  };

  afterEach(async () => {
    expect(server.child.exitCode ?? server.child.signalCode, server.log()).toBeNull();
    expect((await api.threads.getThread({ threadId })).thread?.title).toBe(title);
    await rests();
  });

  afterAll(async () => {
    api.close();
    expect(await server.stop(), server.log()).toBe(0);
    expect(server.log().match(/"level":"(error|fatal)".*/g), "bad input is the sender's failure").toBeNull();
    await removeDataDir(dataDir);
  });

  return {
    get url() {
      return server.url;
    },
    get port() {
      return server.port;
    },
    get api() {
      return api;
    },
    get threadId() {
      return threadId;
    },
    status: () => server.status(),
    rests,
  };
}

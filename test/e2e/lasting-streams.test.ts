// WatchThreads and OfferTools on a real server, in every protocol: what is told, who comes and goes, and the server's end.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";
import type { Frame } from "./clients/client.js";
import { type LastingCall, type LastingClient, lastingClients } from "./clients/lasting.js";
import { clientsFor, type OpenClients } from "./clients/producer.js";

const watching: LastingCall = { method: "watchThreads", request: {} };
const offering = (name: string): LastingCall => ({
  method: "offerTools",
  request: { executorName: "a test", tools: [{ name }] },
});

class Reading {
  readonly frames: Frame[] = [];
  readonly #leave = new AbortController();
  readonly over: Promise<unknown>;
  #wake: () => void = () => {};
  #isOver = false;

  constructor(client: LastingClient, url: string, call: LastingCall) {
    this.over = this.#read(client.frames({ url }, call, this.#leave.signal)).then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  async until(isDue: (frame: Frame) => boolean): Promise<void> {
    while (!this.frames.some(isDue)) {
      if (this.#isOver) throw new Error(`the stream ended early: ${String(await this.over)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  leave(): Promise<unknown> {
    this.#leave.abort();
    return this.over;
  }

  async #read(frames: AsyncIterable<Frame>): Promise<void> {
    try {
      for await (const frame of frames) {
        this.frames.push(frame);
        this.#wake();
      }
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }
}

const names = (frames: readonly Frame[]): string[] => frames.flatMap((frame) => Object.keys(frame));
const idOf = (frame: Frame): unknown => (frame["thread"] as Frame | undefined)?.["id"];

describe("every client", { timeout: 120_000 }, () => {
  let server: ServerProcess;
  let api: OpenClients;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await newDataDir();
    server = await startServerProcess({ dataDir });
    api = clientsFor(server);
  });
  afterAll(async () => {
    api.close();
    await server.stop();
    await removeDataDir(dataDir);
  });

  const rests = () =>
    vi.waitFor(async () => expect(await server.status()).toMatchObject({ lastingStreams: 0, streams: 0 }), {
      timeout: 20_000,
    });

  for (const client of lastingClients.filter(({ name }) => !name.includes("fetch"))) {
    test(`watches the list: snapshot, changes, deletion: ${client.name}`, async () => {
      const old = (await api.threads.createThread({ title: "old" })).thread!.id;
      const reading = new Reading(client, server.url, watching);
      await reading.until((frame) => "snapshotComplete" in frame);
      expect(names(reading.frames)[0]).toBe("ready");
      expect(reading.frames.find((frame) => idOf(frame) === old)).toMatchObject({
        thread: { title: "old", state: "THREAD_STATE_IDLE" },
      });
      const made = (await api.threads.createThread({})).thread!.id;
      await reading.until((frame) => idOf(frame) === made);
      await api.threads.deleteThread({ threadId: made });
      await reading.until((frame) => frame["deletedThreadId"] === made);
      await reading.leave();
      await rests();
    });

    test(`offers a tool for as long as it is there: ${client.name}`, async () => {
      const reading = new Reading(client, server.url, offering("of_a_test"));
      await reading.until((frame) => "ready" in frame);
      expect(await listed()).toContain("of_a_test");
      await reading.leave();
      await vi.waitFor(async () => expect(await listed()).not.toContain("of_a_test"), { timeout: 20_000 });
      await rests();
    });
  }

  test("1,000 who come and go leave nothing open", async () => {
    const [first, second] = [lastingClients[0]!, lastingClients[3]!];
    for (let round = 0; round < 20; round++) {
      const readings = Array.from(
        { length: 50 },
        (_, at) => new Reading(at % 2 ? first : second, server.url, at % 5 ? watching : offering(`tool_${at}`)),
      );
      await Promise.all(
        readings.map(async (reading, at) => {
          if (at % 3 > 0) await reading.until((frame) => (at % 3 === 1 ? "ready" in frame : true));
          await reading.leave();
        }),
      );
    }
    await rests();
    expect((await listed()).filter((name) => name.startsWith("tool_"))).toEqual([]);
  });

  const listed = async (): Promise<string[]> => (await api.tools.listTools({})).tools.map(({ name }) => name);
});

// Node 20's fetch forgets its signal when the garbage collector comes by: these end with their server.
for (const client of lastingClients.filter(({ name }) => name.includes("fetch"))) {
  test(`watches the list and offers a tool: ${client.name}`, { timeout: 60_000 }, async () => {
    const dataDir = await newDataDir();
    const server = await startServerProcess({ dataDir });
    const watch = new Reading(client, server.url, watching);
    const offer = new Reading(client, server.url, offering("look"));
    await watch.until((frame) => "snapshotComplete" in frame);
    await offer.until((frame) => "ready" in frame);
    await server.stop();
    for (const reading of [watch, offer]) {
      await reading.over;
      expect(reading.frames.at(-1)).toEqual({ closing: { reason: "REASON_SHUTDOWN" } });
    }
    await removeDataDir(dataDir);
  });
}

test("a server that stops tells both with Closing, and does not wait for them", { timeout: 60_000 }, async () => {
  const dataDir = await newDataDir();
  const server = await startServerProcess({ dataDir });
  const [client] = lastingClients;
  const readings = [watching, offering("look")].map((call) => new Reading(client!, server.url, call));
  for (const reading of readings) await reading.until((frame) => "ready" in frame);
  expect(await server.stop()).toBe(0);
  for (const reading of readings) {
    expect(await reading.over).toBeUndefined();
    expect(reading.frames.at(-1)).toEqual({ closing: { reason: "REASON_SHUTDOWN" } });
  }
  await removeDataDir(dataDir);
});

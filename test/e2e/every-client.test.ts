// One run, watched by every client there is, through a real server: all see the same events in the same order, whatever
// library, protocol, codec and HTTP version, and whichever of the server's two ways of serving the stream they meet.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { caseName, type ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { RunScript, storyOf } from "../support/scenario.js";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";
import { hasOpenssl } from "../support/tools.js";
import { allClients, typedClients } from "./clients/all.js";
import { type Certificate, selfSigned } from "./clients/certificate.js";
import type { Frame, StreamClient, StreamRequest, Target } from "./clients/client.js";
import { clientsFor, type OpenClients, openProducer } from "./clients/producer.js";
import { Watch } from "./clients/watch.js";

const token = "a-token-for-every-client";

/** A command's deadline includes the time that it takes to start and to ask for the schema. */
const deadlineMs = { library: 300, command: 3_000 } as const;

interface Doorway {
  readonly name: string;
  readonly isHere: boolean;
  readonly clients: readonly StreamClient[];
  readonly options: () => { token?: string; certificate?: Certificate };
}

const doorways: readonly Doorway[] = [
  { name: "plaintext, with a bearer token", isHere: true, clients: allClients, options: () => ({ token }) },
  {
    name: "TLS (needs openssl)",
    isHere: hasOpenssl(),
    clients: allClients.filter(({ trustsCertificates }) => trustsCertificates),
    options: () => ({ certificate: selfSigned() }),
  },
];

for (const doorway of doorways) {
  describe.skipIf(!doorway.isHere)(doorway.name, () => {
    const watches = new Map<StreamClient, Watch>();
    let recorded: readonly ThreadEvent[];
    let storedCount: number;
    let threadId: string;
    let server: Started;

    beforeAll(async () => {
      server = await start(doorway.options());
      const run = new RunScript();
      const story = storyOf(run);
      recorded = [...story.stored, ...story.live];
      storedCount = story.stored.length;
      const producer = await openProducer(server.api);
      threadId = producer.threadId;
      await producer.record(story.stored, story.storedBodies);
      for (const client of doorway.clients) {
        if (client.isHere) watches.set(client, new Watch(client, server.target, { threadId, follow: true }));
      }
      await Promise.all([...watches.values()].map((watch) => watch.until("caughtUp")));
      // One by one: what comes live comes in many small pieces.
      for (const event of story.live) await producer.record([event]);
      await Promise.all([...watches.values()].map((watch) => watch.until("runCompleted")));
      await producer.close();
    });
    afterAll(async () => {
      const left = [...watches.values()].map((watch) => watch.leave());
      // Node 20's fetch forgets its signal when the garbage collector comes by: those end with the server.
      await server?.stop();
      await Promise.allSettled(left);
    });

    /** What a client of the reference implementation saw. */
    const reference = (): Frame[] => stored([...watches.values()][0]!.frames);

    test("what is seen is what was recorded, in its order, numbered from 1", () => {
      expect(reference().map(({ sequence }) => sequence)).toEqual(recorded.map((_, index) => String(index + 1)));
      expect(reference().map(payloadName)).toEqual(recorded.map(({ payload }) => camelCase(caseName(payload))));
      const outputs = reference().flatMap(
        (frame) => (frame["toolCallOutputDelta"] as { text: string } | undefined)?.text ?? [],
      );
      expect(outputs).toEqual(["1 failed, 41 passed\n", "TypeError: nöpe\n"]);
      expect(reference().at(-1)).toMatchObject({ runCompleted: { usage: { inputTokens: "9007199254740993" } } });
    });

    for (const client of doorway.clients) {
      describe.skipIf(!client.isHere).concurrent(client.name, () => {
        test("follows live: Ready, what was stored, CaughtUp, what happens", () => {
          const { frames } = watches.get(client)!;
          expect(stored(frames)).toEqual(reference());
          expect(order(frames)).toEqual([
            "ready",
            ...range(1, storedCount),
            "caughtUp",
            ...range(storedCount + 1, recorded.length),
          ]);
          expect(frames[0]).toMatchObject({
            threadId,
            ready: { headSequence: String(storedCount), firstSequence: "1" },
          });
          expect(frames[storedCount + 1]).toMatchObject({ caughtUp: { headSequence: String(storedCount) } });
        });

        test("reads to the head: the stream ends well behind CaughtUp", async () => {
          const frames = await readToEnd(client, { threadId });
          expect(stored(frames)).toEqual(reference());
          expect(order(frames)).toEqual(["ready", ...range(1, recorded.length), "caughtUp"]);
        });

        test("S1: resumes behind the entry it names", async () => {
          const frames = await readToEnd(client, { threadId, afterSequence: 7n });
          expect(stored(frames)).toEqual(reference().slice(7));
          expect(order(frames)).toEqual(["ready", ...range(8, recorded.length), "caughtUp"]);
        });
      });
    }

    async function readToEnd(client: StreamClient, request: StreamRequest): Promise<Frame[]> {
      const watch = new Watch(client, server.target, request);
      expect(await watch.end()).toBeUndefined();
      return watch.frames;
    }
  });
}

describe("errors, with the code and the typed details that every protocol carries", () => {
  let server: Started;
  let threadId: string;
  let deletedId: string;
  const head = 5;

  beforeAll(async () => {
    server = await start({ token });
    const run = new RunScript();
    const producer = await openProducer(server.api);
    threadId = producer.threadId;
    await producer.record([run.started(), ...run.message("short"), run.completed()]);
    await producer.close();
    const { thread } = await server.api.threads.createThread({});
    deletedId = thread!.id;
    await server.api.threads.deleteThread({ threadId: deletedId });
  });
  afterAll(() => server?.stop());

  const info = (reason: string) => ({ type: "google.rpc.ErrorInfo", value: { reason, domain: "heddle" } });

  const refusals: readonly {
    what: string;
    request: () => StreamRequest;
    headers?: Record<string, string>;
    code: string;
    details: unknown[];
  }[] = [
    {
      what: "an unknown thread",
      request: () => ({ threadId: newId(), follow: true }),
      code: "not_found",
      details: [info("THREAD_NOT_FOUND")],
    },
    {
      what: "a deleted thread",
      request: () => ({ threadId: deletedId, follow: true }),
      code: "not_found",
      details: [info("THREAD_DELETED")],
    },
    {
      what: "a position beyond the head",
      request: () => ({ threadId, afterSequence: BigInt(head + 1), follow: true }),
      code: "out_of_range",
      details: [
        info("SEQUENCE_OUT_OF_RANGE"),
        { type: "heddle.v1.SequenceRange", value: { headSequence: String(head), firstSequence: "1" } },
      ],
    },
    {
      what: "an id that is none",
      request: () => ({ threadId: "not-a-uuid", follow: true }),
      code: "invalid_argument",
      details: [
        info("INVALID_FIELD"),
        { type: "heddle.v1.FieldViolation", value: { field: "thread_id", rule: "a UUID in lower case with hyphens" } },
      ],
    },
    {
      what: "a wrong token",
      request: () => ({ threadId }),
      headers: { authorization: "Bearer not-the-token-of-anybody" },
      code: "unauthenticated",
      details: [info("UNAUTHENTICATED")],
    },
  ];

  for (const client of typedClients) {
    describe.skipIf(!client.isHere).concurrent(client.name, () => {
      test.each(refusals)("$what is refused before Ready", async ({ request, code, details, headers = {} }) => {
        const watch = new Watch(client, server.target, request(), { headers });
        expect(await watch.end()).toMatchObject({ code, details });
        expect(watch.frames).toEqual([]);
      });

      test("a deadline of the client's ends the stream", async () => {
        const timeoutMs = client.isCommand ? deadlineMs.command : deadlineMs.library;
        const watch = new Watch(client, server.target, { threadId, follow: true }, { timeoutMs });
        expect(await watch.end()).toMatchObject({ code: "deadline_exceeded" });
      });

      const { timeoutHeader } = client;
      if (!timeoutHeader) return;
      test("a deadline is kept by the server, and said so", async () => {
        const headers = { [timeoutHeader.name]: timeoutHeader.value(deadlineMs.library) };
        const watch = new Watch(client, server.target, { threadId, follow: true }, { headers });
        expect(await watch.end()).toMatchObject({ code: "deadline_exceeded", details: [info("DEADLINE_EXCEEDED")] });
        expect(order(watch.frames)).toEqual(["ready", ...range(1, head), "caughtUp"]);
      });
    });
  }

  for (const client of typedClients) {
    test.skipIf(!client.isHere)(
      `a client that leaves is cancelled, and nothing of it stays: ${client.name}`,
      async () => {
        const watch = new Watch(client, server.target, { threadId, follow: true });
        await watch.until("caughtUp");
        expect((await server.process.status())["subscriptions"]).toBe(1);
        expect(await watch.leave()).toMatchObject({ code: "canceled" });
        await vi.waitFor(async () =>
          expect(await server.process.status()).toMatchObject({ subscriptions: 0, streams: 0, requests: 1 }),
        );
      },
    );
  }
});

interface Started {
  readonly target: Target;
  readonly process: ServerProcess;
  readonly api: OpenClients;
  stop(): Promise<void>;
}

async function start(options: { token?: string; certificate?: Certificate }): Promise<Started> {
  const { certificate } = options;
  const dataDir = await newDataDir();
  const process = await startServerProcess({
    dataDir,
    ...(options.token && { token: options.token }),
    ...(certificate && { ca: certificate.pem }),
    env: {
      ...(options.token && { HEDDLE_TOKEN: options.token }),
      ...(certificate && { HEDDLE_TLS_CERT: certificate.certFile, HEDDLE_TLS_KEY: certificate.keyFile }),
    },
  });
  const target: Target = {
    url: process.url,
    token: options.token,
    ca: certificate && { pem: certificate.pem, path: certificate.certFile },
  };
  const api = clientsFor(target);
  return {
    target,
    process,
    api,
    stop: async () => {
      api.close();
      await process.stop();
      await removeDataDir(dataDir);
      certificate?.remove();
    },
  };
}

const common = new Set(["threadId", "sequence", "time", "runId"]);

const payloadName = (frame: Frame): string => Object.keys(frame).find((key) => !common.has(key)) ?? "none";

const stored = (frames: readonly Frame[]): Frame[] => frames.filter((frame) => "sequence" in frame);

/** Sequences and names of control frames, without the signs of life that a slow machine may bring in between. */
const order = (frames: readonly Frame[]): string[] =>
  frames
    .filter((frame) => !("heartbeat" in frame))
    .map((frame) => (frame["sequence"] as string | undefined) ?? payloadName(frame));

const range = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, n) => String(first + n));

const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Closing_Reason } from "../../gen/heddle/v1/event_pb.js";
import { type FollowState, followThread, reasonOf } from "../../src/client/index.js";
import { heddleError } from "../../src/client/resumable.js";
import {
  closing,
  entry,
  following,
  heartbeat,
  ready,
  scriptedServer,
  sequences,
  silence,
  some,
  upTo,
} from "./support.js";

const unavailable = () => new ConnectError("gone", Code.Unavailable);

/** Ways in which a stream that should go on comes to its end. */
const cuts = {
  "a status UNAVAILABLE": () => {
    throw unavailable();
  },
  "a reset that is seen as INTERNAL": () => {
    throw new ConnectError("http/2 stream closed with error code INTERNAL_ERROR (0x2)", Code.Internal);
  },
  "a cancellation that is not ours": () => {
    throw new ConnectError("stream cancelled", Code.Canceled);
  },
  "an end without a word": () => [],
  "Closing, for a shutdown": () => [closing(Closing_Reason.SHUTDOWN)],
  "Closing, for age": () => [closing(Closing_Reason.MAX_AGE)],
};
const cutNames = Object.keys(cuts) as (keyof typeof cuts)[];

describe("S1: every entry once and in order", () => {
  test.each(cutNames)("cut after every entry by %s", async (name) => {
    const { client, opened } = scriptedServer(
      () =>
        async function* (request) {
          yield* some(20, request, 1);
          if (request.afterSequence < 19n) yield* cuts[name]();
        },
    );
    expect(await sequences(followThread(client, following()))).toEqual(upTo(20));
    expect(opened.map(Number)).toEqual([0, ...upTo(19)]);
  });

  test("cut anywhere, in any way, any number of times", async () => {
    const cut = fc.record({ count: fc.nat(6), by: fc.constantFrom(...cutNames), before: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.nat(25), fc.array(cut, { maxLength: 12 }), fc.nat(25), async (head, plan, start) => {
        const after = Math.min(start, head);
        const { client } = scriptedServer(
          (attempt) =>
            async function* (request) {
              const step = plan[attempt];
              if (step === undefined) return yield* some(head, request, head);
              if (step.before) throw unavailable();
              const untilCut = Math.min(step.count, head - Number(request.afterSequence));
              yield ready(head);
              for (let n = 1; n <= untilCut; n++) yield entry(request.afterSequence + BigInt(n));
              yield* cuts[step.by]();
            },
        );
        const seen = await sequences(followThread(client, following({ afterSequence: BigInt(after) })));
        expect(seen).toEqual(upTo(head).slice(after));
      }),
      { numRuns: 60 },
    );
  });

  test("with follow, what comes live follows what was stored", async () => {
    const { client } = scriptedServer(
      (attempt) =>
        async function* (request) {
          yield* some(3 + attempt, request, 99);
          yield entry(4 + attempt);
          throw unavailable();
        },
    );
    expect(await sequences(followThread(client, following({ follow: true })), 12)).toEqual(upTo(12));
  });

  test.each([
    ["a gap", [1, 2, 4]],
    ["a repetition", [1, 2, 2]],
  ])("%s is DATA_LOSS, and is not tried again", async (_, sent) => {
    const { client, opened } = scriptedServer(
      () =>
        async function* () {
          yield ready(4);
          yield* sent.map(entry);
        },
    );
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of followThread(client, following())) seen.push(Number(event.sequence));
    })();
    await expect(reading).rejects.toMatchObject({ code: Code.DataLoss });
    expect(seen).toEqual([1, 2]);
    expect(opened).toHaveLength(1);
  });
});

describe("the end", () => {
  test("without follow it comes at the head, also when the stream's own end is lost", async () => {
    const { client, opened } = scriptedServer(
      () =>
        async function* (request) {
          yield* some(3, request, 99);
          throw unavailable();
        },
    );
    expect(await sequences(followThread(client, following()))).toEqual([1, 2, 3]);
    expect(opened).toHaveLength(1);
  });

  test.each([
    Code.NotFound,
    Code.OutOfRange,
    Code.Unauthenticated,
    Code.PermissionDenied,
    Code.InvalidArgument,
    Code.Unimplemented,
  ])("a request that is refused with code %d is not tried again", async (code) => {
    const { client, opened } = scriptedServer(
      () =>
        // biome-ignore lint/correctness/useYield: the error comes instead of the first frame.
        async function* () {
          throw new ConnectError("no", code);
        },
    );
    await expect(sequences(followThread(client, following()))).rejects.toMatchObject({ code });
    expect(opened).toHaveLength(1);
  });

  test.each([
    [false, 1],
    [true, 3],
  ])("storage that fails, with follow %s, is asked %d times", async (follow, times) => {
    const { client, opened } = scriptedServer(
      (attempt) =>
        async function* (request) {
          yield* some(3, request, 1);
          if (attempt < 2) throw heddleError(Code.Unavailable, "STORAGE_FAILED", "cannot read");
        },
    );
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of followThread(client, following({ follow }))) {
        seen.push(Number(event.sequence));
        if (seen.length === 3) return;
      }
    })();
    if (follow) await reading;
    else await expect(reading).rejects.toMatchObject({ code: Code.Unavailable });
    expect(opened).toHaveLength(times);
  });

  test("a thread that is deleted meanwhile looks like one that was deleted before", async () => {
    const { client } = scriptedServer(
      () =>
        async function* () {
          yield ready(0);
          yield closing(Closing_Reason.THREAD_DELETED);
        },
    );
    const error = await sequences(followThread(client, following({ follow: true }))).catch((reason) => reason);
    expect(error).toMatchObject({ code: Code.NotFound });
    expect(reasonOf(error)).toBe("THREAD_DELETED");
  });

  test("a caller that stops early lets go of the stream", async () => {
    const left = new Promise<void>((resolve) => {
      const { client } = scriptedServer(
        () =>
          async function* (request, context) {
            context.signal.addEventListener("abort", () => resolve());
            yield* some(3, request, 99);
            await silence(context);
          },
      );
      void sequences(followThread(client, following({ follow: true })), 2);
    });
    await left;
  });

  test("a caller that aborts gets its own reason, whether the stream is quiet or the next one is awaited", async () => {
    for (const state of ["caught_up", "waiting"] as const) {
      const caller = new AbortController();
      const { client } = scriptedServer(
        () =>
          async function* (request, context) {
            yield* some(1, request, 99);
            if (state === "waiting") throw unavailable();
            await silence(context);
          },
      );
      const options = following({
        follow: true,
        signal: caller.signal,
        backoff: { firstDelayMs: 60_000 },
        onState: (now) => now.state === state && queueMicrotask(() => caller.abort(new Error("enough"))),
      });
      await expect(sequences(followThread(client, options))).rejects.toThrow("enough");
    }
  });
});

describe("time", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("a stream that goes silent is opened anew after the idle timeout, heartbeats keep it open", async () => {
    const { client, opened } = scriptedServer(
      (attempt) =>
        async function* (request, context) {
          if (attempt > 0) return yield* some(3, request, 99);
          yield* some(3, request, 2);
          for (let beat = 0; beat < 3; beat++) {
            await new Promise((resolve) => setTimeout(resolve, 900));
            yield heartbeat();
          }
          await silence(context);
        },
    );
    const reading = sequences(followThread(client, following({ idleTimeoutMs: 1000 })));
    await vi.advanceTimersByTimeAsync(2700 + 999);
    expect(opened).toEqual([0n]);
    await vi.advanceTimersByTimeAsync(2);
    expect(await reading).toEqual([1, 2, 3]);
    expect(opened).toEqual([0n, 2n]);
  });

  test("a server that takes the stream and never says Ready is given up sooner", async () => {
    const { client, opened } = scriptedServer(
      (attempt) =>
        async function* (request, context) {
          if (attempt === 0) await silence(context);
          yield* some(1, request, 99);
        },
    );
    const reading = sequences(followThread(client, following({ readyTimeoutMs: 50 })));
    await vi.advanceTimersByTimeAsync(51);
    expect(await reading).toEqual([1]);
    expect(opened).toHaveLength(2);
  });

  test("time that the caller takes is not silence", async () => {
    const { client, opened } = scriptedServer(() => (request) => some(3, request, 99));
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of followThread(client, following({ idleTimeoutMs: 1000 }))) {
        await new Promise((resolve) => setTimeout(resolve, 5000));
        seen.push(Number(event.sequence));
      }
    })();
    await vi.advanceTimersByTimeAsync(15_000);
    await reading;
    expect(seen).toEqual([1, 2, 3]);
    expect(opened).toHaveLength(1);
  });

  test("waits grow to a bound, shrink when something new comes, and an answer alone does not shrink them", async () => {
    const waits: number[] = [];
    const { client } = scriptedServer(
      (attempt) =>
        async function* (request) {
          if (attempt === 5) yield* some(2, request, 1);
          else if (attempt === 8) return yield* some(2, request, 1);
          else yield ready(2);
          throw unavailable();
        },
    );
    const onState = (now: FollowState) => void (now.state === "waiting" && waits.push(now.delayMs));
    const options = following({ onState, backoff: { firstDelayMs: 100, maxDelayMs: 1000, random: () => 0.5 } });
    const reading = sequences(followThread(client, options));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await reading).toEqual([1, 2]);
    expect(waits).toEqual([75, 150, 300, 600, 750, 75, 150, 300]);
  });

  test("a server that stays away is given up after the bound, with its last error", async () => {
    const away = () =>
      scriptedServer(
        (attempt) =>
          async function* () {
            if (attempt === 3) yield ready(0);
            throw unavailable();
          },
      );
    const first = away();
    const backoff = { maxAttempts: 5, maxFirstAttempts: 2 };
    await expect(rejection(followThread(first.client, following({ backoff })))).resolves.toMatchObject({
      code: Code.Unavailable,
    });
    expect(first.opened).toHaveLength(2);
    const later = away();
    await rejection(followThread(later.client, following({ backoff: { ...backoff, maxFirstAttempts: 9 } })));
    expect(later.opened).toHaveLength(4 + 4);
  });
});

test("control frames come along only when asked for", async () => {
  const { client } = scriptedServer(
    (attempt) =>
      async function* (request) {
        if (attempt > 0) return yield* some(1, request, 1);
        yield ready(1);
        yield heartbeat();
        yield closing(Closing_Reason.SHUTDOWN);
      },
  );
  const cases: (string | undefined)[] = [];
  for await (const frame of followThread(client, following({ control: true }))) cases.push(frame.payload.case);
  expect(cases).toEqual(["ready", "heartbeat", "closing", "ready", "messageDelta", "caughtUp"]);
});

async function rejection(events: AsyncIterable<unknown>): Promise<unknown> {
  const reading = sequences(events as never).then(
    () => new Error("nothing was thrown"),
    (reason) => reason,
  );
  await vi.advanceTimersByTimeAsync(600_000);
  return reading;
}

// Streams that are opened again and requests that are made again: when, how often, and when not.
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { insist, type KeepOptions, type KeepState, keepOpen } from "../../src/client/index.js";
import { heddleError } from "../../src/client/resumable.js";

interface Frame {
  readonly payload: { readonly case: string | undefined };
}

const frame = (name: string): Frame => ({ payload: { case: name } });
const cut = () => new ConnectError("the connection was reset", Code.Unavailable);
const backoff = { firstDelayMs: 1, maxDelayMs: 2 };

type Script = (attempt: number, signal: AbortSignal) => AsyncIterable<Frame>;

/** The names of the first frames over all streams, and how often one was opened. */
async function kept(script: Script, count: number, options: Partial<KeepOptions> = {}) {
  const leave = new AbortController();
  const states: KeepState["state"][] = [];
  const names: (string | undefined)[] = [];
  let opened = 0;
  const open = ({ signal }: { signal?: AbortSignal | undefined }) => script(opened++, signal!);
  const onState = ({ state }: KeepState): void => void states.push(state);
  for await (const { payload } of keepOpen(open, { signal: leave.signal, backoff, onState, ...options })) {
    names.push(payload.case);
    if (names.length === count) break;
  }
  return { names, states, opened };
}

describe("a stream that is kept open", () => {
  test("is opened again when it breaks, is closed, or ends without a word", async () => {
    const script: Script = async function* (attempt) {
      yield frame("ready");
      if (attempt === 0) throw cut();
      if (attempt === 1) yield frame("closing");
      if (attempt > 2) yield frame("thread");
    };
    expect(await kept(script, 6)).toEqual({
      names: ["ready", "ready", "closing", "ready", "ready", "thread"],
      states: ["open", "waiting", "open", "waiting", "open", "waiting", "open"],
      opened: 4,
    });
  });

  test("is opened again when nothing comes, not even a heartbeat; the silent one is let go", async () => {
    const left: boolean[] = [];
    const script: Script = async function* (attempt, signal) {
      yield frame("ready");
      if (attempt > 0) return yield frame("thread");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      left.push(signal.aborted);
      throw signal.reason;
    };
    expect(await kept(script, 3, { idleTimeoutMs: 20 })).toMatchObject({ names: ["ready", "ready", "thread"] });
    expect(left).toEqual([true]);
  });

  test("is not opened again when the server has decided", async () => {
    const script: Script = async function* () {
      yield* [];
      throw heddleError(Code.NotFound, "THREAD_NOT_FOUND", "there is none");
    };
    await expect(kept(script, 1)).rejects.toMatchObject({ code: Code.NotFound });
  });

  test("a server that was never there is given up sooner than one that went away", async () => {
    let tries = 0;
    const script: Script = async function* () {
      tries++;
      yield* [];
      throw cut();
    };
    await expect(kept(script, 1, { backoff: { ...backoff, maxFirstAttempts: 3 } })).rejects.toThrow(/reset/);
    expect(tries).toBe(3);
  });

  test("ends with its signal, wherever it waits", async () => {
    const leave = new AbortController();
    const reason = new Error("enough");
    const script = async function* () {
      yield frame("ready");
      setImmediate(() => leave.abort(reason));
      await new Promise(() => {});
    };
    const reading = (async () => {
      for await (const _ of keepOpen(() => script(), { signal: leave.signal, backoff }));
    })();
    await expect(reading).rejects.toBe(reason);
  });
});

describe("a request that is made again", () => {
  const { signal } = new AbortController();

  test("until it is answered", async () => {
    const attempts: number[] = [];
    const answer = await insist(
      async (attempt) => {
        attempts.push(attempt);
        if (attempt < 4) throw cut();
        return "there";
      },
      { signal, backoff },
    );
    expect(answer).toBe("there");
    expect(attempts).toEqual([1, 2, 3, 4]);
  });

  test("not when the server has decided, nor when the caller leaves", async () => {
    const over = heddleError(Code.FailedPrecondition, "TOOL_CALL_OVER", "it is over");
    await expect(insist(() => Promise.reject(over), { signal, backoff })).rejects.toBe(over);
    const leave = new AbortController();
    const reason = new Error("enough");
    const leaving = async (): Promise<never> => {
      leave.abort(reason);
      throw cut();
    };
    await expect(insist(leaving, { signal: leave.signal, backoff })).rejects.toBe(reason);
  });
});

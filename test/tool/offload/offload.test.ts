import { describe, expect, test } from "vitest";
import { maxThreads, offload } from "../../../src/tool/offload/offload.js";
import type { Job } from "./jobs/jobs.js";

const jobs = new URL("./jobs/jobs.ts", import.meta.url);
const open = new AbortController().signal;
const run = (job: Job, options: { signal?: AbortSignal; onProgress?: (said: string) => void; heapMb?: number } = {}) =>
  offload<{ job: Job; value: number }, unknown, string>(jobs, { job, value: 21 }, { signal: open, ...options });

describe("offload", () => {
  test("gives the result, and says before how it goes", async () => {
    const said: string[] = [];
    expect(await run("double", { onProgress: (progress) => said.push(progress) })).toBe(42);
    expect(said).toEqual(["doing double"]);
  });

  test("keeps a ToolFailure's words and code", async () => {
    await expect(run("fail")).rejects.toMatchObject({
      name: "ToolFailure",
      code: "EPERM",
      message: "It may not; do something else",
    });
  });

  test.each([
    ["throw", "out of range"],
    ["exit", "The thread ended without an answer"],
    ["opaque", /could not be cloned/],
  ] as const)("fails when the job ends by %s", async (job, message) => {
    await expect(run(job)).rejects.toThrow(message);
  });

  test("has a bound for memory, and the server stays", async () => {
    await expect(run("fill", { heapMb: 32 })).rejects.toMatchObject({ name: "ToolFailure", code: "ENOMEM" });
  });

  test("hands over no environment", async () => {
    expect(await run("env")).toEqual([]);
  });

  test.each(["spin", "hang"] as const)(
    "ends a job that would %s for ever, and holds nobody up meanwhile",
    async (job) => {
      const caller = new AbortController();
      const reason = new Error("called off");
      const ended = run(job, {
        signal: caller.signal,
        // By a turn of the event loop, which goes on.
        onProgress: () => setImmediate(() => caller.abort(reason)),
      });
      await expect(ended).rejects.toBe(reason);
    },
  );

  test("does not begin what is called off already", async () => {
    const reason = new Error("called off");
    await expect(run("spin", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("begins no more than a few at a time, and the others in order as places come free", async () => {
    const begun: number[] = [];
    let isFull = (): void => {};
    const full = new Promise<void>((resolve) => {
      isFull = resolve;
    });
    const jobs = Array.from({ length: maxThreads + 3 }, (_, index) => {
      const caller = new AbortController();
      const onProgress = (): void => {
        if (begun.push(index) === maxThreads) isFull();
      };
      const ended = run("hang", { signal: caller.signal, onProgress }).catch((reason) => reason);
      return { ended, callOff: (reason: string) => caller.abort(reason) };
    });
    const [waiting, next, last] = jobs.slice(maxThreads);
    await full;
    // Leaves the queue at once, though no place is free.
    waiting!.callOff("left the queue");
    expect(await waiting!.ended).toBe("left the queue");
    const after = run("double");
    next!.callOff("left as well");
    last!.callOff("left as well");
    jobs[0]!.callOff("made room");
    expect(await after).toBe(42);
    expect(begun.toSorted()).toEqual(Array.from({ length: maxThreads }, (_, index) => index));
    for (const job of jobs) job.callOff("the end");
    await Promise.all(jobs.map(({ ended }) => ended));
  });

  test("fails for a module that is not there", async () => {
    await expect(offload(new URL("./nothing.ts", import.meta.url), {}, { signal: open })).rejects.toThrow(/nothing/);
  });
});

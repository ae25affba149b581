// What ends the watching of a run when the run itself does not: each wait has a bound.
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Failure } from "../../src/cli/failure.js";
import { Interrupted } from "../../src/cli/interrupt.js";
import { longestOutageMs } from "../../src/cli/outage.js";
import type { RunClient } from "../../src/cli/run-prompt-client.js";
import { watchRun } from "../../src/cli/run-prompt-watch.js";
import type { RunView } from "../../src/cli/run-view.js";
import { runId, threadId } from "./live-view-support.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const view: RunView = {
  event: async () => {},
  ask: () => Promise.reject(new Error("nobody asks")),
  note: () => {},
  foreign: () => {},
  away: () => {},
  farewell(text) {
    farewell = text;
  },
  close: async () => {},
};

/** What was asked to be said if the process ends at once. */
let farewell = "";

/** A run of which nothing more is heard; `isAway`: because its server is gone. */
function watchSilence(isAway: boolean, { isOwn = false, data }: { isOwn?: boolean; data?: string } = {}) {
  const interruption = new AbortController();
  const client: RunClient = {
    start: () => Promise.reject(new Error("it has begun")),
    async *events({ signal, onState }) {
      if (isAway) onState?.({ state: "waiting", delayMs: 1, reason: new ConnectError("refused", Code.Unavailable) });
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    cancel: async () => {},
    call: () => Promise.reject(new Error("nobody asks")),
    content: () => {
      throw new Error("nobody asks");
    },
    answer: () => Promise.reject(new Error("nobody asks")),
    close: () => {},
  };
  const server = {
    place: { url: () => "http://127.0.0.1:9", token: undefined },
    isOwn,
    dataDir: undefined,
    where: { data },
    close: async () => {},
  };
  const run = { threadId, runId, afterSequence: 0n };
  const ended = watchRun({
    client,
    run,
    view,
    server,
    answering: "nobody",
    signal: interruption.signal,
  }).catch((reason) => reason as unknown);
  return { interruption, ended };
}

const endingOf = async (ended: Promise<unknown>) => {
  const reason = await ended;
  expect(reason).toBeInstanceOf(Failure);
  return (reason as Failure).ending;
};

test("a server that stays away ends it with 4 and how to go on", async () => {
  const { ended } = watchSilence(true);
  await vi.advanceTimersByTimeAsync(longestOutageMs);
  const { code, message } = await endingOf(ended);
  expect(code).toBe(4);
  expect(message).toBe(
    `the server at http://127.0.0.1:9 has been away for 2 minutes (refused). The run may go on without this command: follow it later with heddle follow ${threadId}`,
  );
  expect(vi.getTimerCount()).toBe(0);
});

test("a run that SIGTERM has called off, and that does not end, is left", async () => {
  const { ended, interruption } = watchSilence(false);
  interruption.abort(new Interrupted("SIGTERM"));
  await vi.advanceTimersToNextTimerAsync();
  const { code, message } = await endingOf(ended);
  expect(code).toBe(143);
  expect(message).toMatch(/^the run has not ended in time\. .*heddle follow /);
});

test("a run that Ctrl-C has called off is watched for as long as it takes: a second one leaves", async () => {
  const { ended, interruption } = watchSilence(false);
  interruption.abort(new Interrupted("SIGINT"));
  await vi.advanceTimersByTimeAsync(10 * longestOutageMs);
  expect(await Promise.race([ended, Promise.resolve("goes on")])).toBe("goes on");
});

test("who leaves a run of the command's own at once is told what becomes of it", async () => {
  const { ended, interruption } = watchSilence(false, { isOwn: true, data: "d" });
  expect(farewell).toBe(
    `left at once: the run was cut off, and its record stays open: the next heddle run "…" --data d or heddle serve --data d records what became of it. Thread ${threadId}`,
  );
  interruption.abort(new Interrupted("SIGTERM"));
  await vi.advanceTimersToNextTimerAsync();
  await endingOf(ended);
});

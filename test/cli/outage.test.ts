// How long a run waits for a server that went away.
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { longestOutageMs, watchOutages } from "../../src/cli/outage.js";
import type { FollowState } from "../../src/client/index.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const waiting = (text: string): FollowState => ({
  state: "waiting",
  delayMs: 1,
  reason: new ConnectError(text, Code.Unavailable),
});
const open: FollowState = { state: "open", headSequence: 1n };

function watch() {
  const notes: string[] = [];
  const away: boolean[] = [];
  const givenUp: string[] = [];
  const { onState, stop } = watchOutages(
    { note: (text) => notes.push(text), away: (isAway) => away.push(isAway) },
    (reason) => givenUp.push(reason.rawMessage),
  );
  return { onState, stop, notes, away, givenUp };
}

test("gives up once it has lasted too long, with what the last try met", () => {
  const { onState, away, givenUp } = watch();
  onState(waiting("first"));
  vi.advanceTimersByTime(longestOutageMs - 1);
  onState(waiting("last"));
  expect(givenUp).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(givenUp).toEqual(["last"]);
  expect(away).toEqual([true]);
});

test("a server that comes back has all the time again", () => {
  const { onState, away, givenUp } = watch();
  onState(waiting("a"));
  vi.advanceTimersByTime(longestOutageMs - 1);
  onState(open);
  onState(waiting("b"));
  vi.advanceTimersByTime(longestOutageMs - 1);
  expect(givenUp).toEqual([]);
  expect(away).toEqual([true, false, true]);
});

test("nothing happens after its end", () => {
  const { onState, stop, givenUp } = watch();
  onState(waiting("a"));
  stop();
  vi.advanceTimersByTime(longestOutageMs);
  expect(givenUp).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

// How followers of a response are woken: once for all events that came together, and never again once they have left.
import { expect, test } from "vitest";
import type { NumberedFrame } from "../../../src/projection/responses/events.js";
import { LiveResponses } from "../../../src/projection/responses/live.js";
import type { Piece } from "../../../src/projection/responses/piece.js";
import type { StoredResponse } from "../../../src/responses.js";
import { newId } from "../../../src/thread/ids.js";

const stored = (): StoredResponse => ({
  threadId: newId(),
  first: 1n,
  runId: newId(),
  runStarted: 1n,
  inputEnd: 1n,
  record: "{}",
});

const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const frame = (number: number): NumberedFrame => ({
  number,
  frame: { type: "response.output_text.delta", ...place, delta: "a", logprobs: [] },
});

/** A fold that gives its groups one by one, each when it is told to, and then ends. */
function groups(...sizes: readonly number[]) {
  const gates = sizes.map(() => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, opened };
  });
  async function* fold(): AsyncGenerator<NumberedFrame, unknown> {
    let number = 0;
    for (const [index, size] of sizes.entries()) {
      await gates[index]!.opened;
      for (let event = 0; event < size; event++) yield frame(number++);
    }
    return undefined;
  }
  return { fold, open: (index: number) => gates[index]!.open() };
}

test("events that come together leave in one write, for every follower the same bytes", async () => {
  const { fold, open } = groups(10, 5);
  const live = new LiveResponses(fold);
  const response = stored();
  const followers = Array.from({ length: 3 }, () => live.follow(response, -1, new AbortController().signal));
  const next = (): Promise<Piece[]> =>
    Promise.all(followers.map(async (follower) => (await follower.next()).value as Piece));
  const first = next();
  open(0);
  expect((await first).map(({ last }) => last)).toEqual([9, 9, 9]);
  const second = next();
  open(1);
  const pieces = await second;
  expect(pieces.map(({ last }) => last)).toEqual([14, 14, 14]);
  expect(new Set(pieces.map(({ bytes }) => bytes)).size).toBe(1);
  for (const follower of followers) expect((await follower.next()).done).toBe(true);
  expect(live.size).toBe(0);
});

test("a follower that leaves while it waits ends at once, and with the last one the fold is let go", async () => {
  const { fold } = groups(1);
  const live = new LiveResponses(fold);
  const [leaver, left] = [live.follow(stored(), -1, AbortSignal.abort()), new AbortController()];
  expect((await leaver.next()).done).toBe(true);
  const waiting = live.follow(stored(), -1, left.signal).next();
  left.abort();
  expect((await waiting).done).toBe(true);
  expect(live.size).toBe(0);
});

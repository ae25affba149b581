// Followers that come late, or are slow, of responses that are too large to be kept: what they cost is counted in folds and in events
// that are folded, and does not depend on how often they are behind.
import { expect, test } from "vitest";
import { encoded, type NumberedFrame } from "../../../src/projection/responses/events.js";
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

const delta = "a".repeat(64 * 1024);
const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const frame = (number: number): NumberedFrame => ({
  number,
  frame: { type: "response.output_text.delta", ...place, delta: `${number} ${delta}`, logprobs: [] },
});
/** Events of 50 MB. */
const total = 800;
/** Events of all that is kept, and of one write. */
const [kept, written] = [64, 5];

/** A response that grows when it is told to; every fold of it waits for what is to come. */
class Growing {
  folds = 0;
  folded = 0;
  #events = 0;
  #grown: (() => void)[] = [];

  grow(events: number): void {
    this.#events = Math.min(total, this.#events + events);
    for (const wake of this.#grown.splice(0)) wake();
  }

  fold = async function* (this: Growing): AsyncGenerator<NumberedFrame, unknown> {
    this.folds++;
    for (let number = 0; number < total; number++) {
      while (number >= this.#events) await new Promise<void>((resolve) => this.#grown.push(resolve));
      this.folded++;
      yield frame(number);
    }
    return undefined;
  }.bind(this);
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One that reads as soon as there is something. */
async function eager(pieces: AsyncGenerator<Piece>): Promise<number> {
  let position = -1;
  for await (const piece of pieces) position = checked(piece, position);
  return position;
}

/** All folds stand still. */
async function still(response: Growing): Promise<void> {
  for (let [before, same] = [-1, 0]; same < 5; before = response.folded) {
    same = response.folded === before ? same + 1 : 0;
    await settled();
  }
}

/** Holds a piece to the bytes that it must have, and to the size of one write. */
function checked(piece: Piece, after: number): number {
  const expected = Array.from({ length: piece.last - after }, (_, at) => encoded(frame(after + 1 + at)));
  expect(piece.bytes.equals(Buffer.concat(expected))).toBe(true);
  expect(expected.length).toBeLessThanOrEqual(written);
  return piece.last;
}

const follow = (live: LiveResponses, response: StoredResponse) =>
  live.follow(response, -1, new AbortController().signal);

test("one that follows alone, however slowly, needs one fold, which waits for it", async () => {
  const response = new Growing();
  const live = new LiveResponses(response.fold);
  response.grow(total);
  let position = -1;
  for await (const piece of follow(live, stored())) {
    position = checked(piece, position);
    await still(response);
    expect(response.folded - position).toBeLessThanOrEqual(kept + written + 1);
  }
  expect(position).toBe(total - 1);
  expect([response.folds, response.folded]).toEqual([1, total]);
  expect(live.size).toBe(0);
});

test("one that comes late folds the response once more, as far as what is kept", async () => {
  const response = new Growing();
  const live = new LiveResponses(response.fold);
  const of = stored();
  const first = eager(follow(live, of));
  response.grow(total - 1);
  await still(response);
  expect(response.folded).toBe(total - 1);
  let position = -1;
  for await (const piece of follow(live, of)) {
    position = checked(piece, position);
    if (position === total - 2) response.grow(1);
  }
  expect([position, await first]).toEqual([total - 1, total - 1]);
  expect(response.folds).toBe(2);
  expect(response.folded).toBeLessThanOrEqual(2 * total - kept + written + 1);
  expect(live.size).toBe(0);
});

/** A response that grows, one who reads it at once, and one who does when asked. */
function quickAndSlow() {
  const response = new Growing();
  const live = new LiveResponses(response.fold);
  const of = stored();
  return { response, live, quick: eager(follow(live, of)), slow: follow(live, of) };
}

test("one that falls behind a quicker one again and again has two folds of its own, and no more", async () => {
  const { response, live, quick, slow } = quickAndSlow();
  let position = -1;
  for (let grown = 100; grown <= total; grown += 100) {
    response.grow(100);
    // Only the quick one reads.
    await still(response);
    while (position < grown - 1) position = checked((await slow.next()).value as Piece, position);
  }
  expect((await slow.next()).done).toBe(true);
  expect(await quick).toBe(total - 1);
  expect(response.folds).toBe(3);
  expect(response.folded).toBeLessThanOrEqual(3 * total);
  expect(live.size).toBe(0);
});

test("one that has come to the head in a fold of its own gets what there is, and waits for nothing more", async () => {
  const { response, quick, slow } = quickAndSlow();
  let position = -1;
  // No writes of the largest size alone.
  for (let grown = 103; grown <= 3 * 103; grown += 103) {
    response.grow(103);
    await still(response);
    while (position < grown - 1) position = checked((await slow.next()).value as Piece, position);
  }
  response.grow(1);
  expect(checked((await slow.next()).value as Piece, position)).toBe(3 * 103);
  response.grow(total);
  for await (const piece of slow) position = piece.last;
  expect(position).toBe(total - 1);
  expect(await quick).toBe(total - 1);
});

test("one that leaves while it is behind lets its fold go, and so does the last one", async () => {
  const response = new Growing();
  let closed = 0;
  const live = new LiveResponses(async function* () {
    try {
      return yield* response.fold();
    } finally {
      closed++;
    }
  });
  const [of, quick] = [stored(), new AbortController()];
  const reading = eager(live.follow(of, -1, quick.signal));
  response.grow(200);
  await still(response);
  const late = follow(live, of);
  checked((await late.next()).value as Piece, -1);
  expect(response.folds).toBe(2);
  await late.return(undefined);
  expect([closed, live.size]).toEqual([1, 1]);
  quick.abort();
  await reading;
  expect(live.size).toBe(0);
});

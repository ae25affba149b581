import { expect, test } from "vitest";
import { FreshSpans } from "../../src/log/fresh-spans.js";

const thread = "a thread";
const frames = ["one", "two"].map((text) => Buffer.from(text));

test("hands out what has landed after a position, once", () => {
  const fresh = new FreshSpans();
  fresh.landed(thread, 5n, frames);
  expect(fresh.take(thread, 5n, 100)).toBeUndefined();
  expect(fresh.take("another", 4n, 100)).toBeUndefined();
  expect(fresh.take(thread, 4n, 5)).toBeUndefined();
  expect(fresh.take(thread, 4n, 100)).toEqual({ first: 5n, last: 6n, bytes: Buffer.from("onetwo") });
  expect(fresh.take(thread, 4n, 100)).toBeUndefined();
});

test("keeps the newest only, in memory of its own", () => {
  const fresh = new FreshSpans();
  const mine = Buffer.from("three");
  fresh.landed(thread, 5n, frames);
  fresh.landed(thread, 7n, [mine]);
  mine.fill("x");
  expect(fresh.take(thread, 4n, 100)).toBeUndefined();
  expect(fresh.take(thread, 6n, 100)?.bytes.toString()).toBe("three");
});

test("leaves large spans to the log, and does not grow with threads that nobody reads", () => {
  const fresh = new FreshSpans();
  fresh.landed(thread, 1n, [Buffer.alloc(64 * 1024 + 1)]);
  expect(fresh.take(thread, 0n, 1e6)).toBeUndefined();
  for (let index = 0; index < 300; index++) fresh.landed(`thread ${index}`, 1n, frames);
  expect(fresh.take("thread 0", 0n, 100)).toBeUndefined();
  expect(fresh.take("thread 299", 0n, 100)).toBeDefined();
});

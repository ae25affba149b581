import { expect, test } from "vitest";
import { ReadingShare } from "../../../src/tool/process/reading-share.js";

/** A clock that only the work moves on. */
function clock() {
  const time = { now: 1_000 };
  const share = new ReadingShare(() => time.now);
  const busy = (ms: number): number =>
    share.take(() => {
      time.now += ms;
    });
  return { time, busy };
}

test("what comes now and then is taken as it comes", () => {
  const { time, busy } = clock();
  for (let round = 0; round < 100; round++) {
    expect(busy(20)).toBe(0);
    time.now += 60;
  }
});

test("what comes without end takes a quarter of the time, however many it comes from", () => {
  const { time, busy } = clock();
  const wakeAt: number[] = Array(5).fill(time.now);
  let spent = 0;
  const from = time.now;
  while (time.now < from + 60_000) {
    const next = wakeAt.indexOf(Math.min(...wakeAt));
    time.now = Math.max(time.now, wakeAt[next]!);
    const restMs = busy(3);
    spent += 3;
    wakeAt[next] = time.now + restMs;
  }
  expect(spent / 60_000).toBeGreaterThan(0.24);
  expect(spent / 60_000).toBeLessThan(0.26);
});

test("a rest that was long enough is over: nobody pays for the time before it", () => {
  const { time, busy } = clock();
  expect(busy(1_000)).toBe(2_900);
  time.now += 3_000;
  expect(busy(10)).toBe(0);
});

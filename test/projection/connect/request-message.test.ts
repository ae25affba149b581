// How long a request may take to arrive: it may pause, and it may be slow, and neither for ever.
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { binaryCalls } from "../../../src/projection/connect/dialect.js";
import type { LaneCall } from "../../../src/projection/connect/lane-call.js";
import { readOneMessage } from "../../../src/projection/connect/request-message.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function reading() {
  const body = new PassThrough();
  const exchange = { headers: {}, transport: { version: 2, stream: body, rawHeaders: [] } };
  const options = { messageBytes: 1024, onUnexpected: () => undefined };
  const call = { exchange, dialect: binaryCalls.get("application/proto")!, options } as unknown as LaneCall;
  const read = readOneMessage(call, "unary");
  let isSettled = false;
  read.catch(() => undefined).finally(() => (isSettled = true));
  const drip = async (pieces: number, everyMs: number): Promise<void> => {
    for (let sent = 0; sent < pieces && !isSettled; sent++) {
      body.write("x");
      await vi.advanceTimersByTimeAsync(everyMs);
    }
  };
  return { body, read, drip, isSettled: () => isSettled };
}

const late = { code: "deadline_exceeded", message: "The request did not arrive in time" };

test("a body that comes slowly is waited for", async () => {
  const { body, read, drip } = reading();
  await drip(9, 29_000);
  body.end("y");
  expect(Buffer.from(await read).toString()).toBe("xxxxxxxxxy");
});

test("a body that stops coming is given up after half a minute", async () => {
  const { read, drip, isSettled } = reading();
  await drip(1, 29_000);
  expect(isSettled()).toBe(false);
  await vi.advanceTimersByTimeAsync(1_001);
  await expect(read).rejects.toMatchObject(late);
});

test("a body that drips is given up after five minutes, and nothing listens to it any more", async () => {
  const { body, read, drip, isSettled } = reading();
  await drip(100, 29_000);
  expect(isSettled()).toBe(true);
  await expect(read).rejects.toMatchObject(late);
  expect(body.listenerCount("data")).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { behindTurn } from "../../src/recorder/behind-turn.js";

test("runs behind the turn, in order, and what is asked for meanwhile behind the next one", async () => {
  const ran: string[] = [];
  behindTurn(() => {
    ran.push("a");
    behindTurn(() => ran.push("c"));
  });
  behindTurn(() => ran.push("b"));
  await Promise.resolve();
  expect(ran).toEqual([]);
  await turn();
  expect(ran).toEqual(["a", "b"]);
  await turn();
  expect(ran).toEqual(["a", "b", "c"]);
});

test("what was called off does not run, also when it is called off by one before it", async () => {
  const ran: string[] = [];
  const callOffFirst = behindTurn(() => ran.push("first"));
  behindTurn(() => callOffLast());
  const callOffLast = behindTurn(() => ran.push("last"));
  callOffFirst();
  await turn();
  await turn();
  expect(ran).toEqual([]);
});

test("one that throws does not take the others with it", async () => {
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise<Error>((resolve) => process.once("uncaughtException", resolve));
  const ran: string[] = [];
  behindTurn(() => {
    throw new Error("broken");
  });
  behindTurn(() => ran.push("after"));
  expect((await thrown).message).toBe("broken");
  for (const listener of listeners) process.on("uncaughtException", listener);
  await turn();
  expect(ran).toEqual(["after"]);
});

test("runs also what is asked for while a test has other timers", async () => {
  vi.useFakeTimers();
  const ran: string[] = [];
  behindTurn(() => ran.push("then"));
  vi.useRealTimers();
  behindTurn(() => ran.push("now"));
  await turn();
  expect(ran).toEqual(["then", "now"]);
});

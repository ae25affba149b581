import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { Turns } from "../../../src/tool/offload/turns.js";

const open = new AbortController().signal;

/** Work that ends when the test says so. */
function held(turns: Turns, name: string, begun: string[], signal = open) {
  const until = new EventEmitter();
  const over = once(until, "end");
  const ended = turns.run(signal, async () => {
    begun.push(name);
    await over;
    return name;
  });
  ended.catch(() => {});
  return { ended, end: () => until.emit("end"), fail: () => until.emit("error", new Error(name)) };
}

test("places go to whoever came first, also after a failure", async () => {
  const turns = new Turns(2);
  const begun: string[] = [];
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => held(turns, name, begun));
  expect(begun).toEqual(["a", "b"]);
  b!.fail();
  await expect(b!.ended).rejects.toThrow("b");
  expect(begun).toEqual(["a", "b", "c"]);
  a!.end();
  await a!.ended;
  c!.end();
  d!.end();
  expect(await Promise.all([c!.ended, d!.ended])).toEqual(["c", "d"]);
  expect(begun).toEqual(["a", "b", "c", "d"]);
});

test("whoever is called off in the queue leaves it, and takes no place along", async () => {
  const turns = new Turns(1);
  const begun: string[] = [];
  const caller = new AbortController();
  const first = held(turns, "first", begun);
  const gone = held(turns, "gone", begun, caller.signal);
  const next = held(turns, "next", begun);
  caller.abort("called off");
  await expect(gone.ended).rejects.toBe("called off");
  first.end();
  await first.ended;
  next.end();
  expect(await next.ended).toBe("next");
  await expect(turns.run(AbortSignal.abort("before"), async () => begun.push("never"))).rejects.toBe("before");
  expect(begun).toEqual(["first", "next"]);
});

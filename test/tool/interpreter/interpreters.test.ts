// The life of interpreters: whose they are, what is kept, what is ready before it is needed, and what ends them.
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { best, inThread, isAlive, useInterpreters } from "./support.js";

const interpreters = useInterpreters();
/** Python takes seconds to load, and many on a machine that is busy. */
const within = { timeout: 80_000 };

describe("a warm interpreter", () => {
  const shared = interpreters({ sandbox: best });
  const first = inThread(shared);

  test("JavaScript does not wait for Python", async () => {
    const { context, result } = await first.javascript("var x = 1");
    expect(context.messages).toEqual(["Starting the JavaScript interpreter"]);
    expect(result.interpreter).toBe("new");
  });

  test("a second call is in the same process, and loads nothing", async () => {
    const pid = first.pid();
    const { context, result } = await first.javascript("x + 1");
    expect([result.value, result.interpreter, context.messages, first.pid()]).toEqual(["2", "kept", [], pid]);
  });

  test("a language is loaded once, beside the other", async () => {
    const pid = first.pid();
    expect((await first.python("y = 1")).context.messages).toEqual(["Starting the Python interpreter"]);
    expect((await first.python("y + 1")).context.messages).toEqual([]);
    expect((await first.javascript("x")).result.value).toBe("1");
    expect(first.pid()).toBe(pid);
  });

  test("another thread's first call gets the one that was loaded ahead, and another is started", {
    timeout: 90_000,
  }, async () => {
    await vi.waitFor(() => expect(shared.spare?.loaded).toContain("python"), within);
    const ahead = shared.spare!.pid;
    const second = inThread(shared);
    const { context, result } = await second.python("'y' in globals()");
    expect(second.pid()).toBe(ahead);
    expect(context.messages).toEqual([]);
    expect(result).toMatchObject({ value: "False", interpreter: "new" });
    // It is started beside the call, and may be there only after it.
    await vi.waitFor(() => expect([ahead, undefined]).not.toContain(shared.spare?.pid), within);
    expect([...shared.pids.values()]).toEqual([first.pid(), ahead]);
  });

  test("nothing of it is left when the server stops, and nothing begins afterwards", async () => {
    const pids = [...shared.pids.values(), shared.spare!.pid];
    expect(pids.filter(isAlive)).toEqual(pids);
    await shared.close();
    expect(pids.filter(isAlive)).toEqual([]);
    await expect(first.javascript("1")).rejects.toMatchObject({ name: "ToolFailure", code: "ECANCELED" });
    expect([shared.pids.size, shared.spare]).toEqual([0, undefined]);
  });
});

describe("calls", () => {
  const shared = interpreters({ sandbox: best, atOnce: 2 });
  const endless = "console.log('begun'); for (;;);";

  /** Resolves once it is at work. */
  async function busy(thread: ReturnType<typeof inThread>) {
    const caller = new AbortController();
    let running = Promise.reject<Awaited<ReturnType<typeof thread.javascript>>>(new Error("not begun"));
    running.catch(() => {});
    const begun = new Promise<void>((resolve) => {
      running = thread.javascript(endless, caller.signal, resolve);
    });
    await Promise.race([begun, running]);
    return { running, caller };
  }

  test("of one thread run one at a time, in order", async () => {
    const thread = inThread(shared);
    const results = await Promise.all([
      thread.javascript("var order = ['first']; for (let i = 0; i < 1e6; i++); order.length"),
      thread.javascript("order.push('second')"),
      thread.javascript("order.push('third'); order"),
    ]);
    expect(results.map(({ result }) => result.value)).toEqual(["1", "2", '["first", "second", "third"]']);
    await shared.endThread(thread.threadId);
  });

  test("one that waits for its turn can be called off, and the others go on", async () => {
    const thread = inThread(shared);
    const { running, caller } = await busy(thread);
    const waiting = new AbortController();
    const second = thread.javascript("2", waiting.signal);
    const third = thread.javascript("3");
    waiting.abort(new Error("not any more"));
    await expect(second).rejects.toThrow("not any more");
    caller.abort();
    expect((await running).result).toMatchObject({ ended: "called_off", isLost: false });
    expect((await third).result).toMatchObject({ value: "3", interpreter: "kept" });
    await shared.endThread(thread.threadId);
  });

  test("of different threads run at the same time; where all are busy the next one fails in words", async () => {
    const [a, b, c] = [inThread(shared), inThread(shared), inThread(shared)];
    const first = await busy(a);
    expect((await b.javascript("1")).result.value).toBe("1");
    const second = await busy(b);
    await expect(c.javascript("1")).rejects.toMatchObject({
      code: "EAGAIN",
      message: "All 2 interpreters are busy; try again when another thread is done with its own",
    });
    first.caller.abort();
    second.caller.abort();
    await Promise.all([first.running, second.running]);
    await Promise.all([a, b, c].map(({ threadId }) => shared.endThread(threadId)));
  });

  test("beyond the most there may be, the one that was not used for longest ends, and that is said", async () => {
    const [a, b, c] = [inThread(shared), inThread(shared), inThread(shared)];
    await a.javascript("var x = 1");
    await b.javascript("var x = 2");
    await a.javascript("x");
    const pid = b.pid()!;
    await c.javascript("var x = 3");
    expect([b.pid(), isAlive(pid)]).toEqual([undefined, false]);
    expect((await a.javascript("x")).result).toMatchObject({ value: "1", interpreter: "kept" });
    const { result, forModel } = await b.javascript("typeof x");
    expect(result).toMatchObject({ value: '"undefined"', interpreter: "restarted" });
    expect(forModel).toMatch(/^The interpreter was restarted: earlier variables and files are gone\.\n/);
    expect((await b.javascript("1")).result.interpreter).toBe("kept");
    await Promise.all([a, b, c].map(({ threadId }) => shared.endThread(threadId)));
  });

  test("there are never more than there may be, however many threads come at the same moment", async () => {
    const [a, b, c, d] = [inThread(shared), inThread(shared), inThread(shared), inThread(shared)];
    await a.javascript("1");
    await b.javascript("1");
    const ends = await Promise.allSettled([c, d, inThread(shared)].map((thread) => thread.javascript("1")));
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect([...shared.pids.keys()]).toEqual([c.threadId, d.threadId]);
    await Promise.all([a, b, c, d].map(({ threadId }) => shared.endThread(threadId)));
  });

  test("one that was ended a moment ago is not taken for kept", async () => {
    const thread = inThread(shared);
    await thread.javascript("var x = 1");
    process.kill(thread.pid()!, "SIGKILL");
    while (thread.pid() !== undefined) await new Promise(setImmediate);
    expect((await thread.javascript("typeof x")).result).toMatchObject({ interpreter: "restarted" });
    await shared.endThread(thread.threadId);
  });

  test("a thread that is deleted takes its interpreter along, also in the middle of a call", async () => {
    const thread = inThread(shared);
    const { running } = await busy(thread);
    const waiting = thread.javascript("1");
    waiting.catch(() => {});
    const pid = thread.pid()!;
    await shared.endThread(thread.threadId);
    expect(isAlive(pid)).toBe(false);
    expect((await running).result).toMatchObject({ ended: "called_off", isLost: true });
    await expect(waiting).rejects.toMatchObject({ code: "ECANCELED" });
    expect(shared.pids.has(thread.threadId)).toBe(false);
  });
});

test("one that nobody uses ends after a while, with the one that was loaded ahead; its thread is told", async () => {
  const shared = interpreters({ sandbox: best, idleMs: 100 });
  const thread = inThread(shared);
  await thread.javascript("var x = 1");
  await turn();
  await vi.waitFor(() => expect([shared.pids.size, shared.spare]).toEqual([0, undefined]), within);
  expect((await thread.javascript("typeof x")).result).toMatchObject({
    value: '"undefined"',
    interpreter: "restarted",
  });
});

import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { canSeeLeftovers, leavesNothing, processesWith } from "../../support/left-behind.js";
import { ways } from "../command/support.js";
import { nap, running, useProcesses } from "./support.js";

/** Longer than any start takes: for what ends by itself at once. */
const patient = 20_000;

describe.each(ways.filter(({ isHere }) => isHere))("a background process $way", ({ sandbox }) => {
  const use = useProcesses();

  test("is begun in the journal before it is there, and outlives its call", async () => {
    const { processes, journal, context } = await use({ sandbox });
    const seconds = nap();
    const call = context();
    journal.onBegin = () => expect(running(seconds)).toBe(0);
    const started = await processes.start({ command: `echo ready; exec sleep ${seconds}` }, call);
    expect(started).toMatchObject({ id: "p1", ending: undefined });
    expect(journal.kept).toMatchObject([
      {
        threadId: call.threadId,
        toolCallId: call.toolCallId,
        command: `echo ready; exec sleep ${seconds}`,
        endings: [],
      },
    ]);
    await vi.waitFor(() => expect(started.output.count).toBe(1), { timeout: 10_000 });
    expect(running(seconds)).toBeGreaterThan(0);
    expect(processes.of(call.threadId)).toEqual([started]);
  });

  test("its own end is noticed and recorded, with its exit code and what it printed", async () => {
    const { processes, journal, place, context } = await use({ sandbox });
    const started = await processes.start(
      { command: "echo begun; while [ ! -e stop ]; do sleep 0.02; done; printf 'the end'; exit 3" },
      context(),
    );
    expect(started.ending).toBeUndefined();
    await writeFile(join(place, "stop"), "");
    await started.over;
    const [{ endings }] = journal.kept as [(typeof journal.kept)[0]];
    expect(endings).toEqual([
      {
        outcome: "exited",
        exitCode: 3,
        outputBytes: 13,
        summary: expect.stringMatching(/^echo begun; .* exited with code 3 after \S+ s$/),
      },
    ]);
    expect(started.ending).toBe(endings[0]);
    expect(started.output.last(5).map(({ text }) => text)).toEqual(["begun", "the end"]);
  });

  test("that ends at once is over when its start is", async () => {
    const { processes, journal, context } = await use({ sandbox, firstMomentsMs: patient });
    const started = await processes.start({ command: "no-such-program-here" }, context());
    expect(started.ending).toMatchObject({ outcome: "exited", exitCode: 127 });
    expect(journal.kept[0]!.endings).toHaveLength(1);
    expect(started.output.last(1)[0]).toMatchObject({ stream: "stderr", text: expect.stringContaining("not found") });
  });

  test("what it left running is ended with it", async () => {
    const { processes, context } = await use({ sandbox, firstMomentsMs: patient });
    const seconds = nap();
    const started = await processes.start(
      { command: `sleep ${seconds} & setsid -f sleep ${seconds} >/dev/null 2>&1; echo left` },
      context(),
    );
    expect(started.ending).toMatchObject({ outcome: "exited", exitCode: 0 });
    expect(processesWith(seconds)).toEqual([]);
  });

  test.each([
    ["asked", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done", ["ready", "bye"]],
    ["killed", "trap '' TERM; echo ready; while :; do sleep 0.05; done", ["ready"]],
  ])("is stopped: %s", async (_, command, printed) => {
    const { processes, journal, context } = await use({ sandbox });
    const { threadId, ...call } = context();
    const started = await processes.start({ command }, Object.assign(context({ threadId }), call));
    await vi.waitFor(() => expect(started.output.count).toBe(1), { timeout: 10_000 });
    const ending = await processes.stop(threadId, "p1", new AbortController().signal);
    expect(ending).toMatchObject({
      outcome: "stopped",
      exitCode: undefined,
      summary: expect.stringMatching(/^Stopped trap .* after \S+ s$/),
    });
    expect(journal.kept[0]!.endings).toEqual([ending]);
    const said = started.output.last(5).filter(({ stream }) => stream === "stdout");
    expect(said.map(({ text }) => text)).toEqual(printed);
    await expect(processes.stop(threadId, "p1", new AbortController().signal)).rejects.toMatchObject({
      name: "ToolFailure",
      message: expect.stringMatching(/^Already ended: Stopped trap /),
    });
  });

  test("whose start is called off is ended, and that is recorded", async () => {
    const { processes, journal, context } = await use({ sandbox, firstMomentsMs: patient });
    const seconds = nap();
    const caller = new AbortController();
    const reason = new Error("called off");
    const call = context({ signal: caller.signal });
    const starting = processes.start({ command: `echo ready; exec sleep ${seconds}` }, call);
    starting.catch(() => {});
    await vi.waitFor(() => expect(processes.of(call.threadId)[0]?.output.count).toBe(1), { timeout: 10_000 });
    caller.abort(reason);
    await expect(starting).rejects.toBe(reason);
    expect(running(seconds)).toBe(0);
    expect(journal.kept[0]!.endings).toMatchObject([
      { outcome: "stopped", summary: "Stopped: its start was called off" },
    ]);
  });

  test("whose start is called off before it is there is never started", async () => {
    const { processes, journal, place, context } = await use({ sandbox });
    const caller = new AbortController();
    journal.onBegin = () => caller.abort(new Error("called off"));
    await expect(processes.start({ command: "echo > made" }, context({ signal: caller.signal }))).rejects.toThrow(
      "called off",
    );
    expect(journal.kept[0]!.endings).toMatchObject([
      { outcome: "not_started", summary: "Not started: it was called off" },
    ]);
    expect(existsSync(join(place, "made"))).toBe(false);
  });

  test("that cannot be started is recorded as that", async () => {
    const { processes, journal, place, context } = await use({ sandbox });
    const call = context({ workspace: join(place, "gone") });
    await expect(processes.start({ command: "true" }, call)).rejects.toMatchObject({
      name: "ToolFailure",
      code: "ENOENT",
    });
    expect(journal.kept[0]!.endings).toMatchObject([
      { outcome: "not_started", exitCode: undefined, summary: expect.stringMatching(/^Not started: The workspace/) },
    ]);
  });

  test("that the journal does not take is not started, and leaves nothing", async () => {
    const { processes, journal, place, context } = await use({ sandbox });
    journal.onBegin = () => {
      throw new Error("the log is full");
    };
    const call = context();
    await leavesNothing(() =>
      expect(processes.start({ command: "echo > made" }, call)).rejects.toThrow("the log is full"),
    );
    expect([existsSync(join(place, "made")), processes.of(call.threadId)]).toEqual([false, []]);
  });

  test("that takes too many processes is ended for it", async () => {
    const { processes, journal, context } = await use({ sandbox });
    const seconds = nap();
    // 600 at most, whatever becomes of it.
    const command = `i=0; while [ $i -lt 600 ]; do sleep ${seconds} & i=$((i+1)); done; wait`;
    const started = await processes.start({ command }, context());
    await started.over;
    expect(journal.kept[0]!.endings).toMatchObject([
      { outcome: "limit", summary: expect.stringMatching(/was killed: more than 512 processes after \S+ s$/) },
    ]);
    expect(running(seconds)).toBe(0);
  }, 60_000);

  test("belongs to its thread: others neither see nor stop it", async () => {
    const { processes, context } = await use({ sandbox });
    const own = context();
    const other = context();
    await processes.start({ command: `exec sleep ${nap()}` }, own);
    expect(processes.of(other.threadId)).toEqual([]);
    const missing = { message: "No such process: p1; none was started in this thread" };
    await expect(processes.find(other.threadId, "p1")).rejects.toMatchObject(missing);
    await expect(processes.stop(other.threadId, "p1", other.signal)).rejects.toMatchObject(missing);
    expect(processes.of(own.threadId)).toHaveLength(1);
  });

  test("ends with its thread, and is forgotten", async () => {
    const { processes, journal, context } = await use({ sandbox });
    const [own, other] = [context(), context()];
    const [mine, theirs] = [nap(), nap()];
    await Promise.all([
      processes.start({ command: `sleep ${mine} & exec sleep ${mine}` }, own),
      processes.start({ command: `exec sleep ${theirs}` }, other),
    ]);
    await processes.endThread(own.threadId);
    expect([running(mine), processes.of(own.threadId)]).toEqual([0, []]);
    expect(journal.of(own.threadId, "p1").endings).toMatchObject([{ summary: "Ended: the thread was deleted" }]);
    expect(running(theirs)).toBeGreaterThan(0);
  });

  test("fifty end with the server, at once, and none begins afterwards", async () => {
    const { processes, journal, context } = await use({ sandbox });
    const seconds = nap();
    const call = context();
    await leavesNothing(async () => {
      const command = { command: `sleep ${seconds} & exec sleep ${seconds}` };
      await Promise.all(
        Array.from({ length: 50 }, () => processes.start(command, context({ threadId: call.threadId }))),
      );
      expect(processes.of(call.threadId).map(({ id }) => id)).toEqual(
        Array.from({ length: 50 }, (_, index) => `p${index + 1}`),
      );
      const from = performance.now();
      await processes.close();

      expect(performance.now() - from).toBeLessThan(5_000);
    });
    expect(running(seconds)).toBe(0);
    for (const { endings } of journal.kept)
      expect(endings).toMatchObject([{ outcome: "interrupted", summary: "Ended: the server stopped" }]);
    await expect(processes.start({ command: "true" }, call)).rejects.toMatchObject({ code: "ESHUTDOWN" });
  }, 60_000);

  test("that is being started when the server stops is ended, or never there", async () => {
    const { processes, journal, context } = await use({ sandbox });
    const seconds = nap();
    let closing: Promise<void> | undefined;
    journal.onBegin = () => {
      closing = processes.close();
    };
    await expect(processes.start({ command: `sleep ${seconds}` }, context())).rejects.toMatchObject({
      message: "Not started: the server is stopping",
    });
    await closing;
    expect([running(seconds), journal.kept[0]!.endings]).toMatchObject([0, [{ outcome: "interrupted" }]]);
  });

  test.skipIf(!canSeeLeftovers)("gets no descriptor of the server's (needs /proc)", async () => {
    const { processes, context } = await use({ sandbox });
    const listening = createServer().listen(0, "127.0.0.1");
    const seconds = nap();
    await processes.start({ command: `exec sleep ${seconds}` }, context());
    await vi.waitFor(() => expect(processesWith(`sleep\0${seconds}`).length).toBeGreaterThan(0), { timeout: 10_000 });
    const own = processesWith(`sleep\0${seconds}`).at(-1)!;
    const targets = descriptorsOf(own).map(({ fd, target }) => `${fd}: ${target.replace(/:.*/, "")}`);
    listening.close();
    expect(targets).toEqual([
      "0: /dev/null",
      expect.stringMatching(/^1: (?:pipe|socket)$/),
      expect.stringMatching(/^2: (?:pipe|socket)$/),
    ]);
  });
});

/** Without those that the test's own process was given from outside, and passes on without knowing. */
function descriptorsOf(pid: number): { fd: string; target: string }[] {
  const of = (each: number) =>
    readdirSync(`/proc/${each}/fd`).flatMap((fd) => {
      try {
        return [{ fd, target: readlinkSync(`/proc/${each}/fd/${fd}`) }];
      } catch {
        return [];
      }
    });
  const given = new Set(of(process.ppid).map(({ target }) => target));
  return of(pid).filter(({ fd, target }) => Number(fd) <= 2 || !given.has(target));
}

describe("what is remembered", () => {
  const use = useProcesses();
  const limits = { running: 3, endedOfThread: 2, ended: 3 };

  test("are the last that ended, of a thread and of all, with what they printed", async () => {
    const { processes, context } = await use({ sandbox: "none", limits, firstMomentsMs: patient });
    const [one, two] = [context(), context()];
    for (const number of [1, 2, 3]) await processes.start({ command: `echo ${number}` }, one);
    expect(processes.of(one.threadId).map(({ id }) => id)).toEqual(["p2", "p3"]);
    for (const number of [1, 2]) await processes.start({ command: `echo ${number}` }, two);
    expect(processes.of(one.threadId).map(({ id }) => id)).toEqual(["p3"]);
    expect(processes.of(two.threadId).map(({ output }) => output.last(1)[0]!.text)).toEqual(["1", "2"]);
  });

  test("of others nothing is left, which the journal still knows", async () => {
    const { processes, context } = await use({ sandbox: "none", limits, firstMomentsMs: patient });
    const { threadId, ...call } = context();
    for (let number = 0; number < 3; number++)
      await processes.start({ command: "true" }, Object.assign(context({ threadId }), call));
    await expect(processes.find(threadId, "p1")).rejects.toMatchObject({
      message: expect.stringMatching(/^No such process: p1 is over, and what it printed is forgotten/),
      code: "ESRCH",
    });
    await expect(processes.find(threadId, "p4")).rejects.toMatchObject({
      message: "No such process: p4; the processes are p2, p3",
    });
    await expect(processes.find(threadId, "p04\n")).rejects.toMatchObject({
      message: "No such process: p04; the processes are p2, p3",
    });
  });

  test("no more run at the same time than the server takes", async () => {
    const { processes, journal, context } = await use({ sandbox: "none", limits, firstMomentsMs: 10 });
    const call = context();
    for (let number = 0; number < 3; number++) await processes.start({ command: `exec sleep ${nap()}` }, call);
    await expect(processes.start({ command: "true" }, call)).rejects.toMatchObject({
      code: "EAGAIN",
      message: "3 processes run on this server already; stop some first, or try again later",
    });
    expect(journal.kept).toHaveLength(3);
    await processes.stop(call.threadId, "p2", call.signal);
    await expect(processes.start({ command: "true" }, call)).resolves.toMatchObject({ id: "p4" });
  });
});

// Background processes of a real server: they outlive their calls and their runs, their ends are events of their own, and none
// outlives the server, however it ends.
import { readdirSync, readlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readOffline } from "../../src/compose.js";
import type { Script, ScriptReply } from "../../src/model/script.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { ProcessOutcome } from "../../src/thread/schema.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";
import { storedEvents } from "../support/core.js";
import { processesWith } from "../support/left-behind.js";
import { ways } from "../tool/command/support.js";

const many = 50;
const few = 5;

/** Seconds that nothing else sleeps. Should all else fail, they end by themselves. */
const nap = `3${process.pid % 1000}.${String(Date.now()).slice(-6)}`;
/** Some of it in a session of its own, some without its mark. */
const sleeping = `echo ready; setsid sleep ${nap} & env -i sleep ${nap} & exec sleep ${nap}`;
/** Ends when the test says so. */
const waiting = "while [ ! -e go ]; do sleep 0.05; done; echo gone; exit 3";

const calls = (name: string, inputs: readonly object[]): ScriptReply => ({
  events: inputs.map((input) => ({ toolCall: { name, input } })),
});
const starts = (command: string, count: number): object[] => Array.from({ length: count }, () => ({ command }));
const done: ScriptReply = { events: [{ text: "Done." }] };

const script: Script = {
  turns: [
    {
      user: { exact: "start many and few" },
      replies: [calls("start_process", [...starts(sleeping, many), ...starts(waiting, few)]), done],
    },
    { user: { exact: "run one" }, replies: [calls("run_command", [{ command: sleeping }]), done] },
    { user: { exact: "start many" }, replies: [calls("start_process", starts(sleeping, many)), done] },
    {
      user: { exact: "look" },
      replies: [calls("read_process_output", [{ process_id: "p1" }]), calls("list_processes", [{}]), done],
    },
    {
      user: { exact: "all of them" },
      replies: [
        calls("start_process", [{ command: sleeping }, { command: "no-such-program-here" }]),
        calls("read_process_output", [{ process_id: "p1" }, { process_id: "p9" }]),
        calls("list_processes", [{}]),
        calls("stop_process", [{ process_id: "p1" }]),
        calls("stop_process", [{ process_id: "p1" }]),
        done,
      ],
    },
  ],
};

const useServer = useAgentServers();
const sessions: Session[] = [];
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
  for (const pid of processesWith(nap)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Gone meanwhile.
    }
  }
});

async function open(sandbox: string): Promise<{ server: AgentServer; session: Session }> {
  const server = await useServer({ script, agent: { commands: { sandbox }, afterRestart: "end" } });
  await server.start();
  const session = new Session(server.url);
  sessions.push(session);
  return { server, session };
}

const isRunOver = (session: Session, threadId: string) => session.until(threadId, "runCompleted");

/** Of the server with this pid nothing is left: neither what it ran, nor who guarded that. */
const nothingLeft = (serverPid: number): Promise<void> =>
  vi.waitFor(() => expect([processesWith(nap), processesWith(`heddle-${serverPid}-`)]).toEqual([[], []]), {
    timeout: 20_000,
    interval: 20,
  });

/** Each that was started has ended once, and nothing ended that was not started. */
function endsOf(events: readonly ThreadEvent[]): ReadonlyMap<string, { outcome: ProcessOutcome; summary: string }> {
  const started = valuesOf(events, "processStarted").map(({ processId }) => processId);
  const exited = valuesOf(events, "processExited");
  expect(new Set(started).size).toBe(started.length);
  expect(exited.map(({ processId }) => processId).sort()).toEqual([...started].sort());
  return new Map(exited.map((exit) => [exit.processId, exit]));
}

const interrupted = { outcome: ProcessOutcome.INTERRUPTED, summary: "Ended: the server stopped" };

describe.each(ways.filter(({ isHere }) => isHere))("$way", ({ sandbox }) => {
  test("kill -9 with 50 processes: none is left, and each has one end, over restarts", {
    timeout: 120_000,
  }, async () => {
    const { server, session } = await open(sandbox);
    const threadId = await session.newThread();
    await session.send(threadId, { text: "start many and few" });
    const run = await isRunOver(session, threadId);
    expect(
      valuesOf(run, "toolCallComplete")
        .map(({ summary }) => summary)
        .sort(),
    ).toEqual(Array.from({ length: many + few }, (_, index) => `Started process p${index + 1}`).sort());
    expect((await session.clients.threads.getThread({ threadId })).thread).toMatchObject({ openProcesses: many + few });
    expect(processesWith(nap).length).toBeGreaterThanOrEqual(many);

    // Their run is over; the ends of those that end by themselves are told all the same.
    await writeFile(join(server.dir, "go"), "");
    const told = await session.until(threadId, "processExited", few);
    for (const exit of valuesOf(told, "processExited"))
      expect(exit).toMatchObject({
        outcome: ProcessOutcome.EXITED,
        exitCode: 3,
        outputBytes: 5n,
        summary: expect.stringMatching(/^while .* exited with code 3 after \S+ s$/),
      });

    const { pid } = server.process.child;
    await server.kill();
    await nothingLeft(pid!);
    await server.start();
    const after = await session.until(threadId, "processExited", many + few);
    const ends = [...endsOf(after).values()];
    expect(ends.filter(({ outcome }) => outcome === ProcessOutcome.INTERRUPTED)).toHaveLength(many);

    await server.kill();
    await server.start();
    await session.send(threadId, { text: "look" });
    const last = await session.until(threadId, "runCompleted", 2);
    endsOf(last);
    expect(valuesOf(last, "toolCallComplete").slice(-2)).toMatchObject([
      {
        success: false,
        summary: expect.stringMatching(/^No such process: p1 is over, and what it printed is forgotten/),
      },
      { success: true, summary: "0 processes running" },
    ]);
  });

  test("kill -9 while they are being started: none is left, and each has one end", { timeout: 120_000 }, async () => {
    const { server, session } = await open(sandbox);
    for (const seen of [1, 7, 20, 35, many]) {
      const threadId = await session.newThread();
      await session.send(threadId, { text: "start many" });
      await session.until(threadId, "processStarted", seen);
      const { pid } = server.process.child;
      await server.kill();
      await nothingLeft(pid!);
      await server.start();
      const events = await isRunOver(session, threadId);
      endsOf(events);
    }
  });

  test("kill -9 while a command runs that is waited for: nothing of it is left", { timeout: 60_000 }, async () => {
    const { server, session } = await open(sandbox);
    const threadId = await session.newThread();
    await session.send(threadId, { text: "run one" });
    await session.until(threadId, "toolCallOutputDelta");
    const { pid } = server.process.child;
    expect(processesWith(nap).length).toBeGreaterThanOrEqual(1);
    await server.kill();
    await nothingLeft(pid!);
  });

  test("a server that stops ends all of them, and says so before it is gone", { timeout: 60_000 }, async () => {
    const { server, session } = await open(sandbox);
    const threadId = await session.newThread();
    await session.send(threadId, { text: "start many" });
    await isRunOver(session, threadId);
    const { pid } = server.process.child;
    const from = performance.now();
    expect(await server.stop()).toBe(0);
    expect(performance.now() - from).toBeLessThan(15_000);
    await nothingLeft(pid!);
    const offline = await readOffline(server.dataDir);
    const ends = endsOf(await storedEvents(offline, threadId));
    await offline.close();
    expect(ends.size).toBe(many);
    for (const end of ends.values()) expect(end).toMatchObject(interrupted);
  });

  test("a thread that is deleted takes its processes along, and no other's", { timeout: 60_000 }, async () => {
    const { session } = await open(sandbox);
    const [one, other] = [await session.newThread(), await session.newThread()];
    await session.send(one, { text: "all of them" });
    await isRunOver(session, one);
    expect(processesWith(nap)).toEqual([]);
    await session.send(other, { text: "start many" });
    await isRunOver(session, other);
    const before = processesWith(nap).length;
    await session.clients.threads.deleteThread({ threadId: one });
    expect(processesWith(nap).length).toBe(before);
    await session.clients.threads.deleteThread({ threadId: other });
    expect(processesWith(nap)).toEqual([]);
  });

  test("the four tools do what they say, and their ends are in the log", { timeout: 60_000 }, async () => {
    const { session } = await open(sandbox);
    const threadId = await session.newThread();
    await session.send(threadId, { text: "all of them" });
    const events = await isRunOver(session, threadId);
    const summaries = valuesOf(events, "toolCallComplete").map(({ success, summary }) => [success, summary]);
    expect(summaries.slice(0, 2).sort()).toEqual([
      [false, "Command not found"],
      [true, "Started process p1"],
    ]);
    expect(summaries.slice(2)).toEqual([
      [true, "Read 1 line from p1"],
      [false, "No such process: p9; the processes are p1, p2"],
      [true, "1 process running"],
      [true, "Stopped p1"],
      [false, expect.stringMatching(/^Already ended: Stopped echo ready; /)],
    ]);
    expect(valuesOf(events, "toolCallStarted").map(({ summary }) => summary)).toContain(
      "Starting no-such-program-here in the background",
    );
    expect(Object.fromEntries(endsOf(events))).toMatchObject({
      p1: { outcome: ProcessOutcome.STOPPED },
      p2: { outcome: ProcessOutcome.EXITED, exitCode: 127 },
    });
  });

  test("none gets a descriptor of the server's: no socket, no data", { timeout: 60_000 }, async () => {
    const { server, session } = await open(sandbox);
    const threadId = await session.newThread();
    await session.send(threadId, { text: "start many" });
    await isRunOver(session, threadId);
    const own = new Set(targetsOf(server.process.child.pid!));
    // What the test's own process was given from outside, the server was given too.
    for (const given of targetsOf(process.pid)) own.delete(given);
    const leaked = processesWith(nap).flatMap((pid) => targetsOf(pid).filter((target) => own.has(target)));
    expect(leaked).toEqual([]);
  });
});

/** What its descriptors beyond the first three stand for. */
const targetsOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return Number(fd) <= 2 ? [] : [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });

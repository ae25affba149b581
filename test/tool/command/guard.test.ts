import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Guard } from "../../../src/tool/command/guard.js";
import { guardScript } from "../../../src/tool/command/guard-script.js";
import { markName } from "../../../src/tool/command/process-table.js";
import { canSeeLeftovers, leavesNothing, processesWith } from "../../support/left-behind.js";
import { nap, running } from "../process/support.js";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-pid!, "SIGKILL");
    } catch {
      // Gone.
    }
  }
});

/** A process group of its own, as background processes are. */
function begin(command: string, mark: string): number {
  const child = spawn("/bin/sh", ["-c", command], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env["PATH"], [markName]: mark },
  });
  started.push(child);
  return child.pid!;
}

const isThere = (mark: string, count: number): Promise<void> =>
  vi.waitFor(() => expect(running(`sleep\0${mark}`)).toBe(count), { timeout: 10_000 });

/** The script as it is when the server, here this test, has hung up. */
async function play(lines: string, markEnd: string): Promise<void> {
  const guard = spawn("/bin/sh", ["-c", guardScript, "heddle-guard", markEnd, markName, ""], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env["PATH"] },
  });
  guard.stdin.end(lines);
  await once(guard, "exit");
}

describe.skipIf(!canSeeLeftovers)("what a dead server leaves (needs /proc)", () => {
  test.each([
    ["its process group", (seconds: string) => `sleep ${seconds} & exec sleep ${seconds}`],
    ["a session of its own", (seconds: string) => `setsid sleep ${seconds} & exec sleep ${seconds}`],
    ["without a mark", (seconds: string) => `env -i sleep ${seconds} & exec sleep ${seconds}`],
    ["without a mark, in a session of its own", (s: string) => `env -i setsid sleep ${s} & sleep ${s}; wait`],
    ["without its parent", (s: string) => `(setsid sh -c 'sleep ${s} & exit' &); exec sleep ${s}`],
  ])("is killed: %s", async (_, command) => {
    const [seconds, others] = [nap(), nap()];
    const pid = begin(command(seconds), `call.${seconds}`);
    const other = begin(`exec sleep ${others}`, `call.${others}`);
    await Promise.all([isThere(seconds, 2), isThere(others, 1)]);
    await play(`${pid} ${other}\n${pid}\n`, `.${seconds}`);
    expect([running(seconds), running(`sleep\0${others}`)]).toEqual([0, 1]);
  });

  test("is found by its mark alone, when the server died before it could tell", async () => {
    const seconds = nap();
    begin(`sleep ${seconds} & exec sleep ${seconds}`, `call.${seconds}`);
    await isThere(seconds, 2);
    await play("", `.${seconds}`);
    expect(running(seconds)).toBe(0);
  });

  test("stays when the server has said that it is done", async () => {
    const seconds = nap();
    const pid = begin(`exec sleep ${seconds}`, `call.${seconds}`);
    await isThere(seconds, 1);
    await play(`${pid}\nover\n`, `.${seconds}`);
    expect(running(`sleep\0${seconds}`)).toBe(1);
  });
});

describe.skipIf(!canSeeLeftovers)("the guard (needs /proc)", () => {
  test("is there while there is something to guard, and one for all", async () => {
    const guard = new Guard();
    await leavesNothing(async () => {
      const guarded = await Promise.all([guard.guard(), guard.guard(), guard.guard()]);
      expect(new Set(guarded.map(({ markEnd }) => markEnd)).size).toBe(1);
      expect(processesWith(guarded[0].markEnd)).toHaveLength(1);
      for (const each of guarded) each.over();
      await vi.waitFor(() => expect(processesWith(guarded[0]!.markEnd)).toEqual([]));
    });
    const again = await guard.guard();
    expect(processesWith(again.markEnd)).toHaveLength(1);
    again.over();
    again.over();
    await vi.waitFor(() => expect(processesWith(again.markEnd)).toEqual([]));
  });

  test("comes back when somebody kills it", async () => {
    const guard = new Guard();
    const guarded = await guard.guard();
    const [pid] = processesWith(guarded.markEnd);
    process.kill(pid!, "SIGKILL");
    await vi.waitFor(() => {
      const [now] = processesWith(guarded.markEnd);
      expect([now === undefined, now === pid]).toEqual([false, false]);
    });
    guarded.over();
    await vi.waitFor(() => expect(processesWith(guarded.markEnd)).toEqual([]));
  });
});

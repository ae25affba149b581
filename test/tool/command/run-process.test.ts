import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { type BeginRequest, beginProcess } from "../../../src/tool/command/begin-process.js";
import { openControlGroup } from "../../../src/tool/command/control-group.js";
import { endLimits } from "../../../src/tool/command/end-processes.js";
import { outputLimits } from "../../../src/tool/command/kept-output.js";
import { processLimits } from "../../../src/tool/command/watch-processes.js";
import { processesWith } from "../../support/left-behind.js";
import { shell } from "./support.js";

const group = openControlGroup(8);
const canMakeGroups = group !== undefined;
group?.remove();

const limits = { ...outputLimits, ...processLimits };

describe("a process that ends by itself", () => {
  test("gives its exit code, and its streams apart", async () => {
    const told: string[] = [];
    const end = await shell("echo out; echo err >&2; exit 3", {
      onOutput: (stream, text) => told.push(`${stream}: ${text}`),
    });
    expect(end).toMatchObject({ cause: "exited", exitCode: 3, leftBehind: 0 });
    expect([end.stdout.whole(), end.stderr.whole()]).toEqual(["out\n", "err\n"]);
    expect(told.sort()).toEqual(["stderr: err\n", "stdout: out\n"]);
  });

  test("has no exit code when a signal ended it", async () => {
    expect(await shell("kill -9 $$")).toMatchObject({ cause: "exited", exitCode: undefined });
  });

  test.each([
    "read answer; echo got $?",
    "cat; echo got 1",
    "python3 -c 'input()'; echo got $?",
    "head -c1; echo got 1",
  ])("finds nothing to read: %s", async (command) => {
    const end = await shell(command);
    expect(end.stdout.whole()).toContain("got 1");
  });

  test("has no terminal to ask on", async () => {
    const end = await shell(
      "(echo password: >/dev/tty) 2>/dev/null && echo asked; (: </dev/tty) 2>/dev/null && echo read",
    );
    expect(end.stdout.whole()).toBe("");
  });

  test.each([
    ["in the background", "sleep 1000 & sleep 1000 & echo left"],
    ["that ignores being asked", "trap '' TERM HUP; sleep 1000 & echo left"],
    ["in a session of its own", "setsid sleep 1000 & setsid -f sleep 1000; echo left"],
    ["whose parent is gone", "(setsid sh -c 'sleep 1000 & sleep 1000 &' &) ; echo left"],
    ["that holds no output", "setsid -f sleep 1000 >/dev/null 2>&1; echo left"],
  ])("leaves nothing behind %s", async (_, command) => {
    const end = await shell(command);
    expect(end).toMatchObject({ cause: "exited", exitCode: 0, leftBehind: 0 });
    expect(end.stdout.whole()).toBe("left\n");
    expect(end.alive()).toBe(0);
    expect(end.durationMs).toBeLessThan(20_000);
  });
});

test.skipIf(!canMakeGroups)(
  "nothing gets away where there are control groups (needs the right to make them)",
  async () => {
    // Neither its group, nor its session, nor its parent, nor its environment says whose it is.
    const mark = `1000.${Date.now()}`;
    const end = await shell(`env -i setsid -f sleep ${mark} >/dev/null 2>&1; echo left`);
    expect(end).toMatchObject({ cause: "exited", exitCode: 0, leftBehind: 0 });
    expect(processesWith(mark)).toEqual([]);
  },
);

describe("a process that prints more than is taken", () => {
  const begin = (command: string, onPiece: BeginRequest["onPiece"]) => {
    const stop = new AbortController();
    const request = { cwd: tmpdir(), env: { PATH: process.env["PATH"]! }, mark: randomUUID(), signal: stop.signal };
    return { stop, begun: beginProcess({ ...request, argv: ["/bin/sh", "-c", command], onPiece }) };
  };
  /** Longer than any test. */
  const longMs = 1_000_000;

  test("waits, and ends all the same when it is called off", async () => {
    let pieces = 0;
    let onFirst = (): void => {};
    const first = new Promise<void>((resolve) => {
      onFirst = resolve;
    });
    const { stop, begun } = begin("yes", () => {
      pieces++;
      onFirst();
      return longMs;
    });
    const { ended } = await begun;
    await first;
    await shell("sleep 0.3"); // Long enough for thousands of pieces.
    expect(pieces).toBe(1);
    stop.abort();
    expect(await ended).toMatchObject({ cause: "called_off", leftBehind: 0 });
  });

  test("is read to its end when it has ended", async () => {
    const pieces: string[] = [];
    const { begun } = begin("echo a; sleep 0.3; echo b; sleep 0.3; printf c", (_, piece) => {
      pieces.push(piece.toString());
      return longMs;
    });
    expect(await (await begun).ended).toMatchObject({ cause: "exited", exitCode: 0 });
    expect(pieces.join("")).toBe("a\nb\nc");
  });

  test("is heard when it is asked to end", async () => {
    let said = "";
    const { stop, begun } = begin(
      "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
      (stream, piece) => {
        if (stream === "stdout") said += piece.toString(); // A shell may also say that it was ended.
        stop.abort();
        return longMs;
      },
    );
    await (await begun).ended;
    expect(said).toBe("ready\nbye\n");
  });
});

describe("a process that is ended", () => {
  test("is asked first, and what it says then is heard", async () => {
    const caller = new AbortController();
    const command = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    const end = await shell(command, { signal: caller.signal, onOutput: () => caller.abort() });
    expect(end).toMatchObject({ cause: "called_off", exitCode: undefined, leftBehind: 0 });
    expect(end.stdout.whole()).toBe("ready\nbye\n");
    expect(end.alive()).toBe(0);
  });

  test.each([
    ["that does not hear", "trap '' TERM; echo ready; while :; do sleep 0.05; done"],
    [
      "with grandchildren that do not hear",
      "trap '' TERM; sh -c 'sh -c \"sleep 1000\" & sleep 1000' & echo ready; wait",
    ],
    [
      "with grandchildren in sessions of their own",
      "trap '' TERM; setsid sh -c 'setsid sleep 1000 & sleep 1000' & setsid -f sleep 1000; echo ready; wait",
    ],
    [
      "that starts anew whatever is ended",
      "trap '' TERM; echo ready; while :; do setsid -f sh -c 'trap \"\" TERM; sleep 1000'; sleep 0.02; done",
    ],
  ])("is killed within the grace: one %s", async (_, command) => {
    const caller = new AbortController();
    const calledOff = once(caller.signal, "abort").then(() => performance.now());
    const end = await shell(command, { signal: caller.signal, onOutput: () => caller.abort() });
    expect(end).toMatchObject({ cause: "called_off", exitCode: undefined, leftBehind: 0 });
    expect(performance.now() - (await calledOff)).toBeLessThan(endLimits.graceMs + 10_000);
    expect(end.alive()).toBe(0);
  });

  test("when its time is up", async () => {
    const end = await shell("sleep 1000", { timeoutMs: 200 });
    expect(end).toMatchObject({ cause: "timed_out", exitCode: undefined, leftBehind: 0 });
    expect(end.alive()).toBe(0);
  });

  test("does not begin when it is called off already", async () => {
    const reason = new Error("called off");
    await expect(shell("echo never", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("a process that takes too much", () => {
  test("a storm of processes ends within its limit, and all are gone", async () => {
    const end = await shell("i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); done; wait");
    expect(end).toMatchObject({ cause: "too_many_processes", leftBehind: 0 });
    expect(end.alive()).toBe(0);
  }, 30_000);

  test("a storm in sessions of their own too", async () => {
    const end = await shell("while :; do setsid -f sleep 1000; done", { limits: { ...limits, processes: 64 } });
    expect(end).toMatchObject({ cause: "too_many_processes", leftBehind: 0 });
    expect(end.alive()).toBe(0);
  }, 30_000);

  test("memory", async () => {
    const command = `x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo "$x" >/dev/null; sleep 1000`;
    const end = await shell(command, { limits: { ...limits, memoryBytes: 50_000_000 } });
    expect(end).toMatchObject({ cause: "too_much_memory", leftBehind: 0 });
    expect(end.alive()).toBe(0);
  });

  test("1 GB of output is read to its end in bounded memory", async () => {
    let told = 0;
    let largest = 0;
    const before = process.memoryUsage().rss;
    const end = await shell("head -c 1000000000 /dev/zero | tr '\\0' x", {
      onOutput: (_, text) => {
        told += text.length;
        largest = Math.max(largest, process.memoryUsage().rss);
      },
    });
    expect(end).toMatchObject({ cause: "exited", exitCode: 0 });
    expect(end.stdout.bytes).toBe(1_000_000_000);
    expect(told).toBe(outputLimits.wholeBytes + "\n[More output was left out]\n".length);
    expect(end.stdout.whole().length).toBeLessThan(outputLimits.wholeBytes + 100);
    expect(end.stdout.tail()).toMatch(/^\[999975424 bytes before this were left out\]\nx{24576}$/);
    expect(Math.max(largest, process.memoryUsage().rss) - before).toBeLessThan(300_000_000);
  }, 60_000);
});

test("a program that is not there is a failure that says so", async () => {
  await expect(shell("", { cwd: "/nowhere" })).rejects.toMatchObject({ name: "ToolFailure", code: "ENOENT" });
});

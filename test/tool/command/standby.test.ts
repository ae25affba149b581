import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { controlGroupPrefix, openControlGroup } from "../../../src/tool/command/control-group.js";
import { type Becomes, Standby, type Started } from "../../../src/tool/command/standby.js";
import { standbyShells } from "../../support/left-behind.js";

const group = openControlGroup(8);
const canMakeGroups = group !== undefined;
group?.remove();

let standby = new Standby(64);
afterEach(() => {
  standby.dismiss();
  standby = new Standby(64);
});

/** What it prints, and its exit code. */
async function ran({ child, group }: Started): Promise<{ out: string; err: string; code: number | null }> {
  const closed = once(child, "close");
  const [out, err] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  await closed;
  group.remove();
  return { out, err, code: child.exitCode };
}

/** Started ahead, once that is ready. */
async function startedAhead(command: Becomes): Promise<Started> {
  await standby.prepare();
  return vi.waitFor(
    async () => {
      const started = standby.start(command);
      if (started === undefined) await standby.prepare();
      expect(started).toBeDefined();
      return started!;
    },
    { timeout: 5_000, interval: 50 },
  );
}

describe.skipIf(!canMakeGroups)("a start that is made ahead (needs the right to make control groups)", () => {
  test("becomes the command, with its environment and nothing else, and nothing to read", async () => {
    const env = { PATH: "/usr/bin:/bin", HEDDLE_CALL: "call.1", QUOTED: 'it\'s "so" $HOME `id`\n' };
    const argv = ["/bin/sh", "-c", "env -0; readlink /proc/$$/fd/*; cat; echo err >&2; exit 7"];
    const { out, err, code } = await ran(await startedAhead({ argv, env }));
    const [variables, rest] = [out.split("\0").slice(0, -1), out.split("\0").at(-1)];
    // The shell that we have it print with adds where it is.
    expect(variables.filter((variable) => !variable.startsWith("PWD=")).sort()).toEqual(
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}`)
        .sort(),
    );
    // In the place of what would be inherited there is nothing (spawn-alone.ts).
    const open = rest!.trim().split("\n");
    expect(open.filter((target) => target !== "/dev/null")).toHaveLength(2);
    expect({ err, code }).toEqual({ err: "err\n", code: 7 });
  });

  test("passes on every word as it is", async () => {
    const words = fc.array(fc.string({ unit: "binary", maxLength: 40 }).map((word) => word.replaceAll("\0", "")));
    await fc.assert(
      fc.asyncProperty(words, async (args) => {
        const printed = await ran(
          await startedAhead({ argv: ["/usr/bin/printf", "%s\\0", "first", ...args], env: {} }),
        );
        const expected = ["first", ...args].map((word) => Buffer.from(word).toString());
        expect(printed.out.split("\0").slice(0, -1)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  }, 60_000);

  test("is in its control group from the first, with all that it starts", async () => {
    const started = await startedAhead({
      argv: ["/bin/sh", "-c", "sleep 1000 & setsid -f sleep 1000; cat /proc/self/cgroup"],
      env: { PATH: "/usr/bin:/bin" },
    });
    const [cgroup] = (await once(started.child.stdout!, "data")) as [Buffer];
    expect(cgroup.toString()).toContain(started.group.directory.split("/").at(-1));
    await vi.waitFor(() => expect(started.group.pids()).toHaveLength(2));
    for (const pid of started.group.pids()) process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(started.group.pids()).toEqual([]));
    started.group.remove();
  });

  test("is there for one command only", async () => {
    const argv = ["/bin/true"];
    const [first, second] = [await startedAhead({ argv, env: {} }), standby.start({ argv, env: {} })];
    expect(second).toBeUndefined();
    expect(await ran(first)).toMatchObject({ code: 0 });
  });

  test.each([
    ["longer than what it is told", { argv: ["/bin/echo", "x".repeat(70_000)], env: {} }],
    ["with a NUL in it", { argv: ["/bin/echo", "a\0b"], env: {} }],
    ["whose program looks like a variable", { argv: ["/tmp/a=b"], env: {} }],
    ["with a variable that looks like an option", { argv: ["/bin/true"], env: { "-u": "PATH" } }],
  ])("leaves a command to others that is %s, and stays ready", async (_, command) => {
    await standby.prepare();
    expect(standby.start(command)).toBeUndefined();
    expect(await ran(await startedAhead({ argv: ["/bin/true"], env: {} }))).toMatchObject({ code: 0 });
  });

  test("is not used once somebody has ended it", async () => {
    await standby.prepare();
    const shells = await vi.waitFor(() => {
      const found = standbyShells();
      expect(found).not.toEqual([]);
      return found;
    });
    for (const pid of shells) process.kill(-pid, "SIGKILL");
    expect(standby.start({ argv: ["/bin/true"], env: {} })).toBeUndefined();
  });

  test.each([
    ["it is not wanted any more", "standby.dismiss()"],
    ["its server ends", ""],
    ["its server is killed", "process.kill(process.pid, 'SIGKILL')"],
  ])("goes, and takes its group away, when %s; and keeps no process from ending", async (_, then) => {
    const script = `
      const { Standby } = await import(${JSON.stringify(moduleUrl)});
      const standby = new Standby(64);
      await standby.prepare();
      await new Promise((resolve) => setTimeout(resolve, 200));
      console.log(process.pid);
      ${then}`;
    const server = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [[pid]] = (await Promise.all([once(server.stdout, "data"), once(server, "exit")])) as [[Buffer], unknown];
    const prefix = controlGroupPrefix()!.replace(String(process.pid), pid.toString().trim());
    const groups = (): string[] =>
      readdirSync(dirname(prefix)).filter((name) => join(dirname(prefix), name).startsWith(prefix));
    await vi.waitFor(() => expect(groups()).toEqual([]), { timeout: 5_000 });
  });
});

const moduleUrl = new URL("../../../src/tool/command/standby.ts", import.meta.url).href;

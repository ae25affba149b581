// L4 and L6 seen from below: what the process asks of the system, in which order, and what it makes of a failing disk.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { requireTool } from "../support/tools.js";
import { LogProcess } from "./log-process.js";
import { newKey, readAll, type TemporaryDirectory, temporaryDirectory } from "./support.js";

const canTrace = requireTool("strace", ["strace", "-f", "-qq", "-e", "inject=fdatasync:error=EIO", "true"]);

/** One thread of the pool does all commits, so that the same run makes the same calls in the same order. */
const onePoolThread = { UV_THREADPOOL_SIZE: "1" };

/** More commits than opening a directory takes: the count of a call in the pool's thread is then the pool's alone. */
const appends = 20;

let dir: TemporaryDirectory;
let child: LogProcess | undefined;

beforeEach(() => {
  dir = temporaryDirectory();
});

afterEach(async () => {
  await child?.kill();
  dir.remove();
});

function trace(name: string, ...options: string[]): LogProcess {
  const calls = "trace=openat,pwrite64,writev,fdatasync,write";
  const strace = ["strace", "-f", "-qq", "-y", "-s", "64", "-o", join(dir.path, name), "-e", calls, ...options];
  child = new LogProcess(strace, onePoolThread);
  return child;
}

/** The calls of a trace, in the order in which they ended, each on one line. */
function callsOf(name: string): string[] {
  const started = new Map<string, string>();
  return readFileSync(join(dir.path, name), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, thread, call] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
      if (thread === undefined || call === undefined) return [];
      const unfinished = / <unfinished \.\.\.>$/;
      if (unfinished.test(call)) started.set(thread, call.replace(unfinished, ""));
      if (unfinished.test(call)) return [];
      const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(call)?.[1];
      return [rest === undefined ? call : `${started.get(thread)}${rest}`];
    });
}

const isFlush = (call: string): boolean => /^fdatasync\(\d+<.*data\.mdb>\)\s+= 0/.test(call);
/** LMDB's meta page: 128 bytes at one of two places, on a descriptor opened with O_DSYNC. */
const isMeta = (call: string): boolean => /^pwrite64\(\d+<.*data\.mdb>.*, 128, (40|4136)\)\s+= 128/.test(call);
const isAnswer = (call: string): boolean => /^write\(1<.*\{\\"result\\":\d+\}/.test(call);

describe.skipIf(!canTrace)("with strace (needs it, and the right to trace)", () => {
  test("L4: pages are flushed, then the meta page, and only then is an append acknowledged", {
    timeout: 90_000,
  }, async () => {
    const key = newKey();
    const log = trace("trace");
    await log.call("open", { dir: join(dir.path, "data") });
    await log.call("create", { key });
    for (let n = 1; n <= 5; n++) await log.call("append", { key, message: `${n}` });
    await log.end();
    const calls = callsOf("trace");
    expect(calls.some((call) => /^openat\(.*data\.mdb", O_WRONLY\|O_DSYNC/.test(call))).toBe(true);
    const answers = calls.flatMap((call, at) => (isAnswer(call) ? [at] : []));
    expect(answers).toHaveLength(5);
    for (const [n, answer] of answers.entries()) {
      const before = calls.slice(n === 0 ? 0 : answers[n - 1], answer);
      const flushed = before.findLastIndex(isFlush);
      const meta = before.findLastIndex(isMeta);
      expect(flushed).toBeGreaterThanOrEqual(0);
      expect(meta).toBeGreaterThan(flushed);
    }
  });

  test.each([
    ["a flush that fails", "fdatasync", /^fdatasync\(/],
    ["a meta page that cannot be written, after which LMDB must be opened anew,", "pwrite64", /, 128, (40|4136)/],
  ])(
    "L6: %s is storage_failed; the log stays readable and the next append lands",
    { timeout: 180_000 },
    async (_, name, pattern) => {
      const dry = trace("dry");
      await appendMany(dry, join(dir.path, "dry-data"), newKey("tenant"));
      await dry.end();
      await expectOneFailure(["-e", `inject=${name}:error=EIO:when=${lastOfPool(name, pattern)}`]);
    },
  );

  /** Appends until one fails, which must be the only one, and looks at everything afterwards. */
  async function expectOneFailure(injection: string[]): Promise<void> {
    const key = newKey("tenant");
    const data = join(dir.path, "data");
    const log = trace("trace", ...injection);
    const failures = await appendMany(log, data, key);
    expect(failures).toMatchObject([{ code: "storage_failed", detail: { path: data } }]);
    expect(callsOf("trace").some((call) => call.includes("(INJECTED)"))).toBe(true);
    expect(await log.call("head", { key })).toBe(appends - 1);
    expect(await log.call("append", { key, message: "last" })).toBe(appends);
    expect(await log.call<string[]>("read", { key })).toHaveLength(appends);
    await log.call("close");
    expect(await log.end()).toBe(0);
    const reopened = await openLmdbLog({ dir: data });
    expect((await readAll(reopened, key)).at(-1)).toBe("last");
    await reopened.close();
  }
});

async function appendMany(log: LogProcess, data: string, key: object): Promise<object[]> {
  const failures: object[] = [];
  await log.call("open", { dir: data });
  await log.call("create", { key });
  for (let n = 1; n <= appends; n++) {
    await log.call("append", { key, message: `${n}` }).catch((error) => failures.push(error));
  }
  return failures;
}

/** strace counts calls of one name in each thread apart. The pool's thread is the one with the most. */
function lastOfPool(name: string, pattern: RegExp): number {
  const threads = new Map<string, string[]>();
  for (const line of readFileSync(join(dir.path, "dry"), "utf8").split("\n")) {
    const [, thread, call] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (thread === undefined || !call?.startsWith(`${name}(`)) continue;
    threads.set(thread, [...(threads.get(thread) ?? []), call]);
  }
  const [pool, next] = [...threads.values()].sort((a, b) => b.length - a.length);
  const last = pool!.findLastIndex((call) => pattern.test(call)) + 1;
  expect(last).toBeGreaterThan(next?.length ?? 0);
  return last;
}

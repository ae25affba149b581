// One writer a data directory, whatever happens to it; readers beside it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { seal } from "../../src/log/checksum.js";
import type { EventLog } from "../../src/log/event-log.js";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { encodeOwner, type Owner, ownerState, thisProcess } from "../../src/log/owner.js";
import { LogProcess } from "./log-process.js";
import { bytes, framesOf, newKey, newThread, readAll, type TemporaryDirectory, temporaryDirectory } from "./support.js";

const never = new AbortController().signal;
const processes: LogProcess[] = [];
const logs: EventLog[] = [];
let dir: TemporaryDirectory;

beforeEach(() => {
  dir = temporaryDirectory();
});

afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.kill()));
  await Promise.all(logs.splice(0).map((log) => log.close()));
  dir.remove();
});

function start(): LogProcess {
  const process = new LogProcess();
  processes.push(process);
  return process;
}

async function openHere(options: { readOnly?: boolean; takeOver?: boolean } = {}): Promise<EventLog> {
  const log = await openLmdbLog({ dir: dir.path, ...options });
  logs.push(log);
  return log;
}

/** A process that owns the directory, with a thread of one frame, and one that does not. */
async function ownerAndAnother() {
  const key = newKey();
  const [first, second] = [start(), start()];
  await first.call("open", { dir: dir.path });
  await first.call("create", { key });
  await first.call("append", { key, message: "1" });
  return { key, first, second };
}

describe("ownership of a data directory", () => {
  test("a second opening in the same process is refused, and possible after close", async () => {
    const first = await openHere();
    await expect(openHere()).rejects.toMatchObject({
      code: "directory_in_use",
      detail: { path: dir.path, owner: expect.stringContaining(`process ${process.pid} on ${hostname()}`) },
    });
    const key = await newThread(first);
    expect(await first.append(key, 0n, { frames: framesOf("still mine") })).toBe(1n);
    await first.close();
    expect(await readAll(await openHere(), key)).toEqual(["still mine"]);
  });

  test("a second process is refused while the first lives, and let in after kill -9", { timeout: 60_000 }, async () => {
    const [first, second] = [start(), start()];
    await first.call("open", { dir: dir.path });
    const refused = await second.fails("open", { dir: dir.path });
    expect(refused).toMatchObject({ code: "directory_in_use", detail: { path: dir.path } });
    expect(refused.detail["owner"]).toMatch(new RegExp(`^process ${first.pid} on ${hostname()}, since 2`));
    await first.kill();
    await second.call("open", { dir: dir.path });
  });

  test("of five processes that start at once exactly one gets it", { timeout: 120_000 }, async () => {
    const racers = Array.from({ length: 5 }, start);
    const key = newKey();
    await Promise.all(racers.map((racer) => racer.fails("append", { key, message: "not open yet" })));
    const results = await Promise.allSettled(racers.map((racer) => racer.call("open", { dir: dir.path })));
    const winners = racers.filter((_, n) => results[n]!.status === "fulfilled");
    expect(winners).toHaveLength(1);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "directory_in_use" });
    }
    expect(await winners[0]!.call("create", { key })).toBe(true);
    expect(await winners[0]!.call("append", { key, message: "won" })).toBe(1);
  });

  test("what an owner acknowledged before kill -9 is there, and a reader beside it sees its successor", {
    timeout: 60_000,
  }, async () => {
    const key = newKey();
    const [first, second] = [start(), start()];
    await first.call("open", { dir: dir.path });
    await first.call("create", { key });
    const reader = await openHere({ readOnly: true });
    for (let n = 1; n <= 20; n++) await first.call("append", { key, message: `${n}` });
    await first.kill();
    await second.call("open", { dir: dir.path });
    expect(await second.call("append", { key, message: "21" })).toBe(21);
    expect(await readAll(reader, key)).toEqual(Array.from({ length: 21 }, (_, n) => `${n + 1}`));
  });

  test("an owner on another host is refused with advice, and replaced by take-over", async () => {
    await (await openHere()).close();
    await writeMeta("owner", seal(encodeOwner({ ...thisProcess(), host: "elsewhere", since: "2026-01-01T00:00:00Z" })));
    await expect(openHere()).rejects.toMatchObject({
      code: "directory_in_use",
      message: expect.stringContaining("take-over"),
      detail: { owner: expect.stringContaining("on elsewhere, since 2026-01-01T00:00:00Z") },
    });
    await openHere({ takeOver: true });
  });

  test("an owner that cannot be seen, as in another container, is heard; and no longer once it is killed", {
    timeout: 60_000,
  }, async () => {
    const first = start();
    await first.call("open", { dir: dir.path });
    await writeMeta("owner", seal(encodeOwner({ ...thisProcess(), startTime: "1" })));
    await expect(openHere()).rejects.toMatchObject({ code: "directory_in_use", detail: { path: dir.path } });
    await first.kill();
    await openHere();
  });

  test("L1, L4: an owner that lives on although its directory was taken writes nothing any more", {
    timeout: 60_000,
  }, async () => {
    const { key, first, second } = await ownerAndAnother();
    await second.call("open", { dir: dir.path, takeOver: true });
    expect(await second.call("append", { key, message: "2" })).toBe(2);
    expect(await first.fails("append", { key, message: "in its place" })).toMatchObject({
      code: "storage_failed",
      message: expect.stringContaining(`was taken by process ${second.pid} on ${hostname()}`),
    });
    expect(await readAll(await openHere({ readOnly: true }), key)).toEqual(["1", "2"]);
  });

  test("L1, L4: also where its last write changed nothing, so that the taking stands in its place", {
    timeout: 60_000,
  }, async () => {
    const { key, first, second } = await ownerAndAnother();
    await first.call("rest", { key });
    await second.call("open", { dir: dir.path, takeOver: true });
    expect(await first.fails("append", { key, message: "in its place" })).toMatchObject({ code: "storage_failed" });
    expect(await second.call("append", { key, message: "2" })).toBe(2);
    expect(await readAll(await openHere({ readOnly: true }), key)).toEqual(["1", "2"]);
  });

  test("an owner whose pid is another process by now is replaced silently", async () => {
    await (await openHere()).close();
    await writeMeta("owner", seal(encodeOwner({ ...thisProcess(), startTime: "1" })));
    await openHere();
  });
});

test.skipIf(process.platform !== "linux")(
  "a process that has ended is dead, also before its parent notices",
  async () => {
    // The shell's child ends when the shell has become something that never looks; the shell itself might have.
    const parent = spawn("/bin/sh", ["-c", "sleep 0.3 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(line);
      const stateOf = (): string => readFileSync(`/proc/${pid}/stat`, "utf8");
      await vi.waitFor(() => expect(stateOf()).toContain(") Z "), { timeout: 10_000 });
      const startTime = stateOf().split(") ")[1]!.split(" ")[19]!;
      expect(ownerState({ ...thisProcess(), pid, startTime }, thisProcess())).toBe("dead");
    } finally {
      parent.kill("SIGKILL");
    }
  },
);

describe("who owns", () => {
  const here: Owner = { ...thisProcess() };

  test.each([
    ["this process", {}, "alive"],
    ["a process of an earlier boot", { bootId: "another boot" }, "dead"],
    ["a process with this pid that started at another time", { startTime: "1" }, "dead"],
    ["a process that is not there", { pid: 2 ** 22 + 1, startTime: "" }, "dead"],
    ["a process of unknown start that runs", { startTime: "" }, "alive"],
    ["a process of another host", { host: "elsewhere" }, "elsewhere"],
  ] as const)("%s is %s", (_, difference, state) => {
    expect(ownerState({ ...here, ...difference }, here)).toBe(state);
  });
});

describe("the directory", () => {
  test("is made for its owner alone", async () => {
    dir.remove();
    await openHere();
    expect(statSync(dir.path).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir.path, "data.mdb")).mode & 0o777).toBe(0o600);
  });

  test("of a newer layout is refused, for reading too, and stays as it is", async () => {
    await (await openHere()).close();
    await writeMeta("version", seal(Buffer.from([9])));
    const before = readFileSync(join(dir.path, "data.mdb"));
    const refusal = { code: "directory_version", detail: { path: dir.path, found: 9, supported: 1 } };
    await expect(openHere()).rejects.toMatchObject(refusal);
    await expect(openHere({ takeOver: true })).rejects.toMatchObject(refusal);
    await expect(openHere({ readOnly: true })).rejects.toMatchObject(refusal);
    expect(readFileSync(join(dir.path, "data.mdb")).equals(before)).toBe(true);
  });
});

describe("a read-only log", () => {
  test("sees what the owner appends in another process, and waits for it", { timeout: 60_000 }, async () => {
    const key = newKey();
    const owner = start();
    await owner.call("open", { dir: dir.path });
    await owner.call("create", { key });
    const reader = await openHere({ readOnly: true });
    for (let n = 1; n <= 5; n++) {
      const waiting = reader.waitBeyond(key, BigInt(n - 1), never);
      await owner.call("append", { key, message: `${n}`, size: 100_000 });
      expect(await reader.readThread(key)).toMatchObject({ head: BigInt(n) });
      expect(await waiting).toBe("appended");
      expect(await reader.read(key, BigInt(n - 1), 1000)).toMatchObject({ first: BigInt(n), last: BigInt(n) });
    }
    const leaving = new AbortController();
    const waiting = reader.waitBeyond(key, 5n, leaving.signal);
    leaving.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
  });

  test("works beside the owner in one process, learns of removals, and writes nothing", async () => {
    const owner = await openHere();
    const key = await newThread(owner);
    await owner.append(key, 0n, { frames: framesOf("a"), busy: true });
    const reader = await openHere({ readOnly: true });
    expect(await readAll(reader, key)).toEqual(["a"]);
    expect(await reader.listBusy()).toEqual([key]);
    const unwritable = { code: "directory_unwritable", detail: { path: dir.path } };
    await expect(reader.append(key, 1n, { frames: framesOf("b") })).rejects.toMatchObject(unwritable);
    await expect(reader.create(newKey(), bytes(""))).rejects.toMatchObject(unwritable);
    await expect(reader.remove(key, 1n, bytes(""))).rejects.toMatchObject(unwritable);
    const waiting = reader.waitBeyond(key, 1n, never);
    await owner.remove(key, 1n, bytes("tombstone"));
    expect(await waiting).toBe("removed");
    const closing = reader.waitBeyond(newKey(), 0n, never);
    await reader.close();
    await expect(closing).rejects.toMatchObject({ code: "shutting_down" });
  });

  test("comes after the owner in one process, or the owner is refused", async () => {
    await (await openHere()).close();
    const reader = await openHere({ readOnly: true });
    await expect(openHere()).rejects.toMatchObject({ code: "directory_in_use", detail: { path: dir.path } });
    await reader.close();
    await openHere();
  });

  test("of a directory without data is refused with the path, and makes nothing", async () => {
    for (const path of [join(dir.path, "absent"), dir.path]) {
      const opening = openLmdbLog({ dir: path, readOnly: true });
      await expect(opening).rejects.toMatchObject({ code: "storage_failed", detail: { path } });
      await expect(opening).rejects.toThrow("holds no Heddle data");
    }
    expect(statSync(join(dir.path, "absent"), { throwIfNoEntry: false })).toBeUndefined();
  });
});

/** Writes a record past the log, as another version or another host would have. */
async function writeMeta(key: string, value: Buffer): Promise<void> {
  const root = open({ path: dir.path, encoding: "binary", keyEncoding: "binary", pageSize: 4096 });
  root.openDB("meta", { encoding: "binary", keyEncoding: "binary" }).putSync(Buffer.from(key), value);
  await root.close();
}

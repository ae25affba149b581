// L6: a disk that is full or cannot be written. Each test has a process of its own: what it meets may end it.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLmdbLog } from "../../src/log/lmdb.js";
import { LogProcess, type LogProcessError } from "./log-process.js";
import { frameOf, newKey, newThread, readAll, type TemporaryDirectory, temporaryDirectory } from "./support.js";

let dir: TemporaryDirectory;
let child: LogProcess | undefined;

beforeEach(() => {
  dir = temporaryDirectory();
});

afterEach(async () => {
  await child?.kill();
  child = undefined;
  spawnSync("umount", [dir.path]);
  dir.remove();
});

const canMount = ((): boolean => {
  const trial = temporaryDirectory();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", trial.path]).status === 0;
  if (mounted) spawnSync("umount", [trial.path]);
  trial.remove();
  return mounted;
})();

function mountSmallDisk(bytes: number, options = ""): void {
  expect(spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}${options}`, "tmpfs", dir.path]).status).toBe(0);
}

interface Filled {
  /** How many appends were acknowledged. */
  readonly head: number;
  readonly error: LogProcessError;
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n + 1}`);
const heads = (messages: string[]): string[] => messages.map((message) => message.replace(/\.+$/, ""));

describe("L6: a full disk", () => {
  test.each([1_500, 9_000, 60_000])(
    "L6: a file that may not grow is storage_full; the log stays readable and loses nothing (frames of %i bytes)",
    { timeout: 60_000 },
    async (size) => {
      const key = newKey();
      child = new LogProcess(["bash", "-c", 'ulimit -f 2048 && exec "$@"', "limited"]);
      await child.call("open", { dir: dir.path });
      await child.call("create", { key });
      const { head, error } = await child.call<Filled>("fill", { key, size });
      expect(error).toMatchObject({ code: "storage_full", detail: { path: join(dir.path, "data.mdb") } });
      expect(error.message).toContain("free disk space");
      for (let tries = 0; tries < 20; tries++) {
        expect(await child.fails("append", { key, message: "more", size })).toMatchObject({ code: "storage_full" });
      }
      expect(await child.call("head", { key })).toBe(head);
      expect(await child.call("read", { key })).toEqual(numbers(head));
      await child.call("close");
      expect(await child.end()).toBe(0);
      const log = await openLmdbLog({ dir: dir.path });
      expect(heads(await readAll(log, key))).toEqual(numbers(head));
      expect(await log.append(key, BigInt(head), { frames: [] })).toBe(BigInt(head));
      await log.close();
    },
  );

  describe.skipIf(!canMount)("on a small disk (needs the right to mount)", () => {
    test.each([1_500, 4_050, 60_000])(
      "L6: is storage_full, and appends succeed again when space is freed (frames of %i bytes)",
      { timeout: 60_000 },
      async (size) => {
        mountSmallDisk(3 * 1024 * 1024);
        const ballast = join(dir.path, "ballast");
        writeFileSync(ballast, Buffer.alloc(1024 * 1024));
        const key = newKey();
        const data = join(dir.path, "data");
        child = new LogProcess();
        await child.call("open", { dir: data });
        await child.call("create", { key });
        const { head, error } = await child.call<Filled>("fill", { key, size });
        expect(error).toMatchObject({ code: "storage_full", detail: { path: join(data, "data.mdb") } });
        expect(await child.call("head", { key })).toBe(head);
        rmSync(ballast);
        expect(await child.call("append", { key, message: `${head + 1}`, size })).toBe(head + 1);
        expect(await child.call("read", { key })).toEqual(numbers(head + 1));
        await child.call("close");
        expect(await child.end()).toBe(0);
      },
    );

    test("L6: on a disk that is full from the start the directory is refused with storage_full", async () => {
      mountSmallDisk(256 * 1024);
      await expect(openLmdbLog({ dir: dir.path })).rejects.toMatchObject({
        code: "storage_full",
        detail: { path: dir.path },
      });
      expect(readdirSync(dir.path)).toEqual([]);
    });

    test("a disk that is mounted read-only is directory_unwritable", async () => {
      mountSmallDisk(1024 * 1024, ",ro");
      const opening = openLmdbLog({ dir: join(dir.path, "data") });
      await expect(opening).rejects.toMatchObject({ code: "directory_unwritable" });
      await expect(openLmdbLog({ dir: dir.path })).rejects.toMatchObject({ code: "directory_unwritable" });
    });
  });
});

describe("a directory that cannot be one", () => {
  test("because a file has its place, or its parent's, is directory_unwritable with the path", async () => {
    const file = join(dir.path, "file");
    writeFileSync(file, "mine");
    for (const path of [file, join(file, "below")]) {
      const opening = openLmdbLog({ dir: path });
      await expect(opening).rejects.toMatchObject({ code: "directory_unwritable", detail: { path } });
      await expect(opening).rejects.toThrow("name a directory that this user may write");
    }
  });

  test.skipIf(process.platform !== "linux")(
    "because it cannot be made is directory_unwritable (needs /proc)",
    async () => {
      const path = "/proc/heddle";
      await expect(openLmdbLog({ dir: path })).rejects.toMatchObject({
        code: "directory_unwritable",
        detail: { path },
      });
    },
  );

  test.each([
    ["text", Buffer.alloc(100_000, "x")],
    ["cut short", Buffer.alloc(100)],
    ["zeros", Buffer.alloc(100_000)],
  ])("because its data file is not one of LMDB's (%s) is storage_failed, and the file stays", async (_, content) => {
    const file = join(dir.path, "data.mdb");
    writeFileSync(file, content);
    for (const readOnly of [false, true]) {
      const opening = openLmdbLog({ dir: dir.path, readOnly });
      await expect(opening).rejects.toMatchObject({ code: "storage_failed", detail: { path: file } });
    }
    expect(readFileSync(file).equals(content)).toBe(true);
  });

  test("because its data file was cut short is storage_failed, for readers too", async () => {
    const file = join(dir.path, "data.mdb");
    const log = await openLmdbLog({ dir: dir.path });
    const key = await newThread(log);
    await log.append(key, 0n, { frames: [frameOf(Buffer.alloc(1_000_000, "x"))] });
    await log.close();
    for (const length of [1_000_000, 500_000, 10_000, 5_000]) {
      truncateSync(file, length);
      for (const readOnly of [false, true]) {
        const opening = openLmdbLog({ dir: dir.path, readOnly });
        await expect(opening).rejects.toMatchObject({ code: "storage_failed", detail: { path: file } });
      }
    }
  });
});

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Workspace } from "../../../src/tool/workspace/workspace.js";
import { type Ground, makeGround, setTraps } from "./support.js";

let ground: Ground;
let workspace: Workspace;
const at = (path: string) => join(ground.root, path);
const textAt = (path: string) => readFileSync(at(path), "utf8");

beforeEach(async () => {
  ground = makeGround();
  workspace = await Workspace.open(ground.root);
});
afterEach(async () => {
  await workspace.close();
  ground.remove();
});

describe("opening", () => {
  test("fails in words where there is none", async () => {
    await expect(Workspace.open(undefined)).rejects.toMatchObject({ name: "ToolFailure", code: "ENOENT" });
    for (const [path, code] of [
      [at("nothing"), "ENOENT"],
      [at("file"), "ENOTDIR"],
    ] as const)
      await expect(Workspace.open(path)).rejects.toMatchObject({
        code,
        message: "The workspace cannot be reached; go on without files",
      });
  });

  test("by a link, it knows both names", async () => {
    symlinkSync("root", join(ground.base, "named"));
    await using named = await Workspace.open(join(ground.base, "named"));
    for (const path of ["src/file", join(ground.base, "named/src/file"), at("src/file")])
      expect(named.locate(path)).toEqual({ relative: "src/file", absolute: at("src/file") });
    expect(named.locate(".")).toEqual({ relative: ".", absolute: ground.root });
  });
});

describe("writing", () => {
  test("makes and replaces, and says which", async () => {
    expect(await workspace.writeFile("new", "one")).toMatchObject({ created: true, place: { relative: "new" } });
    expect(await workspace.writeFile("new", Buffer.from("two"))).toMatchObject({ created: false });
    expect(textAt("new")).toBe("two");
    expect(readdirSync(ground.root).sort()).toEqual(["file", "new", "src"]);
  });

  test.each([0o644, 0o600, 0o755])("keeps the mode %o of what it replaces, and whose it is", async (mode) => {
    chmodSync(at("file"), mode);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(at("file"), 12_345, 54_321);
    await workspace.writeFile("file", "new");
    const { mode: now, uid, gid } = statSync(at("file"));
    expect(now & 0o7777).toBe(mode);
    if (isRoot) expect([uid, gid]).toEqual([12_345, 54_321]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "leaves a file alone that is read-only (not as root, who may write it)",
    async () => {
      chmodSync(at("file"), 0o444);
      const refused = { code: "EACCES", message: "Permission denied: file; choose another file" };
      await expect(workspace.writeFile("file", "new")).rejects.toMatchObject(refused);
      await expect(workspace.examine("file")).rejects.toMatchObject(refused);
      expect(textAt("file")).toBe("inside");
      // Its name goes by the rights of the directory.
      await workspace.moveFile("file", "moved");
      await workspace.removeFile("moved");
    },
  );

  test("does not keep special bits", async () => {
    chmodSync(at("file"), 0o4755);
    await workspace.writeFile("file", "new");
    expect(statSync(at("file")).mode & 0o7777).toBe(0o755);
  });

  test("makes parents only when it is asked to", async () => {
    await expect(workspace.writeFile("a/b/c", "x")).rejects.toMatchObject({ code: "ENOENT" });
    expect(existsSync(at("a"))).toBe(false);
    await workspace.writeFile("a/b/c", "x", { makeParents: true });
    expect(textAt("a/b/c")).toBe("x");
  });

  test("holds to what is expected", async () => {
    await expect(workspace.writeFile("file", "x", { expect: "new" })).rejects.toMatchObject({
      code: "EEXIST",
      message: "Target exists: file; choose another name, or change what is there",
    });
    await expect(workspace.writeFile("new", "x", { expect: "existing" })).rejects.toMatchObject({ code: "ENOENT" });
    expect([textAt("file"), existsSync(at("new"))]).toEqual(["inside", false]);
  });

  test("leaves the old file and nothing else when it fails", async () => {
    const broken = { get length() { throw new Error("no data"); } } as unknown as Uint8Array; // biome-ignore format: one line
    await expect(workspace.writeFile("file", broken)).rejects.toThrow();
    expect(textAt("file")).toBe("inside");
    expect(readdirSync(ground.root).sort()).toEqual(["file", "src"]);
  });
});

describe("moving and removing", () => {
  test("moves a file, and never over another", async () => {
    await expect(workspace.moveFile("file", "src/file")).rejects.toMatchObject({ code: "EEXIST" });
    expect(await workspace.moveFile("file", "a/b", { makeParents: true })).toMatchObject({
      from: { relative: "file" },
      to: { relative: "a/b" },
    });
    expect([textAt("a/b"), existsSync(at("file"))]).toEqual(["inside", false]);
  });

  test("takes the name of a link, not what it points at", async () => {
    symlinkSync("src/file", at("link"));
    await workspace.moveFile("link", "link-2");
    await workspace.removeFile("link-2");
    expect(textAt("src/file")).toBe("inside");
    expect(readdirSync(ground.root).sort()).toEqual(["file", "src"]);
  });

  test.each(["src", ".", "src/"])("refuses the directory %s", async (path) => {
    await expect(workspace.removeFile(path)).rejects.toMatchObject({ code: "EISDIR" });
    await expect(workspace.moveFile(path, "new")).rejects.toMatchObject({ code: "EISDIR" });
  });

  test.skipIf(process.getuid?.() === 0)(
    "leaves one name where the old one may not go (not as root, who may)",
    async () => {
      mkdirSync(at("locked"));
      writeFileSync(at("locked/file"), "inside");
      chmodSync(at("locked"), 0o555);
      try {
        await expect(workspace.moveFile("locked/file", "new")).rejects.toMatchObject({
          code: "EACCES",
          message: "Permission denied: locked/file; choose another file",
        });
        expect([statSync(at("locked/file")).nlink, existsSync(at("new"))]).toEqual([1, false]);
        await expect(workspace.moveFile("file", "locked/new")).rejects.toThrow("Permission denied: locked/new;");
      } finally {
        chmodSync(at("locked"), 0o755);
      }
    },
  );

  test("says which of two names is missing", async () => {
    await expect(workspace.moveFile("nothing", "new")).rejects.toThrow("File not found: nothing;");
    await expect(workspace.moveFile("file", "nowhere/new")).rejects.toThrow("File not found: nowhere/new;");
  });
});

describe("what is protected", () => {
  const names = [".git", ".GIT", ".Git", ".g\u200cit", ".git.", ".git ", ".git::$INDEX_ALLOCATION", "GIT~1", ".heddle"];

  test.each(names.flatMap((name) => [name, `${name}/hooks/pre-commit`, `src/${name}/config`]))(
    "%j is not changed",
    async (path) => {
      const refused = { name: "ToolFailure", code: "EPERM", message: expect.stringMatching(/^Protected: /) };
      await expect(workspace.writeFile(path, "x", { makeParents: true })).rejects.toMatchObject(refused);
      await expect(workspace.moveFile("file", path, { makeParents: true })).rejects.toMatchObject(refused);
      await expect(workspace.moveFile(path, "new")).rejects.toMatchObject(refused);
      await expect(workspace.removeFile(path)).rejects.toMatchObject(refused);
      expect(readdirSync(ground.root).sort()).toEqual(["file", "src"]);
    },
  );

  test("nor by a link, and no parent is made there", async () => {
    setTraps(ground);
    symlinkSync(".git", at("git"));
    for (const path of ["to-git", "git/config", "git/new/deep/file"])
      await expect(workspace.writeFile(path, "x", { makeParents: true })).rejects.toMatchObject({ code: "EPERM" });
    await expect(workspace.removeFile("git/config")).rejects.toMatchObject({ code: "EPERM" });
    expect(readdirSync(at(".git")).sort()).toEqual(["config", "hooks"]);
    expect((await workspace.readText("git/config", 100)).text).toBe("[core]");
  });

  test.each([".gitignore", ".github/x", "git", "src/.gitattributes", "x.git/y"])("%s is", async (path) => {
    expect(await workspace.writeFile(path, "x", { makeParents: true })).toMatchObject({ created: true });
  });
});

test.skipIf(process.platform !== "linux")("no descriptor stays open, whatever happens (needs Linux)", async () => {
  setTraps(ground);
  mkdirSync(at("more"));
  const work = async () => {
    for (const path of [
      "file",
      "in-relative",
      "out-relative",
      "hard",
      "pipe",
      "many-0",
      "nothing",
      "src",
      "long",
      "file/x",
    ]) {
      await workspace.readText(path, 3).catch(() => {});
      await workspace.openDirectory(path).then(
        (directory) => directory.close(),
        () => {},
      );
      await workspace.writeFile(`${path}/x`, "x").catch(() => {});
      await workspace.moveFile(path, "out-directory/x").catch(() => {});
      await workspace.removeFile(`${path}/x`).catch(() => {});
    }
    await using directory = await workspace.openDirectory("src");
    for await (const { name } of directory.entries()) {
      await directory.openFile(name).then(
        ({ handle }) => handle.close(),
        () => {},
      );
      await directory.openDirectory(name).then(
        (inner) => inner.close(),
        () => {},
      );
      if (name === "deep") break;
    }
  };
  await work();
  const before = readdirSync("/proc/self/fd").length;
  for (let round = 0; round < 10; round++) await work();
  expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before);
});

test.skipIf(process.platform !== "linux")(
  "a file that is written to all the time can be read (needs Linux)",
  async () => {
    const writer = new Worker(writesWithoutRest, { eval: true, workerData: at("log") });
    const ended = new Promise((resolve, reject) => writer.on("exit", resolve).on("error", reject));
    await new Promise((resolve) => writer.once("message", resolve));
    try {
      await using directory = await workspace.openDirectory(".");
      for (let round = 0; round < 200; round++) {
        expect((await workspace.readText("log", 100)).text).toBe("line\n");
        await (await directory.openFile("log")).handle.close();
      }
    } finally {
      await writer.terminate();
      await ended;
    }
  },
);

const writesWithoutRest = `
  const { openSync, writeSync } = require("node:fs");
  const { parentPort, workerData } = require("node:worker_threads");
  const log = openSync(workerData, "w");
  for (let round = 0; ; round++) {
    writeSync(log, "line\\n", 0);
    if (round === 0) parentPort.postMessage("begun");
  }
`;

test("a text is given as it is, or refused", async () => {
  writeFileSync(at("bom"), "\uFEFFa\r\n");
  expect(await workspace.readText("bom", 100)).toMatchObject({ text: "\uFEFFa\r\n", bytes: 6, mode: 0o644 });
  await expect(workspace.readText("bom", 5)).rejects.toMatchObject({ code: "EFBIG" });
  writeFileSync(at("binary"), Buffer.from([0xff, 0xfe, 0]));
  await expect(workspace.readText("binary", 100)).rejects.toMatchObject({ code: "EILSEQ" });
});

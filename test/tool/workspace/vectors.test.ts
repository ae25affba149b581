import type { Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Workspace } from "../../../src/tool/workspace/workspace.js";
import { canary, type Ground, listenAt, makeGround, setTraps } from "./support.js";

/** What comes of reading it: the text "inside", or a code. */
type Vector = readonly [path: string, outcome: string];

/** `ROOT`, `BASE` and `OUTSIDE` stand for where these are. Everything is done with them that can be done with a path. */
const vectors: readonly Vector[] = [
  // Plain paths, and what is only written oddly.
  ["file", "inside"],
  ["./file", "inside"],
  ["src//file", "inside"],
  ["src/./deep/../file", "inside"],
  ["nothing/../file", "inside"],
  ["ROOT/file", "inside"],
  ["ROOT/../root/file", "inside"],
  ["src/../../root/file", "inside"],
  // Out, by its words.
  ["..", "EACCES"],
  ["../", "EACCES"],
  ["../outside/secret", "EACCES"],
  ["../outside", "EACCES"],
  ["../nothing", "EACCES"],
  ["../root-beside/secret", "EACCES"],
  ["src/../../outside/secret", "EACCES"],
  ["src/deep/../../../outside/secret", "EACCES"],
  ["./../outside/secret", "EACCES"],
  [".//..//outside//secret", "EACCES"],
  ["nothing/../../outside/secret", "EACCES"],
  ["file/../../outside/secret", "EACCES"],
  ["OUTSIDE/secret", "EACCES"],
  ["/OUTSIDE/secret", "EACCES"],
  ["ROOT/../outside/secret", "EACCES"],
  ["ROOT-beside/secret", "EACCES"],
  ["BASE", "EACCES"],
  ["/proc/self/cwd/../OUTSIDE/secret", "EACCES"],
  // Out, by links.
  ["out-relative", "EACCES"],
  ["out-absolute", "EACCES"],
  ["out-directory/secret", "EACCES"],
  ["out-directory/deep/secret", "EACCES"],
  ["out-directory/new", "EACCES"],
  ["out-directory/new/new", "EACCES"],
  ["src/out-deeper/secret", "EACCES"],
  ["src/out-deeper/../secret", "ENOENT"],
  ["in-directory/out-deeper/secret", "EACCES"],
  ["out-by-root", "EACCES"],
  ["out-beside", "EACCES"],
  ["out-absolute-dots", "EACCES"],
  ["out-absolute-dots-raw", "EACCES"],
  ["out-absolute-dots-deep", "EACCES"],
  ["out-dangling", "EACCES"],
  ["out-and-in", "EACCES"],
  ["chain-1", "EACCES"],
  ["in-parent/in-parent/out-relative", "EACCES"],
  // Links that stay inside.
  ["in-relative", "inside"],
  ["in-absolute", "inside"],
  ["in-absolute-dots", "inside"],
  ["in-directory/file", "inside"],
  ["in-parent/in-parent/src/file", "inside"],
  ["in-up", "inside"],
  ["src/in-up-link", "inside"],
  ["empty-steps", "inside"],
  ["in-dangling", "ENOENT"],
  ["self", "ELOOP"],
  ["round-1/file", "ELOOP"],
  ["many-0", "ELOOP"],
  ["many-5", "inside"],
  ["long", "ENOENT"],
  // What is no file, or may be somebody else's.
  ["hard", "EMLINK"],
  ["in-directory/hard", "EMLINK"],
  ["pipe", "EINVAL"],
  ["to-pipe", "EINVAL"],
  ["socket", "EINVAL"],
  ["src", "EISDIR"],
  [".", "EISDIR"],
  ["ROOT", "EISDIR"],
  ["file/", "EISDIR"],
  ["file/.", "EISDIR"],
  ["file/file", "ENOTDIR"],
  // What other programs would read something into.
  ["~", "ENOENT"],
  ["~root/secret", "ENOENT"],
  ["to-home", "ENOENT"],
  ["$HOME/secret", "ENOENT"],
  ["`id`", "ENOENT"],
  ["file:///etc/passwd", "ENOENT"],
  ["file://OUTSIDE/secret", "ENOENT"],
  ["%2e%2e/outside/secret", "ENOENT"],
  ["..%2foutside%2fsecret", "ENOENT"],
  ["%2e%2e%2foutside", "ENOENT"],
  ["..%c0%afoutside", "ENOENT"],
  ["..\\outside\\secret", "ENOENT"],
  ["src\\..\\..\\outside\\secret", "ENOENT"],
  ["C:\\secret", "ENOENT"],
  ["\\\\host\\share", "ENOENT"],
  ["\uff0e\uff0e/outside/secret", "ENOENT"],
  ["\u2025/outside/secret", "ENOENT"],
  ["..\u2215outside\u2215secret", "ENOENT"],
  ["..\uff0foutside", "ENOENT"],
  [".\u200b./outside/secret", "ENOENT"],
  ["\u202e../outside", "ENOENT"],
  [".../outside/secret", "ENOENT"],
  ["... /file", "ENOENT"],
  [".. /outside/secret", "ENOENT"],
  [" ../outside/secret", "ENOENT"],
  ["FILE", "ENOENT"],
  ["file ", "ENOENT"],
  ["file\n", "ENOENT"],
  ["\n../outside/secret", "ENOENT"],
  ["file\u0000", "EINVAL"],
  ["file\u0000/../../outside/secret", "EINVAL"],
  ["\ud800", "ENOENT"],
  ["-rf", "ENOENT"],
  ["*", "ENOENT"],
  ["", "EINVAL"],
  // Too much.
  ["n".repeat(256), "ENAMETOOLONG"],
  ["é".repeat(128), "ENAMETOOLONG"],
  ["n".repeat(4_097), "ENAMETOOLONG"],
  ["d/".repeat(2_040), "EISDIR"],
  [`${"src/../".repeat(500)}file`, "inside"],
  [`${"../".repeat(1_000)}etc/passwd`, "EACCES"],
];

/** Nothing is changed with these: a jail that leaks must not cost a machine its files. */
const systemVectors: readonly Vector[] = [
  ["/", "EACCES"],
  ["/etc/passwd", "EACCES"],
  ["//etc/passwd", "EACCES"],
  ["/etc/../etc/passwd", "EACCES"],
  ["../../../../../../../../etc/passwd", "EACCES"],
  ["/proc/self/environ", "EACCES"],
  ["/proc/self/root/etc/passwd", "EACCES"],
  ["/proc/self/cwd", "EACCES"],
  ["/proc/self/fd/0", "EACCES"],
  ["/dev/zero", "EACCES"],
  ["/dev/stdin", "EACCES"],
  ["to-root", "EACCES"],
  ["to-root/etc/passwd", "EACCES"],
  ["to-etc", "EACCES"],
  ["to-etc/nothing", "EACCES"],
  ["to-proc", "EACCES"],
  ["to-proc-root/etc/passwd", "EACCES"],
  ["to-proc-cwd", "EACCES"],
  ["to-fd", "EACCES"],
  ["to-null", "EACCES"],
  ["to-zero", "EACCES"],
  ["to-stdin", "EACCES"],
];

describe.each([
  ["by descriptors", false],
  ["by paths, as where there are no descriptors", true],
])("held %s", (_, portable) => {
  describe("reading", () => {
    let ground: Ground;
    let workspace: Workspace;
    let socket: Server;
    let before: string[];

    beforeAll(async () => {
      ground = makeGround();
      setTraps(ground);
      before = ground.outsideNow();
      socket = await listenAt(join(ground.root, "socket"));
      workspace = await Workspace.open(ground.root, { portable });
    });
    afterAll(async () => {
      await workspace.close();
      socket.close();
      ground.remove();
    });

    test.each([...vectors, ...systemVectors])("%j gives %s", async (path, outcome) => {
      const at = placed(path, ground);
      const read = await settled(workspace.readText(at, 1_000));
      expect("text" in read ? read.text : read.code).toBe(outcome);
      expect(JSON.stringify(read)).not.toContain(canary);
      const listed = await settled(listedNames(workspace, at));
      expect(JSON.stringify(listed)).not.toMatch(/secret|passwd/);
      expect(ground.outsideNow()).toEqual(before);
    });

    test("says where links led", async () => {
      const { place } = await workspace.readText("src/in-up-link", 100);
      expect(place).toEqual({ relative: "src/file", absolute: join(ground.root, "src/file") });
    });
  });

  // Flushing takes its time: where the way is the same, those that lead out are enough.
  const changed = portable ? vectors.filter(([, outcome]) => outcome === "EACCES") : vectors;
  test.concurrent.each(changed)("nothing outside is changed by way of %j", async (path) => {
    const ground = makeGround();
    setTraps(ground);
    const before = ground.outsideNow();
    await using workspace = await Workspace.open(ground.root, { portable });
    const at = placed(path, ground);
    const done = [
      await settled(workspace.writeFile(at, "written", { makeParents: true })),
      await settled(workspace.writeFile(at, "written", { expect: "new" })),
      await settled(workspace.writeFile(`${at}/new`, "written", { makeParents: true })),
      await settled(workspace.moveFile("src/deep/file", at, { makeParents: true })),
      await settled(workspace.moveFile(at, "moved")),
      await settled(workspace.readText("moved", 1_000)),
      await settled(workspace.removeFile(at)),
      await settled(workspace.removeFile(`${at}/secret`)),
    ];
    const after = ground.outsideNow();
    ground.remove();
    expect(JSON.stringify(done)).not.toContain(canary);
    const failures = done.filter((one) => one instanceof Error);
    expect(failures.length).toBeGreaterThan(0);
    for (const { name, code } of failures)
      expect([name, code]).toEqual(["ToolFailure", expect.stringMatching(/^E[A-Z]+$/)]);
    expect(withoutLinkCounts(after)).toEqual(withoutLinkCounts(before));
  });
});

test("there are more than sixty vectors", () => {
  expect(vectors.length + systemVectors.length).toBeGreaterThan(60);
});

const placed = (path: string, { root, base, outside }: Ground): string =>
  path.replaceAll("ROOT", root).replaceAll("BASE", base).replaceAll("OUTSIDE", outside);

/** A hard link may go from the workspace: it is a name there. What it names stays. */
const withoutLinkCounts = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/( 100\d+) \d+ /, "$1 "));

/** What came of it, or the reason why nothing did. */
const settled = <T>(work: Promise<T>): Promise<T | (Error & { code: string })> => work.catch((reason) => reason);

async function listedNames(workspace: Workspace, path: string): Promise<string[]> {
  await using directory = await workspace.openDirectory(path);
  const names: string[] = [];
  for await (const { name } of directory.entries()) names.push(name);
  // These are names in the workspace itself.
  return names.filter((name) => !name.includes("-"));
}

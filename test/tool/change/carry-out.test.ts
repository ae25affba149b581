import { describe, expect, test } from "vitest";
import { carryOut, type Step } from "../../../src/tool/change/carry-out.js";
import { ToolFailure } from "../../../src/tool/tool.js";
import { Workspace } from "../../../src/tool/workspace/workspace.js";
import { SampleWorkspace } from "./sample-workspace.js";

const steps: readonly Step[] = [
  { kind: "create", path: "new", text: "n\n", isExecutable: false },
  { kind: "write", path: "a", text: "A\n", before: "a\n" },
  { kind: "remove", path: "deep/b" },
  { kind: "rename", path: "c", to: "moved/c", text: "C\n", before: "c\n" },
];

const sample = async (): Promise<SampleWorkspace> => {
  const files = await SampleWorkspace.with({ a: "a\n", c: "c\n" });
  await files.put("deep/b", Buffer.of(0, 255), 0o400);
  return files;
};

const never = new AbortController().signal;

/** Something of the workspace that is changed: the n-th time goes as `instead` says. */
function nthChange(workspace: Workspace, nth: number, instead: () => void): void {
  let count = 0;
  for (const method of ["writeFile", "moveFile", "removeFile"] as const) {
    const original = workspace[method].bind(workspace) as (...given: unknown[]) => Promise<never>;
    workspace[method] = (async (...given: unknown[]) => {
      if (++count === nth) instead();
      return original(...given);
    }) as never;
  }
}

describe("carrying out", () => {
  test("does everything, and leaves nothing behind", async () => {
    await using files = await sample();
    await using workspace = await Workspace.open(files.directory);
    await carryOut(workspace, steps, never);
    expect(Object.keys(await files.everything())).toEqual(["a", "moved/c", "new"]);
  });

  // Five changes: the rename is two. The sixth removes what was put aside, when all is done.
  test.each([1, 2, 3, 4, 5])("puts everything back, with its rights, when change %d fails", async (nth) => {
    await using files = await sample();
    await using workspace = await Workspace.open(files.directory);
    const before = await files.everything();
    nthChange(workspace, nth, () => {
      throw new ToolFailure("No space left", { code: "ENOSPC" });
    });
    await expect(carryOut(workspace, steps, never)).rejects.toMatchObject({
      message: "No space left; nothing was changed",
      code: "ENOSPC",
    });
    expect(await files.everything()).toEqual(before);
  });

  test.each([1, 2, 3, 4, 5])("puts everything back when it is called off during change %d", async (nth) => {
    await using files = await sample();
    await using workspace = await Workspace.open(files.directory);
    const before = await files.everything();
    const caller = new AbortController();
    const reason = new Error("called off");
    nthChange(workspace, nth, () => caller.abort(reason));
    await expect(carryOut(workspace, steps, caller.signal)).rejects.toBe(reason);
    expect(await files.everything()).toEqual(before);
  });

  test("says when only the last bit of tidying up fails", async () => {
    await using files = await sample();
    await using workspace = await Workspace.open(files.directory);
    nthChange(workspace, 6, () => {
      throw new ToolFailure("Disk gone", { code: "EIO" });
    });
    await expect(carryOut(workspace, steps, never)).rejects.toThrow(
      /^Everything was changed, but deep\/b is left over as deep\/\.heddle-[0-9a-f]{18}\.tmp; delete that file$/,
    );
  });

  test("says what could not be put back", async () => {
    await using files = await sample();
    await using workspace = await Workspace.open(files.directory);
    // From the third change on, nothing works.
    for (let nth = 3; nth < 8; nth++)
      nthChange(workspace, nth, () => {
        throw new ToolFailure("Disk gone", { code: "EIO" });
      });
    await expect(carryOut(workspace, steps, never)).rejects.toMatchObject({
      code: "EIO",
      message: "Disk gone; could not put back a, new: look at them before you go on",
    });
  });
});

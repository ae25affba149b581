import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { gitDiff } from "../../../src/tool/builtin/git-diff.js";
import { readNumstat } from "../../../src/tool/command/diff-stat.js";
import { commitAll, git } from "../../support/git.js";
import { CallContext, hasGit, prepared, ways, workplace } from "../command/support.js";

const isHere = hasGit();

describe.skipIf(!isHere).each(ways.filter((way) => way.isHere))("git_diff $way (needs git)", ({ sandbox }) => {
  const tool = gitDiff(prepared({ sandbox }));

  async function repository() {
    const place = await workplace();
    await mkdir(join(place.path, "src"));
    await writeFile(join(place.path, "src/a.ts"), "1\n2\n3\n");
    await writeFile(join(place.path, "b.txt"), "one\n");
    await writeFile(join(place.path, "picture"), Buffer.from([0, 1, 2, 3]));
    await commitAll(place.path);
    return place;
  }
  const run = async (workspace: string, input: { revision?: string; paths?: string[] } = {}) => {
    const context = new CallContext({ workspace });
    const outcome = await tool.run({ revision: "HEAD", ...input }, context);
    expect(context.alive()).toBe(0);
    return { ...outcome, toModel: tool.toModel!(outcome.result) };
  };

  test("counts files and lines, and gives the difference as a part", async () => {
    await using place = await repository();
    await writeFile(join(place.path, "src/a.ts"), "1\nzwei\n3\n4\n");
    await rm(join(place.path, "b.txt"));
    await writeFile(join(place.path, "picture"), Buffer.from([0, 9]));
    await writeFile(join(place.path, "new file.md"), "new\n");
    const { result, summary, content, locations, toModel } = await run(place.path);
    expect(summary).toBe("3 files changed (+2 −2), 1 file untracked");
    expect(result).toMatchObject({
      revision: "HEAD",
      files: [{ path: "b.txt", added: 0, removed: 1 }, { path: "picture" }, { path: "src/a.ts", added: 2, removed: 1 }],
      totalFiles: 3,
      added: 2,
      removed: 2,
      untracked: ["new file.md"],
      totalUntracked: 1,
    });
    expect(content).toEqual([
      { id: "diff", mediaType: "text/x-diff", data: expect.stringContaining("+zwei\n 3\n+4\n") },
    ]);
    expect(locations).toEqual(["b.txt", "picture", "src/a.ts"].map((name) => ({ path: join(place.path, name) })));
    expect(toModel).toMatch(
      /^3 files changed \(\+2 −2\) since HEAD\n\n1 untracked file:\nnew file\.md\n\ndiff --git a\/b\.txt/,
    );
  });

  test("compares with a revision, and only some paths", async () => {
    await using place = await repository();
    await writeFile(join(place.path, "b.txt"), "two\n");
    await git(place.path, "commit", "-qam", "Second");
    await writeFile(join(place.path, "src/a.ts"), "1\n");
    expect((await run(place.path)).summary).toBe("1 file changed (+0 −2)");
    expect((await run(place.path, { revision: "HEAD~1" })).summary).toBe("2 files changed (+1 −3)");
    expect((await run(place.path, { revision: "HEAD~1", paths: ["./b.txt"] })).summary).toBe("1 file changed (+1 −1)");
    expect((await run(place.path, { paths: ["."] })).summary).toBe("1 file changed (+0 −2)");
    expect((await run(place.path, { paths: ["*.txt"] })).summary).toBe("No changes");
  });

  test("names a file that moved by its new name, and odd names as they are", async () => {
    await using place = await repository();
    await rename(join(place.path, "src/a.ts"), join(place.path, 'tab\t"quote" ü'));
    await git(place.path, "add", "-A");
    expect((await run(place.path)).result.files).toEqual([{ path: 'tab\t"quote" ü', added: 0, removed: 0 }]);
  });

  test("where nothing is committed yet everything is new", async () => {
    await using place = await workplace();
    await git(place.path, "init", "-q");
    await writeFile(join(place.path, "a"), "1\n");
    await git(place.path, "add", "a");
    expect((await run(place.path)).summary).toBe("1 file changed (+1 −0)");
  });

  test("says that there are no changes", async () => {
    await using place = await repository();
    expect(await run(place.path)).toMatchObject({ summary: "No changes", content: [], locations: [] });
  });

  test("leaves the index as it is", async () => {
    await using place = await repository();
    const { readFile, utimes } = await import("node:fs/promises");
    const before = await readFile(join(place.path, ".git/index"));
    await utimes(join(place.path, "b.txt"), new Date(), new Date());
    await run(place.path);
    expect((await readFile(join(place.path, ".git/index"))).equals(before)).toBe(true);
  });

  test("a long difference is cut for the model at a line", async () => {
    await using place = await repository();
    await writeFile(join(place.path, "b.txt"), "a line of it\n".repeat(20_000));
    const { result, content } = await run(place.path);
    expect(result.diff).toMatch(/\+a line of it\n\[The rest of the difference was left out; compare fewer paths\]\n$/);
    expect(result.diff.length).toBeLessThan(33_000);
    expect(content![0]!.data.length).toBeGreaterThan(250_000);
  });

  test.each([
    [{ revision: "nothing" }, { code: "ENOENT", message: /^Unknown revision: nothing; / }],
    [{ paths: ["../other"] }, { code: "EACCES", message: /^Outside the workspace: / }],
    [{ paths: ["/etc/passwd"] }, { code: "EACCES", message: /^Outside the workspace: / }],
  ])("fails for %j", async (input, failure) => {
    await using place = await repository();
    await expect(run(place.path, input)).rejects.toMatchObject({ name: "ToolFailure", ...failure });
  });

  test("fails where there is no repository", async () => {
    await using place = await workplace();
    await expect(run(place.path)).rejects.toMatchObject({ message: /^Not a git repository: / });
    await mkdir(join(place.path, ".git"));
    await expect(run(place.path)).rejects.toMatchObject({ message: /^Not a git repository: / });
  });

  test("stops with the signal's own reason", async () => {
    await using place = await repository();
    const reason = new Error("called off");
    const context = new CallContext({ workspace: place.path, signal: AbortSignal.abort(reason) });
    await expect(tool.run({ revision: "HEAD" }, context)).rejects.toBe(reason);
  });
});

test("says what is about to happen", () => {
  expect(gitDiff(prepared()).describe({ revision: "main" })).toBe("Comparing with main");
});

test.each(["--output=x", "-p", "", "a b", "a\nb", "\u202emain"])("does not take the revision %j", (revision) => {
  expect(gitDiff(prepared()).input.safeParse({ revision }).success).toBe(false);
});

test("reads numbers, binary files and renames", () => {
  expect(readNumstat("1\t2\ta b\0-\t-\tpicture\x003\t0\t\0old\0new\0")).toEqual([
    { path: "a b", added: 1, removed: 2 },
    { path: "picture" },
    { path: "new", added: 3, removed: 0 },
  ]);
});

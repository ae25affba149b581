import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gather } from "../../../src/tool/builtin/gather.js";
import { commitAll, git } from "../../support/git.js";
import { CallContext, hasGit, prepared, ways, workplace } from "../command/support.js";

const isHere = hasGit();

describe.skipIf(!isHere).each(ways.filter((way) => way.isHere))("gather $way (needs git)", ({ sandbox }) => {
  const tool = gather(prepared({ sandbox }));
  let place: Awaited<ReturnType<typeof workplace>>;
  let workspace: string;
  beforeAll(async () => {
    place = await workplace();
    workspace = join(place.path, "workspace");
    await mkdir(join(workspace, "src"), { recursive: true });
    await mkdir(join(place.path, "outside"));
    await writeFile(join(place.path, "outside/secret"), "canary\n");
    await writeFile(join(workspace, "src/a.ts"), "1\n2\n");
    await commitAll(workspace);
    await writeFile(join(workspace, "src/a.ts"), "1\n3\n");
    await symlink("../outside", join(workspace, "out"));
  });
  afterAll(() => place[Symbol.asyncDispose]());

  async function run(command: string) {
    const context = new CallContext({ workspace });
    const outcome = await tool.run({ command }, context);
    expect(context.alive()).toBe(0);
    return { ...outcome, said: outcome.result.stdout + outcome.result.stderr, context };
  }

  test.each([
    ["git status --short", " M src/a.ts\n?? out\n"],
    ["git status -s src", " M src/a.ts\n"],
    ["git diff --stat -- src/a.ts", " src/a.ts | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"],
    ["git diff --numstat HEAD src/a.ts", "1\t1\tsrc/a.ts\n"],
    ["git log --oneline --format=%s -5", "First\n"],
    ["git log -n 1 --format='%an: %s'", "Ada: First\n"],
    ["git show HEAD:src/a.ts", "1\n2\n"],
    ["git branch --show-current", "main\n"],
    ["git rev-parse --abbrev-ref HEAD", "main\n"],
    ["git ls-files", "src/a.ts\n"],
    ["ls -1 src", "a.ts\n"],
    ["ls -1 src/", "a.ts\n"],
    ["ls -1 src/..", "out\nsrc\n"],
    ["ls -1 .git/HEAD", "./.git/HEAD\n"],
    ["wc -l src/a.ts", "2 ./src/a.ts\n"],
    ['wc -l "src/a.ts"', "2 ./src/a.ts\n"],
    ["which sh", /\/sh\n$/],
    ["uname", "Linux\n"],
    ["date -u +%Z", "UTC\n"],
    ["git --version", /^git version /],
  ])("runs %s", async (command, stdout) => {
    const { result, summary, isError, exitCode, context } = await run(command);
    expect(result.stderr).toBe("");
    if (typeof stdout === "string") expect(result.stdout).toBe(stdout);
    else expect(result.stdout).toMatch(stdout);
    expect({ summary, isError, exitCode }).toEqual({
      summary: "Ran command (exit code 0)",
      isError: false,
      exitCode: 0,
    });
    expect(context.printed.stdout).toBe(result.stdout);
  });

  test.each(["wc -l fifo", "file to-fifo", "git status fifo"])(
    "refuses what it could wait for: %s",
    async (command) => {
      await using own = await workplace();
      execFileSync("mkfifo", [join(own.path, "fifo")]);
      await symlink("fifo", join(own.path, "to-fifo"));
      await expect(tool.run({ command }, new CallContext({ workspace: own.path }))).rejects.toMatchObject({
        name: "ToolFailure",
        code: "EINVAL",
        message: expect.stringMatching(/^Not a regular file: /),
      });
    },
  );

  test("does not tell what there is outside", async () => {
    const refusals = await Promise.all(
      ["secret", "nothing"].map((name) => run(`ls out/${name}`).catch((reason: Error) => reason)),
    );
    expect(refusals.map((refusal) => "message" in refusal && refusal.message)).toEqual([
      "Outside the workspace: out/secret; give a path inside it",
      "Outside the workspace: out/nothing; give a path inside it",
    ]);
  });

  test("fails with the command's exit code", async () => {
    const { summary, isError, exitCode, said } = await run("git log nothing-of-that-name");
    expect({ summary, isError, exitCode }).toEqual({
      summary: "Ran command (exit code 128)",
      isError: true,
      exitCode: 128,
    });
    expect(said).toContain("nothing-of-that-name");
  });

  test.each([
    "rm -rf src",
    "cat src/a.ts",
    "env",
    "sh -c ls",
    "sudo ls",
    "./src/a.ts",
    "/bin/ls",
    "",
    "git",
    "git commit -m x",
    "git push",
    "git config --list",
    "git -c core.pager=evil log",
    "git --exec-path=/tmp status",
    "git --git-dir=/other/.git log",
    "git -C / status",
    "git log --output=/tmp/x",
    "git diff --output=x",
    "git diff --ext-diff",
    "git diff --textconv",
    "git diff --no-index a b",
    "git diff -O../outside/secret",
    "git log --exec=evil",
    "git log --show-signature",
    "git log --format=%GG",
    "git log '--format=%-GG'",
    "git branch new-branch",
    "git branch -D main",
    "git tag v1",
    "git ls-files --exclude-from=../outside/secret",
    "git ls-files -X../outside/secret",
    "git rev-parse --git-path x",
    "git rev-parse /etc/passwd",
    "git rev-parse ../outside/secret",
    "git rev-parse --parseopt",
    "git status --ignore-submodules=none",
    "wc --files0-from=../outside/secret",
    "file -f ../outside/secret",
    "file -C",
    "file -z src/a.ts",
    "date -s now",
    "date --file=../outside/secret",
    "hostname evil",
    "du --files0-from=x",
    "ls -L out",
    "ls --hide=x",
    "npm install",
    "npm ls ../outside",
    "node -e 1",
    "node evil.js",
    "node --version -e 1",
    "python3 -c 1",
    "yarn",
    "which -a ../x",
    "which /etc/passwd",
    "ls; rm x",
    "ls && rm x",
    "ls | sh",
    "ls > x",
    "ls < x",
    "ls $(rm x)",
    "ls `rm x`",
    "ls $HOME",
    "ls ~",
    "ls *",
    'ls "$HOME"',
    "ls 'a",
    "ls \\x",
    "ls\nrm x",
    "ls # x",
    "constructor",
    "__proto__ x",
  ])("does not run %j", async (command) => {
    await expect(run(command)).rejects.toMatchObject({
      name: "ToolFailure",
      message: expect.stringMatching(/^\S.{10,}/),
    });
  });

  test.each([
    "ls ..",
    "ls /",
    "ls /etc",
    "ls out",
    "ls out/secret",
    "ls src/../../outside",
    "wc -l out/secret",
    "du -s ../outside",
    "stat /etc/passwd",
    "file ../outside/secret",
    "git status ../outside",
    "git diff HEAD -- /etc/passwd",
    "ls -- ../outside",
  ])("does not leave the workspace: %s", async (command) => {
    await expect(run(command)).rejects.toMatchObject({ name: "ToolFailure", code: "EACCES" });
  });

  test.each([
    "git diff /etc/passwd /etc/hosts",
    "git diff ../outside/secret src/a.ts",
    "git diff out/secret src/a.ts",
    "git log -p ../outside/secret",
    "git show ../outside/secret",
  ])("git does not leave the workspace: %s", async (command) => {
    const { isError, said } = await run(command);
    expect(isError).toBe(true);
    expect(said).not.toMatch(/canary|root:/);
  });

  test("a program of the workspace is not taken for the system's, wherever the search path leads", async () => {
    const bin = join(workspace, "node_modules/.bin");
    await mkdir(bin, { recursive: true });
    for (const name of ["git", "ls", "bwrap"]) {
      await writeFile(join(bin, name), `#!/bin/sh\ntouch ${workspace}/ran-${name}\n`);
      await chmod(join(bin, name), 0o755);
    }
    const environment = { ...process.env, PATH: `${bin}:.:node_modules/.bin:${process.env["PATH"]}` };
    const { prepareCommands } = await import("../../../src/tool/command/commands.js");
    const { settings } = await import("../command/support.js");
    const careful = gather(prepareCommands({ ...settings, sandbox, environment }, workspace));
    for (const command of ["git status", "ls src"])
      expect(await careful.run({ command }, new CallContext({ workspace }))).toMatchObject({ exitCode: 0 });
    expect((await readdir(workspace)).filter((name) => name.startsWith("ran-"))).toEqual([]);
  });

  describe("in a hostile repository", () => {
    const commands = [
      "git status",
      "git diff",
      "git log -p --format=%h",
      "git show HEAD",
      "git ls-files -m",
      "git branch -vv",
      "git describe --always",
    ];

    test.each([
      ["core.fsmonitor", "EVIL"],
      ["core.hooksPath", "hooks"],
      ["core.pager", "EVIL"],
      ["pager.log", "EVIL"],
      ["core.editor", "EVIL"],
      ["core.sshCommand", "EVIL"],
      ["diff.external", "EVIL"],
      ["diff.evil.command", "EVIL"],
      ["diff.evil.textconv", "EVIL"],
      ["filter.evil.clean", "EVIL"],
      ["filter.evil.smudge", "EVIL"],
      ["filter.evil.process", "EVIL"],
      ["filter.Evil Name.clean", "EVIL"],
      ["gpg.program", "EVIL"],
      ["alias.status", "!EVIL"],
      ["alias.log", "!EVIL"],
    ])("%s runs nothing", async (name, value) => {
      await using hostile = await workplace();
      const ran = join(hostile.path, "ran");
      const evil = join(hostile.path, "evil.sh");
      await writeFile(evil, `#!/bin/sh\ntouch ${ran}\ncat\n`);
      await chmod(evil, 0o755);
      await writeFile(join(hostile.path, ".gitattributes"), '* filter=evil diff=evil\n*.b filter="Evil Name"\n');
      await writeFile(join(hostile.path, "file"), "1\n");
      await commitAll(hostile.path);
      await mkdir(join(hostile.path, "hooks"));
      await writeFile(join(hostile.path, "hooks/post-index-change"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
      await git(hostile.path, "config", name, value.replace("EVIL", evil));
      await git(hostile.path, "config", "log.showSignature", "true");
      await git(hostile.path, "config", "filter.evil.required", "true");
      await writeFile(join(hostile.path, "file"), "2\n");
      const context = new CallContext({ workspace: hostile.path });
      for (const command of commands) expect(await tool.run({ command }, context)).toMatchObject({ exitCode: 0 });
      expect(existsSync(ran)).toBe(false);
    });

    test("an object that is missing is not fetched by a program of its choice", async () => {
      await using hostile = await workplace();
      const ran = join(hostile.path, "ran");
      await writeFile(join(hostile.path, "file"), "1\n");
      await commitAll(hostile.path);
      const object = (await git(hostile.path, "rev-parse", "HEAD:file")).trim();
      const { rm } = await import("node:fs/promises");
      await rm(join(hostile.path, ".git/objects", object.slice(0, 2), object.slice(2)));
      for (const [name, value] of [
        ["remote.origin.url", `ext::sh -c 'touch% ${ran}'`],
        ["remote.origin.promisor", "true"],
        ["extensions.partialClone", "origin"],
        ["core.repositoryFormatVersion", "1"],
        ["protocol.ext.allow", "always"],
        ["protocol.allow", "always"],
      ] as const)
        await git(hostile.path, "config", name, value);
      const { exitCode } = await tool.run(
        { command: "git show HEAD:file" },
        new CallContext({ workspace: hostile.path }),
      );
      expect(exitCode).not.toBe(0);
      expect(existsSync(ran)).toBe(false);
    });

    test("a work tree elsewhere is not looked at", async () => {
      await using hostile = await workplace();
      await writeFile(join(hostile.path, "file"), "1\n");
      await commitAll(hostile.path);
      await git(hostile.path, "config", "core.worktree", join(place.path, "outside"));
      const { result } = await tool.run(
        { command: "git status --short" },
        new CallContext({ workspace: hostile.path }),
      );
      expect(result.stdout).toBe("");
    });

    test("a .git that leads to another repository is refused", async () => {
      await using hostile = await workplace();
      await writeFile(join(hostile.path, ".git"), `gitdir: ${join(workspace, ".git")}\n`);
      const context = new CallContext({ workspace: hostile.path });
      await expect(tool.run({ command: "git log" }, context)).rejects.toMatchObject({
        name: "ToolFailure",
        code: "EACCES",
      });
    });

    test("a worktree that its repository knows is not", async () => {
      await using other = await workplace();
      await writeFile(join(other.path, "file"), "1\n");
      await mkdir(join(other.path, "main"));
      await commitAll(join(other.path, "main")).catch(() => {});
      await git(join(other.path, "main"), "commit", "-q", "--allow-empty", "-m", "First");
      await git(join(other.path, "main"), "worktree", "add", "-q", "../linked");
      const context = new CallContext({ workspace: join(other.path, "linked") });
      const outcome = tool.run({ command: "git branch --show-current" }, context);
      // In the sandbox of a workspace in /tmp the repository beside it cannot be seen.
      if (sandbox === "none") expect((await outcome).result.stdout).toBe("linked\n");
      else await expect(outcome).rejects.toMatchObject({ name: "ToolFailure", code: "EINVAL" });
    });
  });

  test("where there is no repository, it says so", async () => {
    await using bare = await workplace();
    await expect(tool.run({ command: "git status" }, new CallContext({ workspace: bare.path }))).rejects.toMatchObject({
      code: "ENOENT",
      message: /^Not a git repository/,
    });
  });

  test.runIf(sandbox === "bubblewrap")("the workspace is read-only besides", async () => {
    expect(tool.isolation).toBe(
      "a fixed list of commands that only look; bubblewrap: no network, read-only system, read-only workspace",
    );
  });
});

test("gather runs without asking, and says what it is about to do", () => {
  const tool = gather(prepared());
  expect(tool.policy).toBe("allow");
  expect(tool.describe({ command: "git status" })).toBe("Gathering: git status");
  expect(tool.description.length).toBeLessThan(2_000);
});

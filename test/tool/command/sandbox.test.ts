// What holds commands in, tried from inside: every escape here was open once, somewhere.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, watch, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runCommand } from "../../../src/tool/builtin/run-command.js";
import { type CommandSettings, prepareCommands } from "../../../src/tool/command/commands.js";
import { guardGit } from "../../../src/tool/command/git-guard.js";
import { commitAll, git } from "../../support/git.js";
import { CallContext, hasBubblewrap, prepared, settings, workplace } from "./support.js";

describe.skipIf(!hasBubblewrap())("bubblewrap (needs it)", () => {
  let base: Awaited<ReturnType<typeof workplace>>;
  let workspace: string;
  let outside: string;
  beforeAll(async () => {
    base = await workplace();
    workspace = join(base.path, "workspace");
    outside = join(base.path, "outside");
    await mkdir(workspace);
    await mkdir(outside);
    await writeFile(join(outside, "secret"), "canary");
  });
  afterAll(() => base[Symbol.asyncDispose]());

  async function run(command: string, settings: Partial<CommandSettings> = {}, place = workspace) {
    const tool = runCommand(prepared({ sandbox: "bubblewrap", ...settings }));
    const context = new CallContext({ workspace: place });
    const { result } = await tool.run({ command }, context);
    expect(context.alive()).toBe(0);
    return { ...result, said: result.stdout + result.stderr };
  }

  test("says what is in force", () => {
    expect(prepared({ sandbox: "auto" }).sandbox.isolation).toBe(
      "bubblewrap: no network, read-only system, writable workspace",
    );
    expect(prepared({ sandbox: "auto", network: true }).sandbox.isolation).toContain("network open");
  });

  test("the workspace is writable, and is where commands run", async () => {
    expect(await run("pwd; echo hello > made; cat made")).toMatchObject({
      exitCode: 0,
      stdout: `${workspace}\nhello\n`,
    });
    expect(await readFile(join(workspace, "made"), "utf8")).toBe("hello\n");
  });

  test.each([
    ["/etc/made-by-a-test", "read-only"],
    ["/usr/made-by-a-test", "read-only"],
    ["/var/tmp/made-by-a-test", "read-only"],
    ["/sys/kernel/made-by-a-test", ""],
    ["$HOME/.made-by-a-test", "read-only"],
    ["../outside/made", ""],
    ["../made", ""],
  ])("nothing can be written to %s", async (path, words) => {
    const { exitCode, said } = await run(`echo x > ${path} && cat ${path} && [ -e /tmp/x ]`);
    expect(exitCode).not.toBe(0);
    if (words) expect(said.toLowerCase()).toContain(words);
    expect(existsSync(join(base.path, "made"))).toBe(false);
    expect(existsSync(join(outside, "made"))).toBe(false);
  });

  test("what acts on the whole machine is read-only, for root too", async () => {
    const files = [
      "/proc/sys/kernel/core_pattern",
      "/proc/sys/kernel/hostname",
      "/proc/sysrq-trigger",
      "/proc/self/oom_score_adj",
    ];
    // Opened to append, and nothing appended.
    const { stdout } = await run(
      `for file in ${files.join(" ")}; do (: >> $file) 2>/dev/null && echo "opened $file"; done; :`,
    );
    expect(stdout).toBe("");
  });

  test("/tmp is its own, and empty", async () => {
    const name = `heddle-${randomUUID()}`;
    expect(await run(`ls -A /tmp | grep -v ^heddle-command-; echo x > /tmp/${name} && cat /tmp/${name}`)).toMatchObject(
      { stdout: "x\n" },
    );
    expect(existsSync(`/tmp/${name}`)).toBe(false);
  });

  test("the rest of the temporary directory, and links to it, cannot be read", async () => {
    await symlink("../outside/secret", join(workspace, "link"));
    expect((await run(`cat ../outside/secret link ${outside}/secret; ls ..`)).said).not.toContain("canary");
  });

  test("no process outside is seen", async () => {
    const { stdout } = await run("ls /proc | grep -c '^[0-9]'; cat /proc/1/environ | tr '\\0' '\\n' | grep -c CI=");
    expect(Number(stdout.split("\n")[0])).toBeLessThan(10);
  });

  test("there are no capabilities, and no further user namespaces", async () => {
    const { stdout } = await run("grep CapEff /proc/self/status; unshare -Ur true 2>/dev/null && echo nested; :");
    expect(stdout).toBe("CapEff:\t0000000000000000\n");
  });

  test("there are no devices but harmless ones, and no sockets of services", async () => {
    const { stdout } = await run("ls -A /run; ls /dev; (: > /dev/made) 2>/dev/null && echo made; :");
    expect(stdout.trim().split("\n")).toEqual(
      "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split(" "),
    );
  });

  test("what the server hides is empty, in the workspace too", async () => {
    const data = join(workspace, ".heddle");
    const key = join(outside, "key.pem");
    await mkdir(data);
    await writeFile(join(data, "data.mdb"), "canary");
    await writeFile(key, "canary");
    const home = join(workspace, "home");
    await mkdir(join(home, ".ssh"), { recursive: true });
    await writeFile(join(home, ".ssh/id"), "canary");
    await writeFile(join(home, ".netrc"), "canary");
    await symlink(join(home, ".ssh"), join(home, ".aws"));
    const environment = { ...process.env, HOME: home };
    const found = await run(
      "cat .heddle/* home/.ssh/* home/.aws/* home/.netrc ../outside/*; ls -A .heddle home/.ssh home/.aws; echo x > .heddle/x || echo held",
      { hidden: [data, key, "/nowhere"], environment },
    );
    expect(found.said).not.toContain("canary");
    expect(found.stdout).toContain("held");
    expect(existsSync(join(data, "x"))).toBe(false);
  });

  test("a hidden directory that the workspace is in hides all but the workspace", async () => {
    const { stdout, said } = await run(`cat ../outside/secret; ls ..; pwd`, { hidden: [base.path] });
    expect(stdout).toBe(`workspace\n${workspace}\n`);
    expect(said).not.toContain("canary");
  });

  test("keys of the server are not in the environment", async () => {
    const environment = {
      ...process.env,
      OPENAI_API_KEY: "canary-1",
      HEDDLE_TOKEN: "canary-2",
      AWS_SECRET_ACCESS_KEY: "canary-3",
      NAMED: "given",
      LD_PRELOAD: "",
    };
    const { stdout } = await run("env; cat /proc/*/environ | tr '\\0' '\\n'", { environment, env: ["NAMED"] });
    expect(stdout).not.toContain("canary");
    expect(stdout).toContain("NAMED=given");
    expect(stdout).toContain("GIT_TERMINAL_PROMPT=0");
  });

  test("no network: not even what listens on this machine", async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end("canary");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ask = `${process.execPath} -e 'fetch("${url}").then((r) => r.text()).then(console.log, () => console.log("refused"))'`;
    expect((await run(ask)).stdout).toBe("refused\n");
    expect(asked).toBe(0);
    expect((await run(ask, { network: true })).stdout).toBe("canary\n");
    server.close();
  });

  test("no abstract socket", async () => {
    const name = `\0heddle-${randomUUID()}`;
    const server = createNetServer((socket) => socket.end("canary"));
    await new Promise<void>((resolve) => server.listen(name, resolve));
    const script = `const s = require("net").connect("\\0${name.slice(1)}"); s.on("data", (d) => console.log(String(d))); s.on("error", () => console.log("refused"))`;
    expect((await run(`${process.execPath} -e '${script}'`)).stdout).toBe("refused\n");
    server.close();
  });

  test("a workspace that is the whole file system is refused", async () => {
    await expect(run("true", {}, "/")).rejects.toMatchObject({ name: "ToolFailure", code: "EINVAL" });
  });

  describe("a repository", () => {
    async function repository() {
      const place = await workplace();
      await writeFile(join(place.path, "file"), "1\n");
      await commitAll(place.path);
      return place;
    }

    test("can be worked with", async () => {
      await using place = await repository();
      const commit =
        "echo 2 > file && git -c user.name=a -c user.email=a@b commit -qam Second && git log --oneline | wc -l";
      expect(await run(commit, {}, place.path)).toMatchObject({ exitCode: 0, stdout: "2\n" });
      expect((await git(place.path, "log", "--format=%s")).trim()).toBe("Second\nFirst");
    });

    test.each([
      "echo evil >> .git/config",
      "git config core.fsmonitor /tmp/evil",
      "rm .git/config",
      "mv .git/config .git/other",
      "ln -sf /tmp/evil .git/config",
      "echo evil > .git/hooks/pre-commit",
      "rm -rf .git/hooks && mkdir .git/hooks",
      "mv .git/hooks .git/other",
      "mv .git .other && mkdir .git && echo evil > .git/config",
      "rm -rf .git/config.worktree .git/config; echo evil > .git/config",
    ])("cannot be made to run something later: %s", async (command) => {
      await using place = await repository();
      const before = await readFile(join(place.path, ".git/config"), "utf8");
      expect((await run(command, {}, place.path)).exitCode).not.toBe(0);
      expect(await readFile(join(place.path, ".git/config"), "utf8")).toBe(before);
      expect(existsSync(join(place.path, ".git/hooks/pre-commit"))).toBe(false);
    });

    test("nor where its hooks and its configuration are not there yet", async () => {
      await using place = await repository();
      await run("true", {}, place.path);
      await rm(join(place.path, ".git/hooks"), { recursive: true });
      await rm(join(place.path, ".git/config"));
      const command = "mkdir .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/config";
      expect((await run(command, {}, place.path)).exitCode).not.toBe(0);
      expect(existsSync(join(place.path, ".git/hooks/pre-commit"))).toBe(false);
      expect(await readFile(join(place.path, ".git/config"), "utf8")).toBe("");
    });

    test("nor by a configuration of its worktree, or one elsewhere", async () => {
      await using place = await repository();
      await git(place.path, "config", "extensions.worktreeConfig", "true");
      const command =
        "mkdir other; cp .git/config other/; echo ../other > .git/commondir; echo evil > .git/config.worktree";
      await run(command, {}, place.path);
      expect(existsSync(join(place.path, ".git/commondir"))).toBe(false);
      expect(await readFile(join(place.path, ".git/config.worktree"), "utf8")).toBe("");
    });

    test("nor where there is none yet; afterwards there is still none", async () => {
      await using place = await workplace();
      const { exitCode, said } = await run(
        "mkdir -p .git/hooks && echo evil > .git/config || git init",
        {},
        place.path,
      );
      expect(exitCode).not.toBe(0);
      expect(said).toContain("Read-only file system");
      expect(await readdir(join(place.path, ".git"))).toEqual([]);
      await expect(git(place.path, "rev-parse", "--git-dir")).rejects.toThrow();
    });

    /** Runs the rest once the test has made a file of this name. */
    const waiting = (name: string, rest: string): string =>
      `echo > waits-for-${name}; while [ ! -e ${name} ]; do sleep 0.01; done; ${rest}`;
    const made = async (path: string): Promise<void> => {
      const changes = watch(dirname(path), { signal: AbortSignal.timeout(20_000) });
      const next = changes[Symbol.asyncIterator]();
      while (!existsSync(path)) await next.next();
      await next.return?.();
    };

    test("nor while another command ends, in this process or another", async () => {
      await using place = await workplace();
      const long = run(waiting("done", "echo evil > .git/config"), {}, place.path);
      await made(join(place.path, "waits-for-done"));
      for (let index = 0; index < 3; index++) await run("true", {}, place.path);
      // What another process knows of the commands of this one: nothing.
      vi.resetModules();
      const another = await import("../../../src/tool/command/git-guard.js");
      await (await another.guardGit(place.path)).release();
      await writeFile(join(place.path, "done"), "");
      expect((await long).exitCode).not.toBe(0);
      expect(await readdir(join(place.path, ".git"))).toEqual([]);
    });

    test("nor by a commondir of another command", async () => {
      await using place = await repository();
      const early = run(waiting("early", ":"), {}, place.path);
      await made(join(place.path, "waits-for-early"));
      const evil = run(`echo ../evil > .git/commondir; ${waiting("evil", ":")}`, {}, place.path);
      await made(join(place.path, "waits-for-evil"));
      await expect(run("true", {}, place.path)).rejects.toMatchObject({
        name: "ToolFailure",
        code: "EACCES",
        message: expect.stringContaining("commondir"),
      });
      await writeFile(join(place.path, "early"), "");
      await early;
      expect(existsSync(join(place.path, ".git/commondir"))).toBe(false);
      await writeFile(join(place.path, "evil"), "");
      await evil;
    });

    const bare = (ran: string): string =>
      `echo 'ref: refs/heads/main' > HEAD; mkdir -p objects refs; printf '[core]\\n repositoryformatversion = 0\\n bare = false\\n worktree = .\\n fsmonitor = touch ${ran}; false\\n' > config`;

    test.each([
      ["no repository", workplace, ":"],
      ["a repository without its HEAD", repository, "rm -f .git/HEAD"],
      ["a repository with a broken HEAD", repository, "echo x > .git/HEAD"],
      ["a repository without its objects", repository, "mv .git/objects .git/other"],
      ["a repository that is locked", repository, "rm .git/HEAD; chmod 555 .git ."],
    ])("nor by a bare one in its place: %s", async (_, make, last) => {
      await using place = await make();
      const ran = join(outside, `ran-${randomUUID()}`);
      await expect(run(`${bare(ran)}; ${last}`, {}, place.path)).rejects.toMatchObject({
        name: "ToolFailure",
        code: "EPERM",
        message: expect.stringContaining("HEAD"),
      });
      await git(place.path, "status").catch(() => {});
      expect(existsSync(ran)).toBe(false);
      expect(existsSync(join(place.path, "HEAD"))).toBe(false);
    });

    test("nor by a bare one that shares what another directory has", async () => {
      await using place = await workplace();
      const ran = join(outside, `ran-${randomUUID()}`);
      const command = `mkdir other; cd other; ${bare(ran)}; cd ..; mv other/HEAD HEAD; echo other > commondir`;
      await expect(run(command, {}, place.path)).rejects.toMatchObject({ code: "EPERM" });
      await git(place.path, "status").catch(() => {});
      expect(existsSync(ran)).toBe(false);
    });

    test("a HEAD that a command breaks is put back; a branch that it changes to stays", async () => {
      await using place = await repository();
      await run("rm .git/HEAD", {}, place.path);
      expect((await git(place.path, "log", "--format=%s")).trim()).toBe("First");
      expect(await run("git checkout -qb other", {}, place.path)).toMatchObject({ exitCode: 0 });
      expect((await git(place.path, "branch", "--show-current")).trim()).toBe("other");
    });

    test("a HEAD is put back once, however many commands end", async () => {
      await using place = await repository();
      const guards = await Promise.all(Array.from({ length: 20 }, () => guardGit(place.path)));
      await rm(join(place.path, ".git/HEAD"));
      await Promise.all(guards.map((guard) => guard.release()));
      expect((await git(place.path, "log", "--format=%s")).trim()).toBe("First");
    });

    test("a workspace that is a git directory itself is refused, in words", async () => {
      await using place = await workplace();
      await git(place.path, "init", "-q", "--bare", ".");
      await expect(run("true", {}, place.path)).rejects.toMatchObject({
        name: "ToolFailure",
        code: "EACCES",
        message: expect.stringContaining("is itself a git directory"),
      });
    });

    test.each([
      "echo evil >> .husky/_/pre-commit",
      "mv .husky other; mkdir -p .husky/_; echo evil > .husky/_/pre-commit",
      "echo evil >> team/settings",
      "echo evil >> team/more",
      "mv team other; mkdir team; echo evil > team/settings",
    ])("cannot have what its configuration names changed: %s", async (command) => {
      await using place = await repository();
      await mkdir(join(place.path, ".husky/_"), { recursive: true });
      await mkdir(join(place.path, "team"));
      const files = [".husky/_/pre-commit", "team/settings", "team/more"].map((name) => join(place.path, name));
      for (const file of files) await writeFile(file, "");
      await writeFile(files[1]!, '[include]\n\tpath = "more" ; and more\n\tpath = settings\n');
      await git(place.path, "config", "core.hooksPath", ".husky/_");
      await git(place.path, "config", "include.path", "../team/settings");
      await run(command, {}, place.path);
      for (const file of files) expect(await readFile(file, "utf8")).not.toContain("evil");
      expect((await run("echo free > .husky/other && echo free > team/other", {}, place.path)).exitCode).toBe(0);
    });

    test("a .git that is a link is refused, in words", async () => {
      await using place = await repository();
      await rename(join(place.path, ".git"), join(place.path, "real"));
      await symlink("real", join(place.path, ".git"));
      await expect(run("true", {}, place.path)).rejects.toMatchObject({ name: "ToolFailure", code: "ELOOP" });
    });
  });
});

describe("where bubblewrap cannot be had", () => {
  const nowhere = { environment: { PATH: "/nowhere" } };

  test("auto does without, and says so", () => {
    expect(prepared({ ...nowhere, sandbox: "auto" }).sandbox.isolation).toBe(
      "none: bubblewrap is not installed; commands run with the server's own rights",
    );
  });

  test("bubblewrap does not start, and says what to do", () => {
    expect(() => prepared({ ...nowhere, sandbox: "bubblewrap" })).toThrow(
      expect.objectContaining({
        code: "invalid_config",
        message: expect.stringMatching(/^agent\.commands\.sandbox: bubblewrap is not installed; install it/),
      }),
    );
  });

  test("one that is installed and does not work is none", async () => {
    await using place = await workplace();
    await writeFile(
      join(place.path, "bwrap"),
      "#!/bin/sh\necho 'bwrap: No permissions to create namespace' >&2; exit 1\n",
    );
    await chmod(join(place.path, "bwrap"), 0o755);
    expect(prepared({ sandbox: "auto", environment: { PATH: place.path } }).sandbox.isolation).toBe(
      "none: bubblewrap does not work here (No permissions to create namespace); commands run with the server's own rights",
    );
  });

  test("a workspace that is the whole file system is held in by none, and it says so", async () => {
    await using place = await workplace();
    await symlink("/", join(place.path, "all"));
    for (const whole of ["/", join(place.path, "all")]) {
      expect(prepareCommands({ ...settings, sandbox: "auto" }, whole).sandbox.isolation).toBe(
        "none: bubblewrap cannot hold in a workspace that is the whole file system; commands run with the server's own rights",
      );
      expect(() => prepareCommands({ ...settings, sandbox: "bubblewrap" }, whole)).toThrow(
        "agent.commands.sandbox: bubblewrap cannot hold in a workspace that is the whole file system; work in a directory, or set it to auto or none",
      );
    }
  });

  test("none says that it was chosen", () => {
    expect(prepared({ sandbox: "none" }).sandbox.isolation).toMatch(/^none: agent\.commands\.sandbox is none; /);
  });
});

// Git in a repository that nobody vouches for. What it may run by itself (hooks, filters, monitors, helpers, pagers) is named by
// the repository's own configuration: everything of that kind is switched off, and it looks at nothing but this workspace.
import { lstat, readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ToolFailure } from "../tool.js";

/** Git's own variables. With no protocol allowed, an object that is missing is not fetched, by whatever program. */
export const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_TERMINAL_PROMPT: "0",
  GIT_PAGER: "cat",
  GIT_EDITOR: "/bin/false",
};

const switchedOff: readonly string[] = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.alternateRefsCommand=",
  "core.sshCommand=/bin/false",
  "core.gitProxy=",
  "core.askPass=",
  "core.pager=cat",
  "core.editor=/bin/false",
  "core.quotePath=false",
  "credential.helper=",
  "diff.external=",
  "diff.submodule=short",
  "status.submoduleSummary=false",
  "submodule.recurse=false",
  "log.showSignature=false",
  "log.mailmap=false",
  "gpg.program=/bin/false",
  "gpg.openpgp.program=/bin/false",
  "gpg.x509.program=/bin/false",
  "gpg.ssh.program=/bin/false",
  "color.ui=never",
  "column.ui=never",
];

/** What every call of git begins with. */
export const gitArgs = (workspace: string, drivers: readonly string[] = []): string[] => [
  "--no-pager",
  `--git-dir=${join(workspace, ".git")}`,
  `--work-tree=${workspace}`,
  ...[...switchedOff, ...drivers].flatMap((setting) => ["-c", setting]),
];

/** Lists the names of all settings, each with a NUL behind it. Reading them runs nothing. */
export const settingNames: readonly string[] = ["config", "--list", "--name-only", "-z"];

const driver = /^(filter|diff|merge)\.([^\n]+)\.([a-z]+)$/is;

/** Programs that run on the contents of files, under names of the repository's own: each is set to nothing. */
export function driversOff(names: string): string[] {
  const settings = names.split("\0").flatMap((name) => {
    const [, section, sub, key] = driver.exec(name) ?? [];
    if (section === undefined || !/^(?:clean|smudge|process|required|command|textconv|driver)$/i.test(key!)) return [];
    if (sub!.includes("=")) throw hostile(`its configuration names a driver with "="`);
    return [`${section}.${sub}.${key}=${key!.toLowerCase() === "required" ? "false" : ""}`];
  });
  return [...new Set(settings)];
}

/**
 * Contract: rejects with a ToolFailure unless the workspace is the top of a repository, and the repository lies in it or has the
 * workspace in its list of worktrees: a `.git` that somebody wrote must not lead to somebody else's repository.
 */
export async function requireRepository(workspace: string): Promise<void> {
  const git = join(workspace, ".git");
  const found = await lstat(git).catch(() => undefined);
  if (found === undefined || !(found.isDirectory() || found.isFile())) throw notOne();
  if (found.isDirectory()) {
    if (await isThere(join(git, "commondir"))) throw hostile("its .git leads elsewhere");
    if (!(await isThere(join(git, "HEAD")))) throw notOne();
    return;
  }
  const [, named] = /^gitdir: (.+?)\r?\n?$/s.exec(await head(git)) ?? [];
  if (named === undefined) throw notOne();
  const gitDirectory = resolve(workspace, named);
  const back = (await head(join(gitDirectory, "gitdir"))).trimEnd();
  const leadsBack = isAbsolute(back) && (await realpath(dirname(back)).catch(() => "")) === workspace;
  if (!leadsBack) throw hostile("its .git leads to a repository that does not know this workspace");
}

const headBytes = 8_192;

async function head(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > headBytes) return "";
  return readFile(path, "utf8").catch(() => "");
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

const notOne = (): ToolFailure =>
  new ToolFailure("Not a git repository: the workspace has no .git of its own; go on without git", { code: "ENOENT" });

const hostile = (why: string): ToolFailure =>
  new ToolFailure(`Git is not run here: ${why}; go on without git`, { code: "EACCES" });

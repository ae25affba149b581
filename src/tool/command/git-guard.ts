// Keeps commands in a sandbox from leaving something in the workspace's repository that runs later, outside: git runs what its
// configuration and its hooks name. What is not there yet is held as well, or a command would simply make it. Repositories
// further down in the workspace are not guarded.
import { lstat, mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolFailure } from "../tool.js";

export interface GitGuard {
  /** Arguments of bubblewrap, to follow those that bind the workspace. */
  readonly args: readonly string[];
  /** To be called when the command is over. */
  release(): Promise<void>;
}

export async function guardGit(workspace: string): Promise<GitGuard> {
  const git = join(workspace, ".git");
  const found = await lstat(git).catch(() => undefined);
  if (found === undefined || (found.isDirectory() && (await isEmpty(git)))) return guardNothing(git);
  if (found.isDirectory() && (await isThere(join(git, "HEAD")))) return guardRepository(git);
  // The `.git` file of a linked worktree says where the repository is; a directory without HEAD is none yet.
  if (found.isDirectory() || found.isFile()) return { args: readOnly(git), release: async () => {} };
  throw new ToolFailure(
    "The workspace's .git is a symbolic link, which cannot be guarded; make it a directory, or set agent.commands.sandbox to none",
    { code: "ELOOP" },
  );
}

async function guardRepository(git: string): Promise<GitGuard> {
  const path = (name: string): string => join(git, name);
  await mkdir(path("hooks")).catch(ifThere);
  await writeFile(path("config"), "", { flag: "wx" }).catch(ifThere);
  // The configuration decides whether git reads this one.
  if (/worktreeconfig/i.test(await readFile(path("config"), "utf8")))
    await writeFile(path("config.worktree"), "", { flag: "wx" }).catch(ifThere);
  // Bound onto itself first: what is mounted cannot be moved away and made anew.
  const args = ["--bind", git, git];
  for (const name of ["hooks", "config", "config.worktree", "modules", "commondir"])
    if (await isThere(path(name))) args.push(...readOnly(path(name)));
  // A `commondir` makes git read another directory's configuration. There is no harmless one to put in its place.
  const hadCommonDir = await isThere(path("commondir"));
  const release = async (): Promise<void> => {
    if (!hadCommonDir) await rm(path("commondir"), { recursive: true, force: true });
  };
  return { args, release };
}

/** How many commands hold the place of a repository that is not there. The last one to end frees it. */
const holders = new Map<string, number>();

/** Binding needs a place to bind to: an empty directory stands there meanwhile, which git does not take for a repository. */
function guardNothing(git: string): GitGuard {
  holders.set(git, (holders.get(git) ?? 0) + 1);
  const release = async (): Promise<void> => {
    const left = (holders.get(git) ?? 1) - 1;
    if (left > 0) return void holders.set(git, left);
    holders.delete(git);
    await rmdir(git).catch(() => {}); // Only where it is empty: a repository that somebody made meanwhile stays.
  };
  return { args: ["--size", "4096", "--tmpfs", git, "--remount-ro", git], release };
}

const readOnly = (path: string): string[] => ["--ro-bind", path, path];

const isEmpty = async (path: string): Promise<boolean> => (await readdir(path).catch(() => [])).length === 0;

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

function ifThere(reason: NodeJS.ErrnoException): void {
  if (reason.code !== "EEXIST") throw reason;
}

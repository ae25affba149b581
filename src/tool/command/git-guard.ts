// Keeps commands in a sandbox from leaving something in the workspace's repository that runs later, outside: git runs what its
// configuration and its hooks name. What is not there yet is held as well, or a command would simply make it; what cannot be held
// without being in git's way is looked at when the command is over. Repositories further down in the workspace are not guarded.
import { chmod, lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolFailure } from "../tool.js";
import { isGitDirectory, isHead, isThere, namedPlaces } from "./git-directory.js";

export interface GitGuard {
  /** Arguments of bubblewrap, to follow those that bind the workspace. */
  readonly args: readonly string[];
  /** To be called when the command is over. Rejects with a ToolFailure for what the command was not to leave. */
  release(): Promise<void>;
}

/** Contract: rejects with a ToolFailure where the workspace cannot be guarded. */
export async function guardGit(workspace: string): Promise<GitGuard> {
  // A name that is held stands in the workspace meanwhile, and one called HEAD would be in the way of every `git diff HEAD`.
  if (await isGitDirectory(workspace))
    throw unguarded("The workspace is itself a git directory (HEAD, objects, refs)", "remove its HEAD");
  const { args, release } = await guardDotGit(workspace);
  return {
    args,
    release: async () => {
      try {
        await release();
      } finally {
        if (await isGitDirectory(workspace)) await disarm(workspace);
      }
    },
  };
}

async function guardDotGit(workspace: string): Promise<GitGuard> {
  const git = join(workspace, ".git");
  const found = await lstat(git).catch(() => undefined);
  if (found === undefined || (found.isDirectory() && (await isEmpty(git)))) return guardNothing(git);
  if (found.isDirectory() && (await isThere(join(git, "HEAD")))) return guardRepository(git, workspace);
  // The `.git` file of a linked worktree says where the repository is; a directory without HEAD is none yet.
  if (found.isDirectory() || found.isFile()) return { args: readOnly(git), release: async () => {} };
  throw unguarded("The workspace's .git is a symbolic link", "make it a directory", "ELOOP");
}

/**
 * Binding needs a place to bind to: an empty directory, which git does not take for a repository. It stays, for taking it away
 * would take away what other commands have bound there, also those of other servers.
 */
const guardNothing = (git: string): GitGuard => ({
  args: ["--size", "4096", "--tmpfs", git, "--remount-ro", git],
  release: async () => {},
});

async function guardRepository(git: string, workspace: string): Promise<GitGuard> {
  const path = (name: string): string => join(git, name);
  // Makes git read another directory's configuration. No harmless one can be put in its place, so there must be none.
  if (await isThere(path("commondir")))
    throw unguarded("The workspace's .git leads git elsewhere by its file commondir", "remove that file");
  const head = await headOf(path("HEAD"));
  await mkdir(path("hooks")).catch(ifThere);
  await writeFile(path("config"), "", { flag: "wx" }).catch(ifThere);
  // The configuration decides whether git reads this one.
  if (/worktreeconfig/i.test(await readFile(path("config"), "utf8")))
    await writeFile(path("config.worktree"), "", { flag: "wx" }).catch(ifThere);
  const held = [];
  for (const name of ["hooks", "config", "config.worktree", "modules"])
    if (await isThere(path(name))) held.push(path(name));
  held.push(...(await namedPlaces([path("config"), path("config.worktree")], workspace)));
  const release = async (): Promise<void> => {
    await takeAway(git, "commondir");
    if (head === undefined || (await isHead(path("HEAD")))) return;
    // Without it git looks for a repository in the workspace's own directory.
    await takeAway(git, "HEAD");
    await writeFile(path("HEAD"), head, { flag: "wx" }).catch(ifThere); // Another command may have put it back.
  };
  return { args: holding(held, workspace), release };
}

/** Undefined where it is no plain file with a place in it. */
async function headOf(path: string): Promise<string | undefined> {
  return (await lstat(path)).isFile() && (await isHead(path)) ? readFile(path, "utf8") : undefined;
}

/** The directories on the way are bound onto themselves first: what is mounted cannot be moved away and made anew. */
function holding(paths: readonly string[], workspace: string): string[] {
  const ways = new Set<string>();
  for (const path of paths) for (let way = dirname(path); way !== workspace; way = dirname(way)) ways.add(way);
  const bound = [...ways].sort(byDepth).flatMap((way) => ["--bind", way, way]);
  return [...bound, ...[...new Set(paths)].sort(byDepth).flatMap(readOnly)];
}

const byDepth = (a: string, b: string): number => a.length - b.length;

const readOnly = (path: string): string[] => ["--ro-bind", path, path];

/** For a HEAD as git makes them nothing is lost. */
async function disarm(workspace: string): Promise<never> {
  const isDone = await takeAway(workspace, "HEAD").then(
    () => true,
    () => false,
  );
  throw new ToolFailure(
    `The workspace became a git directory itself (HEAD, objects, refs), whose settings run programs; ${isDone ? "its HEAD was taken away" : "remove its HEAD before git is used there"}. Make repositories in a directory of their own`,
    { code: "EPERM" },
  );
}

/** Also where a command has made the directory read-only. */
async function takeAway(directory: string, name: string): Promise<void> {
  const mode = (await lstat(directory)).mode & 0o7777;
  if ((mode & 0o300) !== 0o300) await chmod(directory, mode | 0o300);
  await rm(join(directory, name), { recursive: true, force: true });
}

const unguarded = (what: string, remedy: string, code = "EACCES"): ToolFailure =>
  new ToolFailure(`${what}, which cannot be guarded; ${remedy}, or set agent.commands.sandbox to none`, { code });

const isEmpty = async (path: string): Promise<boolean> => (await readdir(path).catch(() => [])).length === 0;

function ifThere(reason: NodeJS.ErrnoException): void {
  if (reason.code !== "EEXIST") throw reason;
}

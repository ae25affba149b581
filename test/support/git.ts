// Git for tests, with nothing of the machine's own settings.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

const env = {
  PATH: process.env["PATH"]!,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

/** What it prints. */
export async function git(directory: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("git", ["-C", directory, ...args], { env });
  return stdout;
}

/** Makes the directory a repository with one commit of all that is there. */
export async function commitAll(directory: string): Promise<void> {
  await git(directory, "init", "-q", "-b", "main");
  await git(directory, "add", "-A");
  await git(directory, "commit", "-q", "-m", "First");
}

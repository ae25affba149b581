// Runs git where nothing but the repository is trusted, and that only to be read.
import { type ToolContext, ToolFailure } from "../tool.js";
import { type Commands, runHeld, workspaceOf } from "./commands.js";
import { findProgram, safePath } from "./find-program.js";
import { outputLimits } from "./kept-output.js";
import { driversOff, gitArgs, gitEnvironment, requireRepository, settingNames } from "./repository.js";
import type { ProcessEnd } from "./run-process.js";

export interface Git {
  /** Runs it with these arguments, behind all that switches things off. */
  run(args: readonly string[], options?: { readonly isTold?: boolean }): Promise<ProcessEnd>;
}

const timeoutMs = 60_000;

/** Contract: rejects with a ToolFailure where there is no git or no repository. */
export async function openGit(commands: Commands, context: ToolContext): Promise<Git> {
  const workspace = await workspaceOf(context);
  await requireRepository(workspace);
  const program = findProgram("git", commands.environment["PATH"]!, workspace);
  if (program === undefined) throw new ToolFailure("Git is not installed here; go on without it", { code: "ENOENT" });
  const env = { ...gitEnvironment, PATH: safePath(commands.environment["PATH"]!, workspace) };
  const start = (args: readonly string[], isTold: boolean): Promise<ProcessEnd> =>
    runHeld(commands, { argv: [program, ...args], access: "read", timeoutMs, env, isTold }, context);
  const named = await start([...gitArgs(workspace), ...settingNames], false);
  if (named.exitCode !== 0 || named.stdout.bytes > outputLimits.wholeBytes) throw unreadable(named);
  const before = gitArgs(workspace, driversOff(named.stdout.whole()));
  return { run: (args, { isTold = false } = {}) => start([...before, ...args], isTold) };
}

/** What git prints when it cannot go on: its last line, without its own "fatal:". */
export const gitComplaint = ({ stderr }: ProcessEnd): string =>
  stderr
    .tail()
    .trim()
    .split("\n")
    .at(-1)!
    .replace(/^(?:fatal|error): /, "");

const unreadable = (end: ProcessEnd): ToolFailure =>
  new ToolFailure(`Git cannot read the repository: ${gitComplaint(end) || "no reason given"}; go on without git`, {
    code: "EINVAL",
  });

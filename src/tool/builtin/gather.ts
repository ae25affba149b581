// Runs a command of a fixed list that only looks: at the repository, the files and the machine. No shell, no flag that is not in
// the list, no path outside the workspace; in a sandbox the workspace is read-only besides.
import { z } from "zod";
import { commandResult, endWords, partsOf, resultOf, textForModel } from "../command/command-words.js";
import { type Commands, runHeld, workspaceOf } from "../command/commands.js";
import { findProgram, safePath } from "../command/find-program.js";
import { type GatherCommand, gatherCommand } from "../command/gather-command.js";
import { gatherNames } from "../command/gather-list.js";
import { openGit } from "../command/run-git.js";
import type { ProcessEnd } from "../command/run-process.js";
import { defineTool, type ToolContext, type ToolDefinition, ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";

const commandUnits = 2_000;
const timeoutMs = 60_000;
/** Beyond the commands' own time: git is asked for its settings first, and both may have to be ended. */
const callTimeoutMs = 2 * timeoutMs + 10_000;

const input = z.object({
  command: z
    .string()
    .max(commandUnits)
    .regex(/\S/, "must not be empty")
    .describe("One program and its arguments, such as git status --short"),
});

export function gather(commands: Commands): ToolDefinition<typeof input, typeof commandResult> {
  return defineTool({
    name: "gather",
    title: "Gather information",
    description: `Run one command that only looks. There is no shell: no pipes, no patterns, no variables. Commands: ${gatherNames}.`,
    kind: "execute",
    input,
    output: commandResult,
    policy: "allow",
    timeoutMs: callTimeoutMs,
    isolation: `a fixed list of commands that only look; ${commands.sandbox.isolation.replace("writable workspace", "read-only workspace")}`,
    describe: ({ command }) => `Gathering: ${oneLine(command) || "nothing"}`,
    run: async ({ command }, context) => {
      const end = await run(await gatherCommand(command, context), commands, context);
      const result = resultOf(command, timeoutMs, end);
      return {
        result,
        summary: `Ran command (${endWords(result)})`,
        isError: result.exitCode !== 0,
        content: partsOf(end),
        ...(result.exitCode !== undefined && { exitCode: result.exitCode }),
      };
    },
    toModel: textForModel,
  });
}

async function run(
  { program, args, isOutside }: GatherCommand,
  commands: Commands,
  context: ToolContext,
): Promise<ProcessEnd> {
  if (program === "git" && !isOutside) return (await openGit(commands, context)).run(args, { isTold: true });
  const workspace = await workspaceOf(context);
  const path = safePath(commands.environment["PATH"]!, workspace);
  const file = findProgram(program, path, workspace);
  if (file === undefined)
    throw new ToolFailure(`${program} is not installed here; go on without it`, { code: "ENOENT" });
  const cwd = isOutside ? { cwd: "/" } : {};
  return runHeld(
    commands,
    { argv: [file, ...args], access: "read", timeoutMs, env: { ...quiet, PATH: path }, ...cwd },
    context,
  );
}

/** Programs that would otherwise write files of their own, or fetch another version of themselves. */
const quiet: Readonly<Record<string, string>> = {
  npm_config_logs_max: "0",
  npm_config_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
  COREPACK_ENABLE_NETWORK: "0",
  GOTOOLCHAIN: "local",
  PYTHONDONTWRITEBYTECODE: "1",
};

// Runs a line of shell in the workspace, held in as well as it can be on this machine. It ends with the call, and so does
// whatever it started.
import { z } from "zod";
import {
  type CommandResult,
  commandResult,
  endWords,
  partsOf,
  resultOf,
  secondsOf,
  shownCommand,
  textForModel,
  tookWords,
} from "../command/command-words.js";
import { type Commands, runHeld } from "../command/commands.js";
import { commandPreview, commandPurpose, shellArgv, shellCommand } from "../command/shell-command.js";
import { defineTool, type ToolDefinition } from "../tool.js";

const longestSeconds = 600;
/** What the tool needs beyond the command's own time to end it and to say so itself. */
const endingMs = 5_000;

const input = z.object({
  command: shellCommand.describe("What /bin/sh runs, in the workspace"),
  timeout_seconds: z.number().int().min(1).max(longestSeconds).optional().describe("The longest it may take"),
  description: commandPurpose,
});

export function runCommand(commands: Commands): ToolDefinition<typeof input, typeof commandResult> {
  const timeoutOf = ({ timeout_seconds: seconds }: z.output<typeof input>): number =>
    seconds === undefined ? commands.timeoutMs : seconds * 1_000;
  return defineTool({
    name: "run_command",
    title: "Run command",
    description: `Run a shell command in the workspace and wait for its end. It has no terminal and reads nothing: pass flags that keep it from asking. What it leaves in the background is ended with it. It may take ${secondsOf(commands.timeoutMs)} s unless you say otherwise.`,
    kind: "execute",
    input,
    output: commandResult,
    policy: "ask",
    timeoutMs: Math.max(longestSeconds * 1_000, commands.timeoutMs) + endingMs,
    isolation: commands.sandbox.isolation,
    describe: ({ command }) => `Running ${shownCommand(command)}`,
    preview: async (asked) =>
      commandPreview(asked.command, {
        isolation: commands.sandbox.isolation,
        time: `at most ${secondsOf(timeoutOf(asked))} s`,
      }),
    run: async (asked, context) => {
      const timeoutMs = timeoutOf(asked);
      const argv = shellArgv(asked.command);
      const end = await runHeld(commands, { argv, access: "write", timeoutMs }, context);
      const result = resultOf(asked.command, timeoutMs, end);
      return {
        result,
        summary: `Ran ${shownCommand(asked.command)} (${summaryEnd(result)})`,
        isError: result.exitCode !== 0,
        content: partsOf(end),
        ...(result.exitCode !== undefined && { exitCode: result.exitCode }),
      };
    },
    toModel: textForModel,
  });
}

/** `exit code 0, 12.4 s`. One that was ended has taken the time that it says. */
const summaryEnd = (result: CommandResult): string =>
  result.ended === "exited" ? `${endWords(result)}, ${tookWords(result.durationMs)}` : endWords(result);

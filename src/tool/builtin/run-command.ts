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
} from "../command/command-words.js";
import { type Commands, runHeld } from "../command/commands.js";
import { visible } from "../command/visible.js";
import { defineTool, type ToolDefinition } from "../tool.js";

const commandUnits = 32_768;
const longestSeconds = 600;
/** What the tool needs beyond the command's own time to end it and to say so itself. */
const endingMs = 5_000;

const input = z.object({
  command: z
    .string()
    .max(commandUnits)
    .regex(/\S/, "must not be empty")
    .refine((command) => !command.includes("\0"), "must not hold a NUL character")
    .describe("What /bin/sh runs, in the workspace"),
  timeout_seconds: z.number().int().min(1).max(longestSeconds).optional().describe("The longest it may take"),
  description: z.string().max(1_000).optional().describe("What it is for, in a few words"),
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
    preview: async (asked) => ({
      mediaType: "text/plain",
      data: previewOf(asked.command, timeoutOf(asked), commands),
    }),
    run: async (asked, context) => {
      const timeoutMs = timeoutOf(asked);
      const argv = ["/bin/sh", "-c", asked.command] as const;
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
  result.ended === "exited" ? `${endWords(result)}, ${secondsOf(result.durationMs)} s` : endWords(result);

/** The command comes last: nothing in it can pass for a line of ours below it. */
function previewOf(command: string, timeoutMs: number, { sandbox }: Commands): string {
  const lines = [
    `Isolation: ${sandbox.isolation}`,
    `Time: at most ${secondsOf(timeoutMs)} s`,
    "Command, run by /bin/sh in the workspace:",
    ...visible(command)
      .split("\n")
      .map((line) => `  ${line}`),
  ];
  return `${lines.join("\n")}\n`;
}

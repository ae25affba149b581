// Starts a command that goes on in the background, such as a server. It belongs to the thread, and outlives the call.
import { z } from "zod";
import { shownCommand } from "../command/command-words.js";
import { commandPreview, commandPurpose, shellCommand } from "../command/shell-command.js";
import type { BackgroundProcess } from "../process/background-process.js";
import {
  exitCodeOf,
  fitting,
  lineText,
  outputLine,
  processState,
  shownLine,
  stateOf,
} from "../process/process-words.js";
import type { Processes } from "../process/processes.js";
import { defineTool, type ToolDefinition } from "../tool.js";

/** What a shell says of a program that it does not find. */
const notFound = 127;
const shownLines = 20;
const shownUnits = 8 * 1024;

const input = z.object({
  command: shellCommand.describe("What /bin/sh runs, in the workspace"),
  description: commandPurpose,
});

const output = z.object({
  processId: z.string().describe("Its name in this thread"),
  pid: z.number().int().optional().describe("The system's number for it, where it is in no sandbox"),
  state: processState,
  exitCode: z.number().int().optional().describe("Where it has ended already; none when it was killed"),
  summary: z.string().describe("How it ended; empty while it runs"),
  lines: z.array(outputLine).describe("The end of what it has printed so far"),
});

export function startProcess(processes: Processes): ToolDefinition<typeof input, typeof output> {
  const { sandbox } = processes.commands;
  const isolation = `${sandbox.isolation}; ended with the server${sandbox.isSandbox ? "" : ", unless they hide from it"}`;
  return defineTool({
    name: "start_process",
    title: "Start process",
    description:
      "Start a shell command that goes on in the background, such as a server or a watcher, and do not wait for its end. It has no terminal and reads nothing. It ends with the first process of the command: do not send that into the background. read_process_output shows what it prints, stop_process ends it. For a command that ends by itself soon, run_command is better.",
    kind: "execute",
    input,
    output,
    policy: "ask",
    isolation,
    describe: ({ command }) => `Starting ${shownCommand(command)} in the background`,
    preview: async ({ command }) =>
      commandPreview(command, {
        isolation,
        time: "until it ends or is stopped, its thread is deleted or the server stops",
      }),
    run: async (asked, context) => {
      const process = await processes.start(asked, context);
      const { ending } = process;
      const isError = ending !== undefined && ending.exitCode !== 0;
      return {
        result: resultOf(process),
        summary: isError ? failureOf(ending) : `Started process ${process.id}`,
        isError,
        ...exitCodeOf(process),
      };
    },
    toModel: textOf,
  });
}

const failureOf = ({ exitCode, summary }: NonNullable<BackgroundProcess["ending"]>): string =>
  exitCode === notFound ? "Command not found" : summary;

function resultOf(process: BackgroundProcess): z.input<typeof output> {
  const { id, pid, output: printed, ending } = process;
  return {
    processId: id,
    ...(pid !== undefined && { pid }),
    state: stateOf(process),
    ...exitCodeOf(process),
    summary: ending?.summary ?? "",
    lines: fitting(printed.last(shownLines), shownUnits, "last").map(shownLine),
  };
}

function textOf({ processId, state, summary, exitCode, lines }: z.output<typeof output>): string {
  const what =
    state === "running"
      ? `Process ${processId} runs in the background.`
      : `Process ${processId} is over already: ${summary}.${exitCode === notFound ? " The command was not found: choose one that is installed." : ""}`;
  return [
    what,
    ...(lines.length === 0 ? ["It has printed nothing so far."] : ["It printed:", ...lines.map(lineText)]),
  ].join("\n");
}

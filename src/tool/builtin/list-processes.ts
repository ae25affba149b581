// Lists the background processes of the thread: those that run, and those that ended not long ago.
import { z } from "zod";
import { tookWords } from "../command/command-words.js";
import type { BackgroundProcess } from "../process/background-process.js";
import { exitCodeOf, processState, stateOf } from "../process/process-words.js";
import type { Processes } from "../process/processes.js";
import { defineTool, type ToolDefinition } from "../tool.js";
import { counted, oneLine, visible } from "../words.js";

const input = z.object({
  include_ended: z.boolean().default(true).describe("Also those that have ended. Default: true"),
});

const listed = z.object({
  processId: z.string().describe("Its name in this thread"),
  command: z.string().describe("What it runs: one line"),
  description: z.string().optional().describe("What it is for"),
  state: processState,
  exitCode: z.number().int().optional().describe("None while it runs, and when it was killed"),
  summary: z.string().describe("How it ended; empty while it runs"),
  runningMs: z.number().int().describe("How long it has run, or ran"),
  lines: z.number().int().describe("Lines that it has printed"),
  bytes: z.number().int().describe("What it has printed"),
});

const output = z.object({
  running: z.number().int().describe("How many run"),
  processes: z.array(listed).describe("In the order in which they were started"),
});

export function listProcesses(processes: Processes): ToolDefinition<typeof input, typeof output> {
  return defineTool({
    name: "list_processes",
    title: "List processes",
    description:
      "List the background processes of this thread: what they run, for how long, and how those ended that are over.",
    kind: "read",
    input,
    output,
    describe: () => "Listing processes",
    run: async ({ include_ended: isEndedToo }, { threadId, signal }) => {
      signal.throwIfAborted();
      const all = processes.of(threadId);
      const running = all.filter(({ ending }) => ending === undefined);
      return {
        result: { running: running.length, processes: (isEndedToo ? all : running).map(listedOf) },
        summary: `${counted(running.length, "process", "processes")} running`,
      };
    },
    toModel: ({ running, processes: shown }) =>
      [`${counted(running, "process", "processes")} running.`, ...shown.map(lineOf)].join("\n"),
  });
}

function listedOf(process: BackgroundProcess): z.input<typeof listed> {
  const { id, command, description, ending, runningMs, output: printed } = process;
  return {
    processId: id,
    command: oneLine(command),
    ...(description !== undefined && { description }),
    state: stateOf(process),
    ...exitCodeOf(process),
    summary: ending?.summary ?? "",
    runningMs: Math.round(runningMs),
    lines: printed.count,
    bytes: printed.printedBytes,
  };
}

function lineOf({
  processId,
  command,
  description,
  state,
  summary,
  runningMs,
  lines,
}: z.output<typeof listed>): string {
  const purpose = description ? ` (${visible(description)})` : "";
  const how = state === "running" ? `running for ${tookWords(runningMs)}` : summary;
  return `${processId}: ${command}${purpose}: ${how}; ${counted(lines, "line", "lines")} printed`;
}

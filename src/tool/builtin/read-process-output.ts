// Reads what a background process has printed: the end of it, or what came after a line. Also of one that has ended.
import { z } from "zod";
import type { BackgroundProcess } from "../process/background-process.js";
import {
  exitCodeOf,
  fitting,
  lineText,
  outputLine,
  processId,
  processState,
  shownLine,
  standing,
  stateOf,
} from "../process/process-words.js";
import type { Processes } from "../process/processes.js";
import { defineTool, type ToolDefinition } from "../tool.js";
import { counted, oneLine } from "../words.js";

const defaultLines = 50;
const mostLines = 1_000;
/** What is given of the lines, together. */
const mostUnits = 32 * 1024;

const input = z.object({
  process_id: processId,
  lines: z
    .number()
    .int()
    .min(1)
    .max(mostLines)
    .default(defaultLines)
    .describe(`How many lines at most. Default: ${defaultLines}`),
  after: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("Only lines after this number, the first of them first. Default: the last lines"),
});

const output = z.object({
  processId: z.string().describe("Its name in this thread"),
  state: processState,
  exitCode: z.number().int().optional().describe("None while it runs, and when it was killed"),
  standing: z.string().describe("How it stands, in words"),
  lines: z.array(outputLine).describe("In the order in which they came"),
  unfinished: z.array(outputLine.omit({ line: true })).describe("What has come of lines that have no end yet"),
  total: z.number().int().describe("Lines that it has printed"),
  dropped: z.number().int().describe("Lines that were asked for and are gone: only the newest are kept"),
  next: z.number().int().describe("What to give as `after` to go on"),
});
type Result = z.output<typeof output>;

export function readProcessOutput(processes: Processes): ToolDefinition<typeof input, typeof output> {
  return defineTool({
    name: "read_process_output",
    title: "Read process output",
    description: `Read what a background process has printed, at most ${mostLines} lines at a time, with their numbers: the last ones, or those after a line that you have read already. Only the newest output is kept.`,
    kind: "read",
    input,
    output,
    describe: ({ process_id: id }) => `Reading output of ${oneLine(id) || "a process"}`,
    run: async ({ process_id: id, lines, after }, { threadId, signal }) => {
      signal.throwIfAborted();
      const result = readFrom(await processes.find(threadId, id), lines, after);
      return { result, summary: `Read ${counted(result.lines.length, "line", "lines")} from ${id}` };
    },
    toModel: textOf,
  });
}

function readFrom(process: BackgroundProcess, most: number, after: number | undefined): z.input<typeof output> {
  const { id, output: printed } = process;
  const found = after === undefined ? printed.last(most) : printed.after(after, most);
  const lines = fitting(found, mostUnits, after === undefined ? "last" : "first");
  const wanted = after ?? Math.max(0, printed.count - most);
  const last = lines.at(-1)?.number ?? Math.max(wanted, printed.dropped);
  const isAtEnd = last >= printed.count;
  return {
    processId: id,
    state: stateOf(process),
    ...exitCodeOf(process),
    standing: standing(process),
    lines: lines.map(shownLine),
    unfinished: isAtEnd ? [...printed.unfinished()] : [],
    total: printed.count,
    dropped: Math.max(0, printed.dropped - wanted),
    next: Math.min(last, printed.count),
  };
}

function textOf({ standing: how, lines, unfinished, total, dropped, next, state }: Result): string {
  const head = [
    `${how}. It has printed ${counted(total, "line", "lines")}.`,
    ...(dropped > 0 ? [`${counted(dropped, "line", "lines")} before these were dropped.`] : []),
  ];
  const shown = [...lines.map(lineText), ...unfinished.map(({ text }) => `(unfinished)\t${text}`)];
  const rest =
    next < total
      ? [`${counted(total - next, "line follows", "lines follow")}: go on with after ${next}.`]
      : state === "running"
        ? [`To read what comes next, use after ${next}.`]
        : [];
  return [...head, ...(shown.length > 0 ? shown : ["There is nothing to read."]), ...rest].join("\n");
}

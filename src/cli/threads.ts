// heddle threads: the list of threads.
import { toJsonString } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { type Thread, ThreadSchema, ThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { countArgument } from "./arguments.js";
import { cutOffHint } from "./cut-off.js";
import { dateTime } from "./format.js";
import type { Context } from "./run.js";
import { addSourceOptions, type SourceOptions, withSource } from "./source.js";
import { type Style, safeLine, styleFor } from "./terminal.js";
import { word } from "./words.js";

interface ThreadsFlags extends SourceOptions {
  readonly json: boolean;
  readonly limit?: number;
}

const help = `
Examples:
  $ heddle threads
  $ heddle threads --limit 20 --server https://heddle.example.com
  $ heddle threads --json --data .heddle | jq -r .id`;

export function addThreads(program: Command, context: Context): void {
  const command = program
    .command("threads")
    .summary("list the threads")
    .description("Lists the threads in order of their ids: state, newest event, open tool calls, age and title.")
    .option("--json", "print each thread as one line of JSON (proto3 JSON of Thread)", false)
    .option("--limit <n>", "print at most so many", countArgument)
    .addHelpText("after", help);
  addSourceOptions(command).action(context.action((flags: ThreadsFlags) => threads(context, flags)));
}

async function threads(context: Context, flags: ThreadsFlags): Promise<void> {
  const { io, signal } = context;
  const { limit = Number.POSITIVE_INFINITY } = flags;
  const style = styleFor(io, "stdout");
  const row = rowFor(io.stdout.columns);
  let count = 0;
  let isAnyRunning = false;
  await withSource(context, flags, async (source) => {
    for await (const thread of source.threads(signal)) {
      if (count === 0 && !flags.json) await io.stdout.write(`${style.dim(row(headings))}\n`);
      await io.stdout.write(
        `${flags.json ? toJsonString(ThreadSchema, thread) : painted(thread, row(cellsOf(thread)), style)}\n`,
      );
      isAnyRunning ||= thread.state === ThreadState.RUNNING;
      if (++count >= limit) break;
    }
    const hint = isAnyRunning ? await cutOffHint(source, { what: "what is running", where: flags }) : undefined;
    if (hint !== undefined) await io.stderr.write(`heddle: ${safeLine(hint)}\n`);
  });
  if (count === 0 && !flags.json) await io.stderr.write("There are no threads yet.\n");
}

type Column = "id" | "state" | "head" | "open" | "created" | "title";
type Cells = Readonly<Record<Column, string>>;

const headings: Cells = {
  id: "ID",
  state: "STATE",
  head: "HEAD",
  open: "OPEN",
  created: "CREATED",
  title: "TITLE",
};

/** Rows are printed as pages arrive, so that widths are fixed; a longer number pushes its row to the right. */
const widths: Readonly<Record<Column, number>> = { id: 36, state: 9, head: 8, open: 4, created: 19, title: 14 };
const gap = "  ";
const isNumber = (column: Column): boolean => column === "head" || column === "open";
const droppedFirst: readonly Column[] = ["created", "open", "head"];

/** Nothing is cut, here as in `follow`: a narrow terminal gets fewer columns, and wraps what is still too long. */
function rowFor(terminalColumns = Number.POSITIVE_INFINITY): (cells: Cells) => string {
  let shown = Object.keys(widths) as Column[];
  const width = () => shown.reduce((sum, column) => sum + widths[column] + gap.length, -gap.length);
  for (const column of droppedFirst) if (width() > terminalColumns) shown = shown.filter((each) => each !== column);
  const padded = (column: Column, text: string) =>
    isNumber(column) ? text.padStart(widths[column]) : text.padEnd(widths[column]);
  return (cells) =>
    shown
      .map((column) => padded(column, cells[column]))
      .join(gap)
      .trimEnd();
}

const cellsOf = (thread: Thread): Cells => ({
  id: safeLine(thread.id),
  state: word(ThreadState, thread.state),
  head: String(thread.headSequence),
  open: String(thread.openToolCalls),
  created: dateTime(thread.createTime),
  title: safeLine(thread.parentThreadId === "" ? thread.title : `↳ ${thread.title}`),
});

function painted(thread: Thread, line: string, style: Style): string {
  if (thread.state === ThreadState.RUNNING) return style.green(line);
  return thread.state === ThreadState.SUSPENDED ? style.yellow(line) : line;
}

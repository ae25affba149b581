// heddle threads: the list of threads.
import { toJsonString } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { type Thread, ThreadSchema, ThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { countArgument } from "./arguments.js";
import { dateTime } from "./format.js";
import type { Context } from "./run.js";
import { addSourceOptions, type SourceOptions, withSource } from "./source.js";
import { clip, type Style, safeLine, styleFor } from "./terminal.js";
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
  const fitted = (line: string) => (io.stdout.columns === undefined ? line : clip(line, io.stdout.columns));
  let count = 0;
  await withSource(context, flags, async (source) => {
    for await (const thread of source.threads(signal)) {
      if (count === 0 && !flags.json) await io.stdout.write(`${style.dim(fitted(columns(headings)))}\n`);
      await io.stdout.write(
        `${flags.json ? toJsonString(ThreadSchema, thread) : painted(thread, fitted(columns(cellsOf(thread))), style)}\n`,
      );
      if (++count >= limit) break;
    }
  });
  if (count === 0 && !flags.json) await io.stderr.write("There are no threads yet.\n");
}

type Cells = readonly [id: string, state: string, head: string, open: string, created: string, title: string];

const headings: Cells = ["ID", "STATE", "HEAD", "OPEN", "CREATED", "TITLE"];

/** Rows are printed as pages arrive, so that widths are fixed; a longer number pushes its row to the right. */
const columns = ([id, state, head, open, created, title]: Cells): string =>
  `${id.padEnd(36)}  ${state.padEnd(9)}  ${head.padStart(8)}  ${open.padStart(4)}  ${created.padEnd(19)}  ${title}`.trimEnd();

const cellsOf = (thread: Thread): Cells => [
  safeLine(thread.id),
  word(ThreadState, thread.state),
  String(thread.headSequence),
  String(thread.openToolCalls),
  dateTime(thread.createTime),
  safeLine(thread.title),
];

function painted(thread: Thread, line: string, style: Style): string {
  if (thread.state === ThreadState.RUNNING) return style.green(line);
  return thread.state === ThreadState.SUSPENDED ? style.yellow(line) : line;
}

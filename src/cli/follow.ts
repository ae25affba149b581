// heddle follow: a thread's events, a line each, for as long as there are any.
import { toJsonString } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Command } from "commander";
import { SequenceRangeSchema } from "../../gen/heddle/v1/error_pb.js";
import { type StreamThreadEventsResponse, StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import type { FollowState } from "../client/index.js";
import { HeddleError, isError } from "../thread/errors.js";
import { sequenceArgument, threadArgument } from "./arguments.js";
import { cutOffHint, watchRunning } from "./cut-off.js";
import { eventLines } from "./event-line.js";
import type { Context } from "./run.js";
import { addSourceOptions, type SourceOptions, withSource } from "./source.js";
import { safeLine, styleFor } from "./terminal.js";

interface FollowFlags extends SourceOptions {
  readonly after?: bigint;
  readonly follow: boolean;
  readonly json: boolean;
  readonly control: boolean;
}

/** A server that is not there at the start is most likely a wrong address; one that goes away later comes back. */
const patience = { maxFirstAttempts: 1 };

const help = `
Reconnects by itself and goes on exactly where it was. A thread of a data directory (--data) is read to its end.

Examples:
  $ heddle follow 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10
  $ heddle follow 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10 --after 120 --json | jq .toolCallComplete.summary
  $ heddle follow 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10 --no-follow --data .heddle`;

export function addFollow(program: Command, context: Context): void {
  const command = program
    .command("follow")
    .summary("print a thread's events as they happen")
    .description("Prints a thread's events, one line each, and waits for more.")
    .argument("<thread>", "the thread's id", threadArgument)
    .option("--after <sequence>", "begin after this event", sequenceArgument)
    .option("--no-follow", "stop at the newest event")
    .option("--json", "print each event as one line of JSON (proto3 JSON of StreamThreadEventsResponse)", false)
    .option("--control", "print control frames too (Ready, CaughtUp, Heartbeat, Closing)", false)
    .addHelpText("after", help);
  addSourceOptions(command).action(
    context.action((threadId: string, flags: FollowFlags) => follow(context, threadId, flags)),
  );
}

async function follow(context: Context, threadId: string, flags: FollowFlags): Promise<void> {
  const { io, signal } = context;
  const { dim } = styleFor(io, "stderr");
  const line = flags.json ? jsonLine : eventLines(styleFor(io, "stdout"), () => new Date());
  const say = (text: string) => void io.stderr.write(`${dim(`heddle: ${safeLine(text)}`)}\n`).catch(() => {});
  await withSource(context, flags, async (source) => {
    if (source.foundIn !== undefined && flags.follow) say(`no server holds ${source.foundIn}: it is read to its end`);
    const events = source.events({
      threadId,
      afterSequence: flags.after ?? 0n,
      follow: flags.follow,
      control: flags.control,
      signal,
      backoff: patience,
      onState: reportOutages(say),
    });
    let isBegun = false;
    let isRunning = false;
    const watch = watchRunning();
    try {
      for await (const event of events) {
        isBegun = true;
        isRunning = watch(event);
        await io.stdout.write(`${line(event)}\n`);
      }
    } catch (reason) {
      throw isBegun || flags.after === undefined ? reason : explained(reason, flags.after);
    }
    const hint = isRunning ? await cutOffHint(source, { what: "the run", where: flags }) : undefined;
    if (hint !== undefined) say(hint);
  });
}

/** The server speaks of its own field; a person gave a flag. */
function explained(reason: unknown, after: bigint): unknown {
  const range = isError(reason, "sequence_out_of_range")
    ? reason.detail
    : reason instanceof ConnectError
      ? reason.findDetails(SequenceRangeSchema)[0]
      : undefined;
  if (range === undefined) return reason;
  const { headSequence, firstSequence } = range;
  const message =
    headSequence === 0n
      ? `--after ${after} is beyond the end: the thread has no events yet`
      : `--after ${after} is beyond the newest event, ${headSequence}`;
  return new HeddleError("sequence_out_of_range", message, { detail: { headSequence, firstSequence }, cause: reason });
}

/** proto3 JSON on one line. */
export const jsonLine = (event: StreamThreadEventsResponse): string =>
  toJsonString(StreamThreadEventsResponseSchema, event);

/**
 * Says once that the server is away, and once that it is back, however many tries lie between. A stream that ends and is
 * open again at the first try, as after a stream's maximum age, is nothing to speak of.
 */
export function reportOutages(say: (text: string) => void): (state: FollowState) => void {
  let waits = 0;
  return (state) => {
    if (state.state === "waiting" && ++waits === 2) say(`connection lost (${state.reason.rawMessage}); trying again`);
    if (state.state !== "open") return;
    if (waits >= 2) say("connected again");
    waits = 0;
  };
}

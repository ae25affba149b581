// heddle run: one message to an agent, and its run as it happens.

import { type Command, InvalidArgumentError, Option } from "commander";
import { type RunCompleted, RunOutcome } from "../../gen/heddle/v1/event_pb.js";
import { cleanSummary } from "../thread/summary.js";
import { threadArgument } from "./arguments.js";
import { endingOf, exitCodes, usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { serverUrl } from "./find-server.js";
import { jsonLine } from "./follow.js";
import { Interrupted } from "./interrupt.js";
import type { Io } from "./io.js";
import { openLiveView } from "./live-view-terminal.js";
import type { Where } from "./next-command.js";
import { catchOthers, type Others } from "./others.js";
import type { Context } from "./run.js";
import { type Answering, answererFor, answeringOf, approvalModeOf } from "./run-prompt-approvals.js";
import { type Message, openRunClient } from "./run-prompt-client.js";
import { openPlainView } from "./run-prompt-plain.js";
import { refusalOf } from "./run-prompt-refusal.js";
import { openRunServer, type RunServer, type RunServerFlags } from "./run-prompt-server.js";
import { watchRun } from "./run-prompt-watch.js";
import type { RunView } from "./run-view.js";
import { isScreen } from "./terminal.js";

interface RunFlags extends RunServerFlags {
  readonly thread?: string;
  readonly instructions?: string;
  readonly parallel: boolean;
  readonly maxSteps?: number;
  readonly json: boolean;
  readonly yes: boolean;
}

const help = `
Goes to the server that holds the data directory; where there is none, it starts one of its own for as long as the run takes,
with the current folder as the agent's workspace. Ctrl-C calls the run off and shows how it ends; a second one leaves at once.
Where policy wants a yes, it asks on the terminal; where there is none, and with --json, such calls are denied, unless --yes says
yes to all of them. "heddle approvals" answers from elsewhere. A server that goes away is waited for, 2 minutes at most; the run is its own, and "heddle follow" shows what became of it.

Exit codes: 0 the run succeeded, 1 it failed or a limit ended it, 130 it was called off. The others are those of "heddle --help".

Examples:
  $ heddle run "What is in this folder?"
  $ heddle run "And what is the largest file?" --thread 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10
  $ OPENAI_API_KEY=… heddle run "Explain src/index.ts" --model openai:gpt-4o-mini
  $ heddle run "Write a README" --yes
  $ heddle run "What is in this folder?" --json | jq -r '.toolCallComplete.summary // empty'`;

export function addRunPrompt(program: Command, context: Context): void {
  const mine = ["data", "config", "workspace", "logLevel"];
  program
    .command("run")
    .summary("send a message to an agent and watch its run")
    .description(
      "Sends a message to an agent and shows its run as it happens: what it says, and what each tool call does.",
    )
    .argument("<prompt>", "what to ask or to have done", promptArgument)
    .option("--thread <id>", "go on with this thread (default: a new one)", threadArgument)
    .option("--model <provider:name>", "the model (default: the server's, or demo:demo, which needs no key)")
    .option("--instructions <text>", "what the agent is to keep in mind")
    .option("--no-parallel", "run tool calls one after the other")
    .option("--max-steps <n>", "ask the model at most so often", stepsArgument)
    .option("--yes", "say yes to every call that policy asks for, without asking", false)
    .option("--json", "print each event as one line of JSON (proto3 JSON of StreamThreadEventsResponse)", false)
    .option("--data <dir>", "the data directory (default: .heddle)")
    .option("--workspace <dir>", "the directory that the agent works in (default: the current one)")
    .option("--config <file>", "a JSON file with settings")
    .addOption(
      new Option("--server <url>", "use this server (default: HEDDLE_SERVER, if it is set)")
        .argParser(serverUrl)
        .conflicts(mine),
    )
    .option("--token <token>", "the server's bearer token (default: HEDDLE_TOKEN)")
    .option("--log-level <level>", "log what the command's own server does, with plain lines (default: silent)")
    .addHelpText("after", help)
    .action(context.action((prompt: string, flags: RunFlags) => runPrompt(context, prompt, flags)));
}

async function runPrompt(context: Context, prompt: string, flags: RunFlags): Promise<void> {
  const others = catchOthers(context.io);
  const answering = answeringOf(context.io, flags);
  try {
    const own = { user: answererFor(answering), say: others.say };
    const server = await openRunServer(context.io, flags, own).catch((reason) => {
      throw reason instanceof Failure ? reason : new Failure(endingOf(reason, undefined), reason);
    });
    try {
      await showRun(context, server, { message: messageOf(prompt, flags, answering), flags, others, answering });
    } finally {
      await server.close();
    }
  } finally {
    others.stop();
  }
}

interface Asked {
  readonly message: Message;
  readonly flags: RunFlags;
  readonly others: Others;
  readonly answering: Answering;
}

async function showRun(context: Context, server: RunServer, asked: Asked): Promise<void> {
  const { message, flags, others, answering } = asked;
  const client = openRunClient(server.place);
  try {
    const run = await client.start(message, context.signal);
    const view = viewFor(context.io, flags, server.where);
    others.showIn(view);
    const end = await watchRun({ client, run, view, server, answering, signal: context.signal }).finally(async () => {
      others.showIn(undefined);
      await view.close();
    });
    finish(end, context.signal);
  } catch (reason) {
    if (reason instanceof Failure) throw reason;
    // What a library makes of our own abort is not the reason: the interruption is.
    if (context.signal.aborted) throw new Failure(endingOf(context.signal.reason, undefined), reason);
    throw refusalOf(reason, { server, flags });
  } finally {
    client.close();
  }
}

/** The view has said how it ended; what is left is the exit code. */
function finish({ outcome }: RunCompleted, signal: AbortSignal): void {
  if (outcome === RunOutcome.SUCCEEDED) return;
  const interruption = signal.reason instanceof Interrupted ? signal.reason : new Interrupted("SIGINT");
  const code = outcome === RunOutcome.CANCELLED ? interruption.exitCode : exitCodes.error;
  throw new Failure({ code, message: "" }, undefined);
}

/** Logs beside a view that is drawn anew would tear it apart. */
function viewFor(io: Io, flags: RunFlags, where: Where): RunView {
  const plain = () => openPlainView(io, where);
  if (flags.json) return { ...plain(), event: (event) => io.stdout.write(`${jsonLine(event)}\n`) };
  return isScreen(io, "stdout") && flags.logLevel === undefined ? openLiveView(io) : plain();
}

const longestTitle = 80;

const messageOf = (prompt: string, flags: RunFlags, answering: Answering): Message => {
  const { thread, model, instructions, parallel, maxSteps } = flags;
  return {
    threadId: thread,
    title: cleanSummary(prompt, longestTitle),
    text: prompt,
    options: {
      ...(model === undefined ? {} : { model }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(parallel ? {} : { parallelToolCalls: false }),
      ...(maxSteps === undefined ? {} : { maxSteps }),
      approvalMode: approvalModeOf(answering),
    },
  };
};

function promptArgument(text: string): string {
  if (text.trim() !== "") return text;
  throw new Failure(usageEnding("the prompt is empty: say what to ask or to have done"), undefined);
}

const mostSteps = 1000;

function stepsArgument(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= mostSteps) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${mostSteps}.`);
}

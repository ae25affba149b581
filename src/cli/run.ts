// The command line: parse, run one command, end with one code and at most one message.
import { Command, CommanderError } from "commander";
import { packageVersion } from "../config.js";
import { addApprovals } from "./approvals.js";
import { addCall } from "./call.js";
import { addDocuments } from "./documents.js";
import { addExecutor } from "./executor.js";
import { endingOf, exitCodeHelp, exitCodes, helpHint } from "./exit.js";
import { Failure } from "./failure.js";
import { addFollow } from "./follow.js";
import { addIndexDocuments } from "./index-documents.js";
import { interruptSignal } from "./interrupt.js";
import type { Io } from "./io.js";
import { addRunPrompt } from "./run-prompt.js";
import { addServe } from "./serve.js";
import { addThreads } from "./threads.js";
import { addTools } from "./tools.js";

/** What every command is given. */
export interface Context {
  readonly io: Io;
  /** Aborted by the first Ctrl-C or SIGTERM, with Interrupted as its reason. */
  readonly signal: AbortSignal;
  /** Drops commander's own last argument, so that a command sees its arguments and flags alone. */
  action<Given extends readonly unknown[]>(
    run: (...given: Given) => Promise<void>,
  ): (...given: [...Given, Command]) => Promise<void>;
}

/** Runs one command line (without node and script) and resolves with the exit code. Never rejects. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  const program = createProgram({
    io,
    signal: interruptSignal(io),
    action:
      (run) =>
      (...given) =>
        run(...(given.slice(0, -1) as never)),
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCodes.ok;
  } catch (reason) {
    if (reason instanceof CommanderError) return reason.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const { code, message } = reason instanceof Failure ? reason.ending : endingOf(reason, undefined);
    if (message !== "") await io.stderr.write(`heddle: ${message}\n`).catch(() => {});
    return code;
  }
}

const help = `
Examples:
  $ heddle run "What is in this folder?"   ask an agent, and watch what it does
  $ heddle serve                           start a server on http://127.0.0.1:8787, with its data in .heddle
  $ heddle threads                         what threads there are
  $ heddle follow <thread>                 watch one as it happens
  $ heddle executor                        run agents' tools here, next to you
  $ heddle index docs                      let agents search the files of a folder
${exitCodeHelp}`;

function createProgram(context: Context): Command {
  const { io } = context;
  const print = (output: Io["stdout"]) => (text: string) => void output.write(text).catch(() => {});
  const program = new Command("heddle")
    .description(
      "The service that every agent thread passes through: a durable, live log of what each tool call is doing.",
    )
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError(helpHint)
    .configureOutput({
      writeOut: print(io.stdout),
      writeErr: print(io.stderr),
      outputError: (text, write) => write(text.replace(/^error: /, "heddle: ")),
    })
    .exitOverride()
    .addHelpText("after", help);
  addServe(program, context);
  addRunPrompt(program, context);
  addFollow(program, context);
  addThreads(program, context);
  addCall(program, context);
  addTools(program, context);
  addApprovals(program, context);
  addExecutor(program, context);
  addIndexDocuments(program, context);
  addDocuments(program, context);
  return program;
}

// heddle executor: a process next to the user that runs tools for agents.
import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Config, loadConfig } from "../config.js";
import type { Asker } from "../executor/questions.js";
import { limits } from "../thread/limits.js";
import { cleanSummary } from "../thread/summary.js";
import { answererOf, userName } from "./answerer.js";
import { countArgument, threadArgument } from "./arguments.js";
import { askerOf } from "./executor-questions.js";
import { type ExecutorView, executorView } from "./executor-view.js";
import { endingOf, usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { defaultServer, namedServer, serverOf, serverUrl, tokenOf, usualDataDir } from "./find-server.js";
import type { Io } from "./io.js";
import { catchOthers } from "./others.js";
import type { Context } from "./run.js";
import { openClients, type ServerPlace } from "./server-clients.js";
import { safeLine } from "./terminal.js";

export interface ExecutorFlags {
  readonly server?: string;
  readonly token?: string;
  readonly thread?: string;
  readonly workspace?: string;
  readonly name?: string;
  readonly tools?: readonly string[];
  readonly trusted: boolean;
  readonly config?: string;
  readonly yes: boolean;
  readonly concurrency: number;
  readonly lease: number;
  readonly json: boolean;
}

const help = `
Runs the calls of agents here: it offers tools for files and commands that work in this folder, and claims what agents call of
them. They come in place of the server's own of the same names, for as long as it runs.
Where policy wants a yes, it asks on the terminal and shows what would happen here. Without a terminal, and with --json, such calls
wait for "heddle approvals", or are not taken; --yes says yes to all of them, and --trusted does not ask for what works on the folder.
Ctrl-C stops what runs: those calls end as interrupted.

Examples:
  $ heddle executor
  $ heddle executor --server https://heddle.example.com --workspace ~/project --trusted
  $ heddle executor --thread 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10 --tools read_file,list_directory`;

const concurrency = { default: 4, most: 64 };

export function addExecutor(program: Command, context: Context): void {
  program
    .command("executor")
    .summary("run agents' tools here, next to you")
    .description("Offers tools for files and commands of a folder to agents, and runs their calls here.")
    .addOption(
      new Option("--server <url>", "the server (default: HEDDLE_SERVER, else the one that holds .heddle)").argParser(
        serverUrl,
      ),
    )
    .option("--token <token>", "the server's bearer token (default: HEDDLE_TOKEN)")
    .option("--thread <id>", "serve this thread alone (default: all of them)", threadArgument)
    .option("--workspace <dir>", "the folder that the tools work in (default: the current one)")
    .option("--name <name>", "what it calls itself (default: user and host)", nameArgument)
    .option("--tools <names>", "offer these alone, with commas between them (default: all that it has)", namesArgument)
    .option("--trusted", "the folder may be changed, and commands run in it, without asking", false)
    .option("--config <file>", "a JSON file with settings: policies, the sandbox, limits")
    .option("--yes", "say yes to every call that policy asks for, without asking", false)
    .option("--concurrency <n>", "run so many calls at a time", concurrencyArgument, concurrency.default)
    .option("--lease <seconds>", "a server that hears nothing for so long gives a call up", leaseArgument, 30)
    .option("--json", "print what happens as lines of JSON", false)
    .addHelpText("after", help)
    .action(context.action((flags: ExecutorFlags) => executor(context, flags)));
}

async function executor({ io, signal }: Context, flags: ExecutorFlags): Promise<void> {
  const config = configOf(io, flags);
  const place = await placeOf(io, flags);
  const others = catchOthers(io);
  const view = executorView(io, { ...flags, server: place.url() });
  const clients = openClients(place);
  try {
    const asker = askerOf(io, { ...flags, server: place.url() }, view);
    const serving = await createExecutor(config, { flags, view, asker, clients });
    await serving.run(signal);
  } catch (reason) {
    if (reason instanceof Failure) throw reason;
    throw new Failure(endingOf(signal.aborted ? signal.reason : reason, place.url()), reason);
  } finally {
    clients.close();
    others.stop();
    await view.close();
  }
  if (signal.aborted) throw new Failure(endingOf(signal.reason, undefined), signal.reason);
}

interface Given {
  readonly flags: ExecutorFlags;
  readonly view: ExecutorView;
  readonly asker: Asker;
  readonly clients: ReturnType<typeof openClients>;
}

async function createExecutor(config: Config, { flags, view, asker, clients }: Given) {
  const { composeExecutor, executorToolNames } = await import("../compose-executor.js");
  const toolNames = flags.tools ?? executorToolNames;
  const unknown = toolNames.find((name) => !executorToolNames.includes(name));
  if (unknown !== undefined) {
    const message = `--tools: an executor has no tool called "${safeLine(unknown)}". It has ${executorToolNames.join(", ")}`;
    throw new Failure(usageEnding(message), undefined);
  }
  const agent = flags.trusted ? { ...config.agent, trusted: true } : config.agent;
  const workspace = agent.workspace ?? process.cwd();
  const hidden = config.configFile === undefined ? [] : [config.configFile];
  const executorName = flags.name ?? nameHere();
  const says = { executorName, toolNames, workspace };
  return composeExecutor(
    { agent, workspace, toolNames, hidden },
    {
      server: clients,
      executorName,
      leaseMs: flags.lease * 1000,
      on: (event) => view.event(event, says),
      threadId: flags.thread,
      concurrency: flags.concurrency,
      asker,
      answerer: flags.yes ? "heddle executor --yes" : answererOf("heddle executor"),
      isPatient: false,
    },
  );
}

function configOf(io: Io, { workspace, config }: ExecutorFlags): Config {
  const env = { ...io.env, HEDDLE_TOKEN: io.env["HEDDLE_TOKEN"] || undefined };
  return loadConfig({ flags: { workspace, config }, env });
}

async function placeOf(io: Io, flags: ExecutorFlags): Promise<ServerPlace> {
  const token = tokenOf(io, flags.token);
  const found = namedServer(io, flags, []) ?? (await serverOf(usualDataDir(io), token));
  return found ?? { url: () => defaultServer, token };
}

/** Such as `ada@laptop`. */
const nameHere = (): string => cleanSummary(`${userName()}@${hostname()}`);

function nameArgument(text: string): string {
  if (text === cleanSummary(text) && text !== "") return text;
  throw new InvalidArgumentError("It must be one line of 1 to 200 visible characters.");
}

const namesArgument = (text: string): string[] => {
  const names = [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length > 0) return names;
  throw new InvalidArgumentError("It must name at least one tool.");
};

function concurrencyArgument(text: string): number {
  const count = countArgument(text);
  if (count <= concurrency.most) return count;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${concurrency.most}.`);
}

function leaseArgument(text: string): number {
  const seconds = countArgument(text);
  if (seconds * 1000 <= limits.leaseMs.max) return seconds;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${limits.leaseMs.max / 1000}.`);
}

// heddle serve: a server, until somebody asks it to stop.
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Logger } from "pino";
import { type Config, type ConfigFlags, defaultConfig, loadConfig, logLevels, packageVersion } from "../config.js";
import { HeddleError } from "../thread/errors.js";
import { endingOf } from "./exit.js";
import { Failure } from "./failure.js";
import { tellForgottenPromises } from "./forgotten-promises.js";
import type { Interrupted } from "./interrupt.js";
import type { Io } from "./io.js";
import { createLogger } from "./logger.js";
import { commandLine } from "./next-command.js";
import type { Context } from "./run.js";
import { type Style, styleFor } from "./terminal.js";

const help = `
Prints one line, "heddle listening on URL", when it is ready; logs go to standard error. SIGTERM and Ctrl-C close it in
good order, a second one at once. Settings also come from HEDDLE_LISTEN, HEDDLE_DATA, HEDDLE_LOG_LEVEL, HEDDLE_TOKEN,
HEDDLE_TLS_CERT, HEDDLE_TLS_KEY, HEDDLE_MODEL, HEDDLE_WORKSPACE and the file; a flag beats a variable, a variable beats the file.

Examples:
  $ heddle serve
  $ heddle serve --listen 127.0.0.1:0 --data /var/lib/heddle
  $ HEDDLE_TOKEN="$(openssl rand -hex 32)" heddle serve --listen 0.0.0.0:8787
  $ heddle serve --config heddle.json --log-level debug`;

export function addServe(program: Command, context: Context): void {
  program
    .command("serve")
    .summary("start a server")
    .description("Starts a server: gRPC, gRPC-Web and Connect on one port.")
    .option("--listen <host:port>", "where to listen; port 0 picks a free one (default: 127.0.0.1:8787)")
    .option("--data <dir>", "the data directory (default: .heddle)")
    .option("--model <provider:name>", "the model of the agent (default: demo:demo, which needs no key)")
    .option("--workspace <dir>", "the directory that the agent works in (default: none)")
    .option("--config <file>", "a JSON file with settings")
    .option("--log-level <level>", `one of ${logLevels.join(", ")} (default: info)`)
    .option("--take-over", "take the data directory from a process that still holds it")
    .addHelpText("after", help)
    .action(context.action((flags: ConfigFlags) => serve(context, flags)));
}

async function serve({ io, signal }: Context, flags: ConfigFlags): Promise<void> {
  try {
    const config = loadConfig({ flags, env: io.env });
    const logger = createLogger(config.logLevel, io);
    // Late, so that a wrong setting is named before anything is opened.
    const { announceServer, compose, secretsOf } = await import("../compose.js");
    const stopTelling = tellForgottenPromises(logger, { secrets: secretsOf(config) });
    const heddle = await compose(config, logger);
    const forget = addressFile(() => announceServer(config.dataDir, heddle.url), logger);
    if (!signal.aborted) {
      logger.info(factsOf(config, flags, heddle.url), "ready");
      await announce(io, heddle.url, config);
      heddle.prepare();
    }
    const { signalName } = await interruption(signal);
    logger.info({ signal: signalName }, "closing; a second signal ends it at once");
    forget();
    await heddle.close();
    stopTelling();
    logger.info({}, "closed");
  } catch (reason) {
    throw explained(reason, flags.logLevel ?? io.env["HEDDLE_LOG_LEVEL"]);
  }
}

/** Without it commands must be told the address: no reason not to serve. */
function addressFile(announceIt: () => () => void, logger: Logger): () => void {
  try {
    return announceIt();
  } catch (err) {
    logger.warn({ err }, "commands will not find this server by its data directory; give them --server");
    return () => {};
  }
}

/** What somebody who reads the log of another machine asks first. Counts and paths alone, nothing secret. */
const factsOf = (config: Config, flags: ConfigFlags, url: string) => ({
  version: packageVersion(),
  url,
  dataDir: config.dataDir,
  ...(flags.config === undefined ? {} : { configFile: resolve(flags.config) }),
  tls: config.tls !== undefined,
  tokenCount: config.tokens.length,
  node: process.version,
});

/** The line that scripts wait for. Nobody has to read it: a closed output is no reason to stop. */
async function announce(io: Io, url: string, config: Config): Promise<void> {
  await io.stdout.write(`heddle listening on ${url}\n`).catch(() => {});
  if (io.stderr.isTTY) await io.stderr.write(greeting(url, config, styleFor(io, "stderr"))).catch(() => {});
}

function greeting(url: string, { dataDir, tokens, agent }: Config, { dim, bold }: Style): string {
  // Commands find the server of the data directory by themselves, where it is the one that they look into.
  const where = dataDir === resolve(defaultConfig.dataDir) ? {} : { server: url };
  const prompt = agent.workspace === undefined ? "Think about it, and tell me." : "What is in this folder?";
  const commands = [`run "${prompt}"`, "follow <thread>", "threads"].map((command) => commandLine(command, where));
  const token = tokens.length > 0 ? ", with HEDDLE_TOKEN set to a token of the configuration" : "";
  const lines = [dim(`Try, in another terminal${token}:`), ...commands.map((command) => `  ${bold(command)}`)];
  if (/^demo:/.test(agent.model)) lines.push(dim(demoHint));
  return `${lines.join("\n")}\n`;
}

const realModel = commandLine("serve --workspace . --model openai:gpt-4o-mini", {});
const demoHint = `The model is a demo, which knows only a few words. For a real one: OPENAI_API_KEY=… ${realModel} (docs/configuration.md)`;

const interruption = (signal: AbortSignal): Promise<Interrupted> =>
  new Promise((resolve) => {
    const done = () => resolve(signal.reason as Interrupted);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });

/** One line; the trace only for those who debug, or a hint at it where nobody foresaw the error. */
function explained(reason: unknown, level: string | undefined): Failure {
  const { code, message } = endingOf(reason, undefined);
  const isDebugging = level === "debug" || level === "trace";
  const trace = isDebugging && reason instanceof Error && reason.stack !== undefined ? `\n${reason.stack}` : "";
  const hint = !isDebugging && !(reason instanceof HeddleError) ? " (--log-level debug shows where)" : "";
  return new Failure({ code, message: `${message}${hint}${trace}` }, reason);
}

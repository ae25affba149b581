// heddle serve: a server, until somebody asks it to stop.
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Config, type ConfigFlags, loadConfig, logLevels } from "../config.js";
import { HeddleError } from "../thread/errors.js";
import { endingOf } from "./exit.js";
import type { Interrupted } from "./interrupt.js";
import type { Io } from "./io.js";
import { createLogger } from "./logger.js";
import type { Context } from "./run.js";
import { Failure } from "./source.js";
import { styleFor } from "./terminal.js";
import { packageVersion } from "./version.js";

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
    const { compose } = await import("../compose.js"); // Late, so that a wrong setting is named before anything is opened.
    const heddle = await compose(config, logger);
    if (!signal.aborted) {
      logger.info(factsOf(config, flags, heddle.url), "ready");
      await announce(io, heddle.url, config.tokens.length > 0);
    }
    const { signalName } = await interruption(signal);
    logger.info({ signal: signalName }, "closing; a second signal ends it at once");
    await heddle.close();
    logger.info({}, "closed");
  } catch (reason) {
    throw explained(reason, flags.logLevel ?? io.env["HEDDLE_LOG_LEVEL"]);
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
async function announce(io: Io, url: string, needsToken: boolean): Promise<void> {
  await io.stdout.write(`heddle listening on ${url}\n`).catch(() => {});
  if (!io.stderr.isTTY) return;
  const { dim, bold } = styleFor(io, "stderr");
  const server = url === "http://127.0.0.1:8787" ? "" : ` --server ${url}`;
  const curl = ["npx buf curl", ...(url.startsWith("https:") ? [] : ["--http2-prior-knowledge"])];
  if (needsToken) curl.push('-H "authorization: Bearer $HEDDLE_TOKEN"');
  const commands = [
    `${curl.join(" ")} -d '{"title":"first"}' ${url}/heddle.v1.ThreadService/CreateThread`,
    `npx heddle threads${server}`,
    `npx heddle follow <thread>${server}`,
  ];
  const token = needsToken ? ", with HEDDLE_TOKEN set to a token of the configuration" : "";
  const lines = commands.map((command) => `  ${bold(command)}\n`).join("");
  await io.stderr.write(`${dim(`Try, in another terminal${token}:`)}\n${lines}`).catch(() => {});
}

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

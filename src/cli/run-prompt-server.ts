// The server that a run goes to: one that is named, the one that holds the data directory, or one of the command's own that
// lives as long as the run. The rest of the command does not know which.
import { randomBytes } from "node:crypto";
import { type Config, loadConfig } from "../config.js";
import { HeddleError, isError } from "../thread/errors.js";
import { usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { leadingTo, namedServer, serverOf } from "./find-server.js";
import { tellForgottenPromises } from "./forgotten-promises.js";
import type { Io } from "./io.js";
import { createLogger } from "./logger.js";
import { commandLine, type Where } from "./next-command.js";
import type { ServerPlace } from "./server-clients.js";
import { safeLine } from "./terminal.js";

export interface RunServer {
  readonly place: ServerPlace;
  /** Nobody else knows it: its address is nothing to tell a person. */
  readonly isOwn: boolean;
  /** The data directory that it holds; undefined where the server was named. */
  readonly dataDir: string | undefined;
  /** What leads other commands there. */
  readonly where: Where;
  close(): Promise<void>;
}

/** The flags that decide it. */
export interface RunServerFlags {
  readonly server?: string;
  readonly token?: string;
  readonly data?: string;
  readonly workspace?: string;
  readonly config?: string;
  readonly model?: string;
  readonly logLevel?: string;
}

const tokenBytes = 32;

/** For a server of the command's own. */
interface Own {
  /** Who answers questions there. */
  readonly user: string;
  /** Told of what goes wrong there and ends nothing, where its log is silent. */
  readonly say: (text: string) => void;
}

export async function openRunServer(io: Io, flags: RunServerFlags, own: Own): Promise<RunServer> {
  const settings = settingsIn(flags);
  const named = namedServer(io, flags, [...(flags.data === undefined ? [] : ["--data"]), ...settings]);
  if (named !== undefined) return foreign(named, { dataDir: undefined, where: { server: flags.server } });
  const config = configOf(io, flags);
  const holder = await serverOf(config.dataDir, flags.token ?? config.tokens[0]?.token);
  const where = leadingTo(io, config.dataDir, flags.data);
  if (holder === undefined) return embedded(io, config, { ...own, flags, where });
  if (settings.length > 0) throw settingsAreTheirs(settings, config.dataDir, holder.url());
  return foreign(holder, { dataDir: config.dataDir, where });
}

/** The flags in use that only a server of the command's own can heed. */
const settingsIn = ({ workspace, config, logLevel }: RunServerFlags): string[] => [
  ...(workspace === undefined ? [] : ["--workspace"]),
  ...(config === undefined ? [] : ["--config"]),
  ...(logLevel === undefined ? [] : ["--log-level"]),
];

const foreign = (place: ServerPlace, known: Pick<RunServer, "dataDir" | "where">): RunServer => ({
  place,
  isOwn: false,
  ...known,
  close: async () => {},
});

/** Logs only where they are asked for: what a server says about itself is not what a run is watched for. */
function configOf(io: Io, flags: RunServerFlags): Config {
  const { data, workspace, config, model, logLevel = "silent" } = flags;
  const env = { ...io.env, HEDDLE_TOKEN: io.env["HEDDLE_TOKEN"] || undefined };
  return loadConfig({ flags: { data, workspace, config, model, logLevel }, env });
}

/** On loopback, with a token that nobody else has: other users of the machine cannot send it work. */
async function embedded(
  io: Io,
  config: Config,
  { flags, where, user, say }: Own & { flags: RunServerFlags; where: Where },
): Promise<RunServer> {
  const { compose, secretsOf } = await import("../compose.js");
  const token = randomBytes(tokenBytes).toString("hex");
  const own: Config = {
    ...config,
    listen: { host: "127.0.0.1", port: 0 },
    tls: undefined,
    allowedOrigins: [],
    tokens: [{ name: user, token }], // The only one who has it.
    // Whoever asks something new does not ask for what was cut off last time to go on behind it.
    agent: { ...config.agent, workspace: config.agent.workspace ?? process.cwd(), afterRestart: "end" },
  };
  const logger = createLogger(config.logLevel, io);
  const stopTelling = tellForgottenPromises(logger, { secrets: secretsOf(own), say });
  try {
    const heddle = await compose(own, logger);
    const place = { url: () => heddle.url, token };
    const close = () => heddle.close().finally(stopTelling);
    return { place, isOwn: true, dataDir: config.dataDir, where, close };
  } catch (reason) {
    stopTelling();
    if (isError(reason, "directory_in_use")) throw inUse(reason, where);
    throw flags.model !== undefined && isError(reason, "invalid_config") ? aboutFlag(reason) : reason;
  }
}

/** Whoever holds it serves nobody, or is about to start. */
function inUse(reason: HeddleError<"directory_in_use">, where: Where): HeddleError {
  const { path, owner } = reason.detail;
  const advice = `wait for it to end, give --data another directory, or keep "${commandLine("serve", where)}" running and let runs share it`;
  return new HeddleError("directory_in_use", `${path} is in use by ${owner}: ${advice}`, {
    detail: reason.detail,
    cause: reason,
  });
}

/** A model that --model names wrongly is the command line's fault; a key that is missing is not. */
function aboutFlag(reason: HeddleError<"invalid_config">): Error {
  if (reason.detail.field !== "agent.model") return reason;
  const message = reason.message.replace(/^agent\.model:/, "--model:");
  if (/needs a key/.test(message)) return new HeddleError("invalid_config", message, { detail: reason.detail });
  return new Failure(usageEnding(safeLine(message)), reason);
}

function settingsAreTheirs(settings: readonly string[], dataDir: string, url: string): Failure {
  const message = `a server holds ${dataDir} and listens on ${url}: its settings were chosen where it was started. Leave ${settings.join(" and ")} out, or give --data another directory`;
  return new Failure(usageEnding(message), undefined);
}

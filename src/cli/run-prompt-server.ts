// The server that a run goes to: one that is named, the one that holds the data directory, or one of the command's own that
// lives as long as the run. The rest of the command does not know which.
import { randomBytes } from "node:crypto";
import { type Config, loadConfig } from "../config.js";
import { HeddleError, isError } from "../thread/errors.js";
import { usageEnding } from "./exit.js";
import type { Io } from "./io.js";
import { createLogger } from "./logger.js";
import { Failure, serverInEnvironment } from "./source.js";

export interface RunServer {
  readonly url: string;
  readonly token: string | undefined;
  /** Nobody else knows it: its address is nothing to tell a person. */
  readonly isOwn: boolean;
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

export async function openRunServer(io: Io, flags: RunServerFlags): Promise<RunServer> {
  const isLocal = flags.data !== undefined || flags.config !== undefined || flags.workspace !== undefined;
  const named = flags.server ?? (isLocal ? undefined : serverInEnvironment(io));
  if (named !== undefined) return foreign(named, flags.token ?? (io.env["HEDDLE_TOKEN"] || undefined));
  const config = configOf(io, flags);
  const { findServer } = await import("../compose.js");
  const holder = findServer(config.dataDir);
  if (holder === undefined) return embedded(io, config);
  if (flags.workspace !== undefined) throw workspaceIsTheirs(config.dataDir, holder.url);
  return foreign(holder.url, flags.token ?? config.tokens[0]?.token);
}

const foreign = (url: string, token: string | undefined): RunServer => ({
  url,
  token,
  isOwn: false,
  close: async () => {},
});

/** Logs only where they are asked for: what a server says about itself is not what a run is watched for. */
function configOf(io: Io, flags: RunServerFlags): Config {
  const { data, workspace, config, model, logLevel = "silent" } = flags;
  const env = { ...io.env, HEDDLE_TOKEN: io.env["HEDDLE_TOKEN"] || undefined };
  return loadConfig({ flags: { data, workspace, config, model, logLevel }, env });
}

/** On loopback, with a token that nobody else has: other users of the machine cannot send it work. */
async function embedded(io: Io, config: Config): Promise<RunServer> {
  const { compose } = await import("../compose.js");
  const token = randomBytes(tokenBytes).toString("hex");
  const own: Config = {
    ...config,
    listen: { host: "127.0.0.1", port: 0 },
    tls: undefined,
    allowedOrigins: [],
    tokens: [{ name: "run", token }],
    // Whoever asks something new does not ask for what was cut off last time to go on behind it.
    agent: { ...config.agent, workspace: config.agent.workspace ?? process.cwd(), afterRestart: "end" },
  };
  try {
    const heddle = await compose(own, createLogger(config.logLevel, io));
    return { url: heddle.url, token, isOwn: true, close: () => heddle.close() };
  } catch (reason) {
    throw isError(reason, "directory_in_use") ? inUse(reason) : reason;
  }
}

/** Whoever holds it serves nobody, or is about to start. */
function inUse(reason: HeddleError<"directory_in_use">): HeddleError {
  const { path, owner } = reason.detail;
  const advice = `wait for it to end, give --data another directory, or keep "heddle serve" running and let runs share it`;
  return new HeddleError("directory_in_use", `${path} is in use by ${owner}: ${advice}`, {
    detail: reason.detail,
    cause: reason,
  });
}

function workspaceIsTheirs(dataDir: string, url: string): Failure {
  const message = `a server holds ${dataDir} and listens on ${url}: its workspace was chosen where it was started. Leave --workspace out, or give --data another directory`;
  return new Failure(usageEnding(message), undefined);
}

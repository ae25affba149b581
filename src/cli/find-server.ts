// Which server a command talks to: the same rule for all of them. One that is named (--server, HEDDLE_SERVER) comes first; then
// the one that holds the data directory.
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { defaultConfig } from "../config.js";
import { exitCodes, usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import type { Io } from "./io.js";
import type { Where } from "./next-command.js";
import type { ServerPlace } from "./server-clients.js";

/** Where `heddle serve` listens unless it is told otherwise. */
export const defaultServer = "http://127.0.0.1:8787";

/**
 * The server that is named; undefined where none is. `excluded` are the flags in use that make no sense beside a named
 * server: commander refuses them beside --server, and HEDDLE_SERVER must not make less of them.
 */
export function namedServer(
  io: Io,
  { server, token }: { server?: string | undefined; token?: string | undefined },
  excluded: readonly string[],
): ServerPlace | undefined {
  const named = server ?? serverInEnvironment(io);
  if (named === undefined) return undefined;
  if (server === undefined && excluded.length > 0) {
    const message = `HEDDLE_SERVER names a server (${named}), and ${excluded.join(", ")} cannot be used with one. Unset HEDDLE_SERVER, or leave ${excluded.join(" and ")} out`;
    throw new Failure(usageEnding(message), undefined);
  }
  return { url: () => named, token: tokenOf(io, token) };
}

/** The server that holds the directory. It may come back on another port: the directory is asked each time. */
export async function serverOf(dataDir: string, token: string | undefined): Promise<ServerPlace | undefined> {
  const { findServer } = await import("../compose.js");
  let known = findServer(dataDir)?.url;
  if (known === undefined) return undefined;
  const url = (): string => {
    known = findServer(dataDir)?.url ?? known!;
    return known;
  };
  return { url, token };
}

/** The directory that a command looks into which is told none. */
export const usualDataDir = (io: Io): string => resolve(io.env["HEDDLE_DATA"] || defaultConfig.dataDir);

/** What leads other commands to a directory: `given` is how it was named to this one, which may have it from its settings. */
export const leadingTo = (io: Io, dataDir: string, given: string | undefined): Where => ({
  data: given ?? (dataDir === usualDataDir(io) ? undefined : dataDir),
});

export const tokenOf = (io: Io, flag: string | undefined): string | undefined =>
  flag ?? (io.env["HEDDLE_TOKEN"] || undefined);

/** What HEDDLE_SERVER says; undefined where it says nothing. */
function serverInEnvironment(io: Io): string | undefined {
  const given = io.env["HEDDLE_SERVER"];
  if (given === undefined || given === "") return undefined;
  try {
    return serverUrl(given);
  } catch (reason) {
    const message = `HEDDLE_SERVER is wrong. ${(reason as Error).message}`;
    throw new Failure({ code: exitCodes.usage, message }, reason);
  }
}

/** `host:port` alone means http. */
export function serverUrl(text: string): string {
  const url = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.pathname === "/") return parsed.origin;
  throw new InvalidArgumentError(
    "It must be the URL of a server, such as http://127.0.0.1:8787 or https://heddle.example.com.",
  );
}

// Where a command reads from: a server, or a data directory that is opened for reading alone.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { Thread } from "../../gen/heddle/v1/thread_service_pb.js";
import type { GetToolCallResponse } from "../../gen/heddle/v1/tool_call_service_pb.js";
import type { FollowOptions } from "../client/index.js";
import { type Ending, endingOf, exitCodes } from "./exit.js";
import type { Io } from "./io.js";

export interface Source {
  events(options: FollowOptions): AsyncIterable<StreamThreadEventsResponse>;
  /** All of them, page by page. */
  threads(signal: AbortSignal): AsyncIterable<Thread>;
  call(toolCallId: string, signal: AbortSignal): Promise<GetToolCallResponse>;
  content(body: { toolCallId: string; contentId: string }, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** The flags that `addSourceOptions` adds. */
export interface SourceOptions {
  readonly server?: string;
  readonly token?: string;
  readonly data?: string;
}

/** Where `heddle serve` listens unless it is told otherwise. */
export const defaultServer = "http://127.0.0.1:8787";

/** A command that came to its end early, and what to say about it. */
export class Failure extends Error {
  readonly ending: Ending;

  constructor(ending: Ending, cause: unknown) {
    super(ending.message, { cause });
    this.ending = ending;
  }
}

export function addSourceOptions(command: Command): Command {
  const token = "the bearer token (default: HEDDLE_TOKEN, which other users of the machine cannot see)";
  return command
    .addOption(
      new Option("--server <url>", `the server (default: HEDDLE_SERVER, or ${defaultServer})`).argParser(serverUrl),
    )
    .addOption(new Option("--token <token>", token))
    .addOption(new Option("--data <dir>", "read this data directory, without a server").conflicts(["server", "token"]));
}

/** Opens, uses and closes. Errors leave as Failure, in words that fit where the command read from. */
export async function withSource<Result>(
  { io, signal }: { io: Io; signal: AbortSignal },
  options: SourceOptions,
  use: (source: Source) => Promise<Result>,
): Promise<Result> {
  const server = options.data === undefined ? (options.server ?? serverInEnvironment(io) ?? defaultServer) : undefined;
  try {
    const source = await open(server, options, io);
    try {
      return await use(source);
    } finally {
      await source.close();
    }
  } catch (reason) {
    // What a library makes of our own abort is not the reason: the interruption is.
    throw new Failure(endingOf(signal.aborted ? signal.reason : reason, server), reason);
  }
}

/** Each is loaded when it is needed: asking a server must not depend on the store's native parts. */
async function open(server: string | undefined, options: SourceOptions, io: Io): Promise<Source> {
  if (server === undefined) return (await import("./directory-source.js")).openDirectory(options.data!);
  const token = options.token ?? (io.env["HEDDLE_TOKEN"] || undefined);
  return (await import("./server-source.js")).openServer(server, token);
}

/** What HEDDLE_SERVER says; undefined where it says nothing. */
export function serverInEnvironment(io: Io): string | undefined {
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

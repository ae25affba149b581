// Where a command reads from: a server, or a data directory that is opened for reading alone.
import { type Command, Option } from "commander";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { Thread } from "../../gen/heddle/v1/thread_service_pb.js";
import type { ToolCall } from "../../gen/heddle/v1/tool_call_pb.js";
import type { GetToolCallResponse } from "../../gen/heddle/v1/tool_call_service_pb.js";
import type { FollowOptions } from "../client/index.js";
import { endingOf } from "./exit.js";
import { Failure } from "./failure.js";
import { defaultServer, namedServer, serverOf, serverUrl, tokenOf, usualDataDir } from "./find-server.js";
import type { Io } from "./io.js";
import type { ApprovalAnswer, ServerPlace } from "./server-clients.js";

export interface Source {
  events(options: FollowOptions): AsyncIterable<StreamThreadEventsResponse>;
  /** All of them, page by page. */
  threads(signal: AbortSignal): AsyncIterable<Thread>;
  call(toolCallId: string, signal: AbortSignal): Promise<GetToolCallResponse>;
  content(body: { toolCallId: string; contentId: string }, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** The calls that wait for a yes, oldest question first, page by page. */
  approvals(signal: AbortSignal): AsyncIterable<ToolCall>;
  /** Undefined: nobody is there to take an answer. */
  readonly answer?: (answer: ApprovalAnswer, signal: AbortSignal) => Promise<void>;
  close(): Promise<void>;
  /** The data directory that is read, whether or not a server holds it. Undefined: a server is asked. */
  readonly dataDir?: string;
  /** The same, where it is read because no server was named or found. */
  readonly foundIn?: string;
}

/** The flags that `addSourceOptions` adds. */
export interface SourceOptions {
  readonly server?: string | undefined;
  readonly token?: string | undefined;
  readonly data?: string | undefined;
}

export function addSourceOptions(command: Command): Command {
  const token = "the bearer token (default: HEDDLE_TOKEN, which other users of the machine cannot see)";
  return command
    .addOption(
      new Option(
        "--server <url>",
        `the server (default: HEDDLE_SERVER, else the one that holds .heddle, else the data in .heddle, else ${defaultServer})`,
      ).argParser(serverUrl),
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
  const from = await placeOf(io, options);
  try {
    const source = await open(from);
    try {
      return await use(source);
    } finally {
      await source.close();
    }
  } catch (reason) {
    if (reason instanceof Failure) throw reason;
    const server = from.type === "server" ? from.place.url() : undefined;
    // What a library makes of our own abort is not the reason: the interruption is.
    throw new Failure(endingOf(signal.aborted ? signal.reason : reason, server), reason);
  }
}

type From =
  | { readonly type: "server"; readonly place: ServerPlace }
  /** `isFound`: nobody named it. */
  | { readonly type: "directory"; readonly dataDir: string; readonly isFound: boolean };

/** What is named, else the server of the usual directory, else that directory as it lies there, else the usual server. */
async function placeOf(io: Io, { server, token, data }: SourceOptions): Promise<From> {
  const named = namedServer(io, { server, token }, data === undefined ? [] : ["--data"]);
  if (named !== undefined) return { type: "server", place: named };
  if (data !== undefined) return { type: "directory", dataDir: data, isFound: false };
  const dataDir = usualDataDir(io);
  const holder = await serverOf(dataDir, tokenOf(io, token));
  if (holder !== undefined) return { type: "server", place: holder };
  const { holdsData } = await import("../compose.js");
  // A token is for a server.
  if (token === undefined && holdsData(dataDir)) return { type: "directory", dataDir, isFound: true };
  return { type: "server", place: { url: () => defaultServer, token: tokenOf(io, token) } };
}

/** Each is loaded when it is needed: asking a server that is named must not depend on the store's native parts. */
async function open(from: From): Promise<Source> {
  if (from.type === "server") return (await import("./server-source.js")).openServer(from.place);
  const source = await (await import("./directory-source.js")).openDirectory(from.dataDir);
  return from.isFound ? { ...source, foundIn: from.dataDir } : source;
}

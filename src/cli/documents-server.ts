// The server that commands about documents go to: the same as for `heddle run`, and one of the command's own where none runs.
import { type Command, Option } from "commander";
import { answererOf } from "./answerer.js";
import { type DocumentsClient, openDocumentsClient } from "./documents-client.js";
import { type Ending, endingOf } from "./exit.js";
import { Failure } from "./failure.js";
import { serverUrl } from "./find-server.js";
import { catchOthers } from "./others.js";
import type { Context } from "./run.js";
import { openRunServer, type RunServer } from "./run-prompt-server.js";

/** The flags that `addDocumentServerOptions` adds. */
export interface DocumentServerFlags {
  readonly server?: string;
  readonly token?: string;
  readonly data?: string;
  readonly config?: string;
}

export function addDocumentServerOptions(command: Command): Command {
  return command
    .option("--data <dir>", "the data directory (default: .heddle)")
    .option("--config <file>", "a JSON file with settings")
    .addOption(
      new Option(
        "--server <url>",
        "use this server (default: HEDDLE_SERVER, else the one that holds the data directory)",
      )
        .argParser(serverUrl)
        .conflicts(["data", "config"]),
    )
    .option("--token <token>", "the server's bearer token (default: HEDDLE_TOKEN)");
}

export interface OpenDocuments {
  readonly client: DocumentsClient;
  readonly server: RunServer;
  /** How the command ends when the server says this. */
  endingOf(reason: unknown): Ending;
}

/** Opens, uses and closes. Errors leave as Failure, in words that fit where the command went. */
export async function withDocuments<Result>(
  { io, signal }: Context,
  flags: DocumentServerFlags,
  use: (documents: OpenDocuments) => Promise<Result>,
): Promise<Result> {
  const others = catchOthers(io);
  let url: string | undefined;
  // What a library makes of our own abort is not the reason: the interruption is.
  const ending = (reason: unknown): Ending => endingOf(signal.aborted ? signal.reason : reason, url);
  try {
    // No model is asked: one that lacks its key is no reason to refuse.
    const server = await openRunServer(io, { ...flags, model: "demo:demo" }, answererOf("heddle documents"));
    if (!server.isOwn) url = server.place.url();
    const client = openDocumentsClient(server.place);
    try {
      return await use({ client, server, endingOf: ending });
    } finally {
      client.close();
      await server.close();
    }
  } catch (reason) {
    throw reason instanceof Failure ? reason : new Failure(ending(reason), reason);
  } finally {
    others.stop();
  }
}

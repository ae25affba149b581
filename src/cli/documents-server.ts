// The server that commands about documents go to: the same as for `heddle run`, and one of the command's own where none runs.
import { create } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { SearchDocumentsResponseSchema } from "../../gen/heddle/v1/document_service_pb.js";
import { loadConfig } from "../config.js";
import { answererOf } from "./answerer.js";
import { type DocumentsClient, openDocumentsClient } from "./documents-client.js";
import { type Ending, endingOf } from "./exit.js";
import { Failure } from "./failure.js";
import { leadingTo, namedServer, serverUrl } from "./find-server.js";
import type { Io } from "./io.js";
import type { Where } from "./next-command.js";
import { catchOthers } from "./others.js";
import type { Context } from "./run.js";
import { openRunServer } from "./run-prompt-server.js";

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
  /** Undefined: it is not known here. */
  readonly dataDir: string | undefined;
  /** What leads other commands there. */
  readonly where: Where;
  /** How the command ends when the server says this. */
  endingOf(reason: unknown): Ending;
}

/**
 * Opens, uses and closes. Errors leave as Failure, in words that fit where the command went. `readsOnly`: where there is neither a
 * server nor data, none is made only to find it empty.
 */
export async function withDocuments<Result>(
  { io, signal, readsOnly = false }: Pick<Context, "io" | "signal"> & { readonly readsOnly?: boolean },
  flags: DocumentServerFlags,
  use: (documents: OpenDocuments) => Promise<Result>,
): Promise<Result> {
  const others = catchOthers(io);
  let url: string | undefined;
  // What a library makes of our own abort is not the reason: the interruption is.
  const ending = (reason: unknown): Ending => endingOf(signal.aborted ? signal.reason : reason, url);
  try {
    const nowhere = readsOnly ? await nothingThere(io, flags) : undefined;
    if (nowhere !== undefined)
      return await use({ client: noDocuments, dataDir: undefined, where: nowhere, endingOf: ending });
    // No model is asked: one that lacks its key is no reason to refuse.
    const own = { user: answererOf("heddle documents"), say: others.say };
    const server = await openRunServer(io, { ...flags, model: "demo:demo" }, own);
    if (!server.isOwn) url = server.place.url();
    const client = openDocumentsClient(server.place);
    try {
      return await use({ client, dataDir: server.dataDir, where: server.where, endingOf: ending });
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

/** What leads to a directory where there is neither a server nor data; undefined where there is. */
async function nothingThere(io: Io, flags: DocumentServerFlags): Promise<Where | undefined> {
  if (namedServer(io, flags, []) !== undefined) return undefined;
  const { data, config } = flags;
  const { dataDir } = loadConfig({ flags: { data, config }, env: { ...io.env, HEDDLE_TOKEN: undefined } });
  const { findServer, holdsData } = await import("../compose.js");
  const isThere = findServer(dataDir) !== undefined || holdsData(dataDir);
  return isThere ? undefined : leadingTo(io, dataDir, data);
}

const noDocuments: DocumentsClient = {
  async *list() {},
  search: async () => create(SearchDocumentsResponseSchema),
  upload: () => Promise.reject(new Error("there is nobody to send it to")),
  delete: async () => {},
  close() {},
};

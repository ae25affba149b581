// heddle index: makes a folder a collection of documents that agents can search, and keeps it so.
import type { Command } from "commander";
import type { FolderFiles, Listing } from "../folder-files.js";
import {
  addDocumentServerOptions,
  type DocumentServerFlags,
  type OpenDocuments,
  withDocuments,
} from "./documents-server.js";
import { exitCodes, usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { collectionArgument, collectionOf, folderArgument, isWithin } from "./index-arguments.js";
import { indexFolder } from "./index-folder.js";
import { noTally, type Tally, tallied } from "./index-outcome.js";
import { openIndexView } from "./index-view.js";
import type { Context } from "./run.js";
import { safeLine } from "./terminal.js";

interface IndexFlags extends DocumentServerFlags {
  readonly collection?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly dryRun: boolean;
  readonly replace: boolean;
  readonly json: boolean;
}

const help = `
The collection becomes what the folder is: text, Markdown, HTML and PDF files are added, those that changed are replaced, those
that are gone, hidden, ignored by Git or left out by a pattern are removed. What is the same is not sent. Hidden files, what
Git ignores and links are left out; files that are no text and no PDF are skipped. A pattern without a slash is about names,
wherever they are. A collection belongs to one folder: give each its own.

Goes to the server that holds the data directory; where there is none, it starts one of its own for as long as it takes. Ctrl-C
leaves what is done; the same command goes on from there.

Exit codes: 0 all is indexed or skipped, 1 some documents failed. The others are those of "heddle --help".

Examples:
  $ heddle index docs
  $ heddle index ~/handbook --collection handbook --exclude 'drafts/**' --exclude '*.log'
  $ heddle index . --include '*.md' --dry-run
  $ heddle index docs --json | jq -r 'select(.outcome == "failed").name'`;

const collected = (pattern: string, before: readonly string[] = []): readonly string[] => [...before, pattern];

export function addIndexDocuments(program: Command, context: Context): void {
  const command = program
    .command("index")
    .summary("make the files of a folder documents that agents can search")
    .description("Indexes the files of a folder as a collection of documents, for agents to search with file_search.")
    .argument("<dir>", "the folder")
    .option("--collection <name>", "the collection (default: from the folder's name)", collectionArgument)
    .option("--include <glob>", "only files that match; may be given several times", collected)
    .option("--exclude <glob>", "leave out files that match; may be given several times", collected)
    .option("--dry-run", "say what would be done, and do nothing", false)
    .option("--replace", "go on where most of the collection would be removed", false)
    .option("--json", "print each document as one line of JSON: collection, name, outcome, sizeBytes, why", false)
    .addHelpText("after", help);
  addDocumentServerOptions(command).action(
    context.action((dir: string, flags: IndexFlags) => index(context, dir, flags)),
  );
}

async function index(context: Context, dir: string, flags: IndexFlags): Promise<void> {
  const directory = folderArgument(dir);
  const collection = flags.collection ?? collectionOf(directory);
  // Late, as what reads folders is needed here alone.
  const { chooserOf, FolderFiles } = await import("../folder-files.js");
  const { include = [], exclude = [] } = flags;
  const isMeant = inWords(() => chooserOf({ include, exclude }));
  const folder = await FolderFiles.open(directory).catch((reason) => {
    throw new Failure(usageEnding(`the folder ${safeLine(directory)} cannot be read`), reason);
  });
  try {
    await withDocuments({ ...context, readsOnly: flags.dryRun }, flags, async (documents) => {
      const isData = isWithin(documents.dataDir, directory);
      const listing = await folder.list((path) => isMeant(path) && !isData(path), context.signal);
      await indexListing(context, { directory, collection, folder, listing, documents, flags });
    });
  } finally {
    await folder.close();
  }
}

interface Task {
  readonly directory: string;
  readonly collection: string;
  readonly folder: FolderFiles;
  readonly listing: Listing;
  readonly documents: OpenDocuments;
  readonly flags: IndexFlags;
}

async function indexListing({ io, signal }: Context, task: Task): Promise<void> {
  const { collection, folder, listing, documents, flags } = task;
  const { client } = documents;
  const there = new Map<string, string>();
  for await (const { name, sha256 } of client.list(collection, signal))
    there.set(name, Buffer.from(sha256).toString("hex"));
  refuseLoss(task, there);
  if (listing.isIncomplete)
    await io.stderr.write("heddle: not all of the folder could be read: nothing is removed from the collection\n");
  const { files, skipped } = listing;
  const view = openIndexView(io, { isJson: flags.json, isDryRun: flags.dryRun, collection, total: files.length });
  let tally: Tally = noTally;
  const report = {
    started: view.started,
    ended: async (indexed: Parameters<typeof view.ended>[0]) => {
      tally = tallied(tally, indexed);
      await view.ended(indexed);
    },
  };
  const job = { folder, files, collection, there, client, signal };
  try {
    for (const { path, why } of skipped) await report.ended({ name: path, outcome: "skipped", sizeBytes: 0, why });
    await indexFolder({ ...job, isDryRun: flags.dryRun, keepsMissing: listing.isIncomplete }, report);
  } catch (reason) {
    await view.close().catch(() => {});
    throw cutOff(reason, task, tally);
  }
  await view.close();
  await view.result(tally);
  if (tally.failed > 0) throw new Failure({ code: exitCodes.error, message: "" }, undefined);
}

/** So many at least, and more than half of them. */
const fewestLost = 10;

/** Two folders of one name would take turns to remove each other's documents. */
function refuseLoss({ directory, collection, listing, flags }: Task, there: ReadonlyMap<string, string>): void {
  if (flags.replace || flags.dryRun || listing.isIncomplete) return;
  const here = new Set(listing.files);
  const lost = [...there.keys()].filter((name) => !here.has(name)).length;
  if (lost < fewestLost || 2 * lost <= there.size) return;
  const message = `${lost} of the ${there.size} documents of the collection ${collection} are not in ${safeLine(directory)}, and would be removed. If it is another folder's, give --collection another name; else add --replace`;
  throw new Failure({ code: exitCodes.usage, message }, undefined);
}

/** What is done stays, and that is worth knowing. */
function cutOff(reason: unknown, { listing, documents }: Task, tally: Tally): Failure {
  const { code, message } = documents.endingOf(reason);
  if (code === exitCodes.ok) return new Failure({ code, message }, reason);
  const done = tally.new + tally.changed + tally.unchanged + tally.failed;
  const count = `${done} of ${listing.files.length} files`;
  const next = "What was indexed stays; run the same command again to go on";
  if (message === "") return new Failure({ code, message: `stopped after ${count}. ${next}` }, reason);
  const lead = code === exitCodes.unreachable ? `the server went away after ${count}` : `stopped after ${count}`;
  return new Failure({ code, message: `${lead}: ${message}. ${next}` }, reason);
}

function inWords<Value>(make: () => Value): Value {
  try {
    return make();
  } catch (reason) {
    throw new Failure(usageEnding(safeLine(reason instanceof Error ? reason.message : String(reason))), reason);
  }
}

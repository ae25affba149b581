// heddle documents: what agents can search; a search as they make it; and the removal of one.
import { toJsonString } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError } from "commander";
import { type Document, DocumentSchema, type Passage, PassageSchema } from "../../gen/heddle/v1/document_service_pb.js";
import { addDocumentServerOptions, type DocumentServerFlags, withDocuments } from "./documents-server.js";
import { usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { dateTime, sizeText } from "./format.js";
import { collectionArgument } from "./index-arguments.js";
import { commandLine, type Where } from "./next-command.js";
import type { Context } from "./run.js";
import { type Style, safeBlock, safeLine, styleFor } from "./terminal.js";
import { joined } from "./words.js";

interface DocumentsFlags extends DocumentServerFlags {
  readonly collection?: string;
  readonly json: boolean;
}

interface SearchFlags extends DocumentsFlags {
  readonly limit?: number;
}

const help = `
Asks the server that holds the data directory; where there is none, it starts one of its own for the time. "heddle index" puts
documents there.

Examples:
  $ heddle documents
  $ heddle documents --collection handbook --json | jq -r .name
  $ heddle documents search "refund policy"
  $ heddle documents delete drafts/old.md --collection handbook`;

export function addDocuments(program: Command, context: Context): void {
  const command = program
    .command("documents")
    .summary("list, search and delete the documents that agents can search")
    .description("Lists the documents that agents can search, in order of collection and name.")
    .usage("[options]\n       heddle documents search|delete [options] <…>")
    .option("--collection <name>", "only this collection", collectionArgument)
    .option("--json", "print each document as one line of JSON (proto3 JSON of Document)", false)
    .enablePositionalOptions()
    .addHelpText("after", help);
  addDocumentServerOptions(command).action(context.action((flags: DocumentsFlags) => list(context, flags)));
  // Flags may stand before the verb too.
  const withGiven = <Flags extends object>(flags: Flags): Flags => ({ ...command.opts(), ...flags });

  const searching = command
    .command("search")
    .description("Searches as file_search does: the best passages, each with its document and lines.")
    .argument("<query>", "words or a question", queryArgument)
    .option("--collection <name>", "only this collection", collectionArgument)
    .option("--limit <n>", "at most so many passages, 1 to 50 (default: 8)", limitArgument)
    .option("--json", "print each passage as one line of JSON (proto3 JSON of Passage)");
  addDocumentServerOptions(searching).action(
    context.action((query: string, flags: SearchFlags) => search(context, query, withGiven(flags))),
  );

  const deleting = command
    .command("delete")
    .description("Removes a document. One that is not there is no error.")
    .argument("<name>", "its name, as the list shows it")
    .option("--collection <name>", "its collection (default: default)", collectionArgument);
  addDocumentServerOptions(deleting).action(
    context.action((name: string, flags: DocumentsFlags) => remove(context, name, withGiven(flags))),
  );
}

async function list(context: Context, flags: DocumentsFlags): Promise<void> {
  const { io, signal } = context;
  const style = styleFor(io, "stdout");
  await withDocuments({ ...context, readsOnly: true }, flags, async ({ client, where }) => {
    let count = 0;
    for await (const document of client.list(flags.collection ?? "", signal)) {
      if (count++ === 0 && !flags.json) await io.stdout.write(`${style.dim(rowOf(headings))}\n`);
      const text = flags.json ? toJsonString(DocumentSchema, document) : rowOf(cellsOf(document));
      await io.stdout.write(`${text}\n`);
    }
    if (count === 0 && !flags.json) await io.stderr.write(`${noneText(flags, where)}\n`);
  });
}

const noneText = ({ collection }: DocumentsFlags, where: Where): string =>
  collection === undefined
    ? `There are no documents yet: put some there with ${commandLine("index <dir>", where)}.`
    : `There are no documents in ${collection}.`;

interface Cells {
  readonly collection: string;
  readonly size: string;
  readonly passages: string;
  readonly indexed: string;
  readonly name: string;
}

const headings: Cells = {
  collection: "COLLECTION",
  size: "SIZE",
  passages: "PASSAGES",
  indexed: "INDEXED",
  name: "NAME",
};

/** Rows are printed as pages arrive, so that widths are fixed; what is longer pushes its row to the right. */
const rowOf = ({ collection, size, passages, indexed, name }: Cells): string =>
  `${collection.padEnd(16)}  ${size.padStart(10)}  ${passages.padStart(8)}  ${indexed.padEnd(19)}  ${name}`;

const cellsOf = ({ collection, name, sizeBytes, passages, updateTime }: Document): Cells => ({
  collection: safeLine(collection),
  size: sizeText(sizeBytes),
  passages: String(passages),
  indexed: dateTime(updateTime),
  name: safeLine(name),
});

async function search(context: Context, query: string, flags: SearchFlags): Promise<void> {
  const { io, signal } = context;
  const style = styleFor(io, "stdout");
  const { passages } = await withDocuments({ ...context, readsOnly: true }, flags, ({ client }) =>
    client.search({ query, collection: flags.collection ?? "", limit: flags.limit ?? 0 }, signal),
  );
  for (const passage of passages)
    await io.stdout.write(`${flags.json ? toJsonString(PassageSchema, passage) : passageText(passage, style)}\n`);
  if (passages.length === 0 && !flags.json) await io.stderr.write("Nothing was found.\n");
}

/** `refunds.md:12-30  handbook, Shop › Refunds`, and below it the text. */
function passageText(passage: Passage, style: Style): string {
  const { collection, documentName, firstLine, lastLine, page, heading, text } = passage;
  const place = `${documentName}:${firstLine}-${lastLine}`;
  const about = joined(collection, page === 0 ? "" : `page ${page}`, heading);
  const head = `${style.bold(safeLine(place))}  ${style.dim(safeLine(about))}`;
  const lines = safeBlock(text).trimEnd().split("\n");
  return [head, ...lines.map((line) => `  ${line}`.trimEnd())].join("\n");
}

async function remove(context: Context, name: string, flags: DocumentsFlags): Promise<void> {
  const collection = flags.collection ?? "default";
  await withDocuments({ ...context, readsOnly: true }, flags, ({ client }) =>
    client.delete({ collection, name }, context.signal),
  );
  await context.io.stdout.write(`${safeLine(`${name} is no longer in ${collection}.`)}\n`);
}

function queryArgument(text: string): string {
  if (text.trim() !== "") return text;
  throw new Failure(usageEnding("the query is empty: give words or a question"), undefined);
}

function limitArgument(text: string): number {
  if (/^[1-9]\d?$/.test(text) && Number(text) <= 50) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 50.");
}

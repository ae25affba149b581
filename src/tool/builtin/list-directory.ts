// Lists one directory of the workspace. What it holds is read once, in bounded memory, however much that is.
import { z } from "zod";
import { defineTool, type ToolContext } from "../tool.js";
import { counted, oneLine, visible } from "../words.js";
import { type OpenDirectory, Workspace } from "../workspace/workspace.js";

/** The others are counted. */
const listedEntries = 1_000;
/** How many entries are looked at, printed and reported together. */
const pieceEntries = 100;
const pathUnits = 4_096;

const entry = z.object({
  name: z.string().describe("As the file system has it"),
  type: z.enum(["file", "directory", "symlink", "other"]).describe("A symbolic link is not followed"),
  size: z.number().int().optional().describe("Bytes, of files"),
});
type Entry = z.infer<typeof entry>;

export const listDirectory = defineTool({
  name: "list_directory",
  title: "List directory",
  description: `List what a directory of the workspace holds, by name, at most ${listedEntries} entries. Directories end with "/".`,
  kind: "read",
  onlyLooks: true,
  input: z.object({
    path: z
      .string()
      .max(pathUnits)
      .default(".")
      .describe('The directory, from the workspace. Default: ".", the workspace'),
  }),
  output: z.object({
    path: z.string().describe("From the workspace"),
    entries: z.array(entry).describe("By name, as many as are listed"),
    total: z.number().int().describe("How many there are"),
  }),
  describe: ({ path }) => `Listing ${withSlash(path)}`,
  run: async ({ path }, context) => {
    context.signal.throwIfAborted();
    await using workspace = await Workspace.open(context.workspace);
    await using directory = await workspace.openDirectory(path || ".");
    const { names, total } = await readNames(directory, context);
    const entries = await readEntries({ directory, names, total }, context);
    return {
      result: { path: directory.place.relative, entries, total },
      summary: `Listed ${countWords(entries.length, total)} in ${withSlash(directory.place.relative)}`,
      locations: [{ path: directory.place.absolute }],
    };
  },
  toModel: ({ path, entries, total }) =>
    [`${withSlash(path)}: ${countWords(entries.length, total)}`, ...entries.map(lineOf)].join("\n"),
});

/** The first names in order, and how many there are. Never holds more than twice what it gives. */
async function readNames(directory: OpenDirectory, context: ToolContext): Promise<{ names: string[]; total: number }> {
  let names: string[] = [];
  let total = 0;
  for await (const { name } of directory.entries()) {
    context.signal.throwIfAborted();
    names.push(name);
    total++;
    if (names.length < 2 * listedEntries) continue;
    names = names.sort().slice(0, listedEntries);
    context.progress(total);
  }
  if (total > listedEntries) context.progress(total, total);
  return { names: names.sort().slice(0, listedEntries), total };
}

async function readEntries(
  { directory, names, total }: { directory: OpenDirectory; names: readonly string[]; total: number },
  context: ToolContext,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let from = 0; from < names.length; from += pieceEntries) {
    context.signal.throwIfAborted();
    const piece = await Promise.all(names.slice(from, from + pieceEntries).map((name) => directory.entry(name)));
    entries.push(...piece);
    context.output("stdout", piece.map((found) => `${lineOf(found)}\n`).join(""));
    // Where names were left out, reading them was the work, and its progress has been told.
    if (total > pieceEntries && total === names.length) context.progress(entries.length, total);
  }
  return entries;
}

function lineOf({ name, type, size }: Entry): string {
  if (type === "directory") return `${visible(name)}/`;
  if (type === "symlink") return `${visible(name)} (symbolic link)`;
  return size === undefined ? visible(name) : `${visible(name)} (${counted(size, "byte", "bytes")})`;
}

const countWords = (listed: number, total: number): string =>
  listed === total ? counted(total, "entry", "entries") : `${listed} of ${total} entries`;

function withSlash(path: string): string {
  const line = oneLine(path) || ".";
  return line.endsWith("/") ? line : `${line}/`;
}

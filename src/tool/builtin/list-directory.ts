// Lists one directory of the workspace. What it holds is read once, in bounded memory, however much that is.
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defineTool, type ToolContext, ToolFailure } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { insideWorkspace } from "../workspace-path.js";

/** The others are counted. */
const listedEntries = 1_000;
/** How many entries are looked at, printed and reported together. */
const pieceEntries = 100;
const pathUnits = 4_096;

const entry = z.object({
  name: z.string(),
  type: z.enum(["file", "directory", "symlink", "other"]),
  size: z.number().int().optional().describe("Bytes, of files"),
});
type Entry = z.infer<typeof entry>;

export const listDirectory = defineTool({
  name: "list_directory",
  title: "List directory",
  description: `List what a directory of the workspace holds, by name, at most ${listedEntries} entries. Directories end with "/".`,
  kind: "read",
  input: z.object({
    path: z
      .string()
      .max(pathUnits)
      .default(".")
      .describe('The directory, from the workspace. Default: ".", the workspace'),
  }),
  output: z.object({ path: z.string(), entries: z.array(entry), total: z.number().int() }),
  describe: ({ path }) => `Listing ${withSlash(path)}`,
  run: async ({ path }, context) => {
    const directory = await insideWorkspace(context.workspace, path).catch(failed(path));
    const { names, total } = await readNames(directory.absolute, context).catch(failed(path));
    const entries = await readEntries({ directory: directory.absolute, names, total }, context);
    return {
      result: { path: directory.relative, entries, total },
      summary: `Listed ${countWords(entries.length, total)} in ${withSlash(directory.relative)}`,
      locations: [{ path: directory.absolute }],
    };
  },
  toModel: ({ path, entries, total }) =>
    [`${withSlash(path)}: ${countWords(entries.length, total)}`, ...entries.map(lineOf)].join("\n"),
});

/** The first names in order, and how many there are. Never holds more than twice what it gives. */
async function readNames(directory: string, context: ToolContext): Promise<{ names: string[]; total: number }> {
  let names: string[] = [];
  let total = 0;
  context.signal.throwIfAborted();
  // Leaving the loop, also by a throw, closes the directory.
  for await (const { name } of await opendir(directory, { bufferSize: pieceEntries })) {
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
  { directory, names, total }: { directory: string; names: readonly string[]; total: number },
  context: ToolContext,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let from = 0; from < names.length; from += pieceEntries) {
    context.signal.throwIfAborted();
    const piece = await Promise.all(names.slice(from, from + pieceEntries).map((name) => readEntry(directory, name)));
    entries.push(...piece);
    context.output("stdout", piece.map((found) => `${lineOf(found)}\n`).join(""));
    // Where names were left out, reading them was the work, and its progress has been told.
    if (total > pieceEntries && total === names.length) context.progress(entries.length, total);
  }
  return entries;
}

async function readEntry(directory: string, name: string): Promise<Entry> {
  // One that is gone again, or whose name is not Unicode, is still an entry.
  const found = await lstat(join(directory, name)).catch(() => undefined);
  if (found?.isFile()) return { name, type: "file", size: found.size };
  return { name, type: found?.isDirectory() ? "directory" : found?.isSymbolicLink() ? "symlink" : "other" };
}

function lineOf({ name, type, size }: Entry): string {
  if (type === "directory") return `${visible(name)}/`;
  if (type === "symlink") return `${visible(name)} (symbolic link)`;
  return size === undefined ? visible(name) : `${visible(name)} (${counted(size, "byte", "bytes")})`;
}

/** A name may hold line breaks and terminal codes; a line must not. Everything else stays as it is, for the model to use. */
const visible = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

const countWords = (listed: number, total: number): string =>
  listed === total ? counted(total, "entry", "entries") : `${listed} of ${total} entries`;

function withSlash(path: string): string {
  const line = oneLine(path) || ".";
  return line.endsWith("/") ? line : `${line}/`;
}

const failed = (path: string) => (reason: unknown) => {
  // Only what the file system says is put into words: the reason of an abort goes on as it is.
  if (!(reason instanceof Error && "syscall" in reason)) throw reason;
  const code = (reason as NodeJS.ErrnoException).code ?? "unknown error";
  throw new ToolFailure(failureWords(code, oneLine(path)), { code, cause: reason });
};

function failureWords(code: string, path: string): string {
  switch (code) {
    case "ENOENT":
      return `No such directory: ${path}; list the one above it to see what is there`;
    case "ENOTDIR":
      return `Not a directory: ${path}; give the path of a directory`;
    case "EACCES":
    case "EPERM":
      return `Permission denied: ${path}; choose another directory`;
    default:
      return `Could not list ${path} (${code}); choose another directory`;
  }
}

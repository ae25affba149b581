// Deletes one file of the workspace: the name itself, never what a link points at, and never a directory.
import { z } from "zod";
import { bounds } from "../change/bounds.js";
import { compareTexts } from "../change/compare-texts.js";
import { quoteName } from "../change/file-name.js";
import { formatDiff } from "../change/format-diff.js";
import { diffContent, diffPreview, named, pathInput, wordPreview } from "../change/text-change.js";
import { defineTool, type Preview, ToolFailure } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { type Examined, type Place, Workspace } from "../workspace/workspace.js";

const input = z.object({ path: pathInput.describe("The file, from the workspace") });

export const deleteFile = defineTool({
  name: "delete_file",
  title: "Delete file",
  description: "Delete one file of the workspace. It cannot be brought back. Directories are not deleted.",
  kind: "delete",
  input,
  output: z.object({
    path: z.string().describe("From the workspace"),
    removed: z.number().int().optional().describe("Lines, where it was text of a moderate size"),
  }),
  describe: ({ path }) => `Deleting ${named(path)}`,
  preview: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    return (await plan(input.path, workspace)).preview;
  },
  run: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    const { preview, removed } = await plan(input.path, workspace);
    context.signal.throwIfAborted();
    const place = await workspace.removeFile(input.path);
    return {
      result: { path: place.relative, ...(removed !== undefined && { removed }) },
      summary: `Deleted ${named(place.relative)}`,
      ...(removed !== undefined && { content: [diffContent(preview.data)] }),
      locations: [{ path: place.absolute }],
    };
  },
  toModel: ({ path }) => `Deleted ${oneLine(path)}.`,
});

interface Deletion {
  readonly place: Place;
  readonly preview: Preview;
  /** Lines. Undefined where the file is not shown as text. */
  readonly removed?: number;
}

async function plan(path: string, workspace: Workspace): Promise<Deletion> {
  const found = await workspace.examine(path, { lastLink: "keep" });
  const { place, type } = found;
  if (type === undefined)
    throw failed("ENOENT", `File not found: ${named(path)}; list the directory to see what is there`);
  if (type === "directory") throw failed("EISDIR", `Is a directory: ${named(path)}; delete its files one by one`);
  const text = type === "file" ? await readable(path, workspace) : undefined;
  if (text === undefined)
    return { place, preview: wordPreview(`Delete ${quoteName(place.relative)} (${sortOf(found)})`) };
  const comparison = compareTexts(text, "");
  const isExecutable = ((found.mode ?? 0) & 0o100) !== 0;
  const diff = formatDiff({ from: place.relative, to: undefined, comparison, after: "", isExecutable });
  return { place, preview: diffPreview(diff), removed: comparison.removed };
}

/** Undefined where it cannot be shown: it is binary, large, not ours to read, or has several names. It can still be deleted. */
async function readable(path: string, workspace: Workspace): Promise<string | undefined> {
  try {
    return (await workspace.readText(path, bounds.shownBytes)).text;
  } catch (reason) {
    if (reason instanceof ToolFailure) return undefined;
    throw reason;
  }
}

function sortOf({ type, size = 0 }: Examined): string {
  if (type === "symlink") return "a symbolic link; what it points at stays";
  return type === "file" ? `${counted(size, "byte", "bytes")}, not shown` : "not a regular file";
}

const failed = (code: string, message: string): ToolFailure => new ToolFailure(message, { code });

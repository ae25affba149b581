// Writes a whole file of the workspace, new or in place of what is there: at once or not at all.
import { z } from "zod";
import { asSeen } from "../change/as-seen.js";
import { bounds } from "../change/bounds.js";
import { countLines } from "../change/hunk.js";
import {
  fileText,
  isChange,
  makeChange,
  named,
  pathInput,
  previewOf,
  sumWords,
  type TextChange,
  textChange,
  tracesOf,
} from "../change/text-change.js";
import { defineTool } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { Workspace } from "../workspace/workspace.js";

const input = z.object({
  path: pathInput.describe("The file, from the workspace. Missing directories are made"),
  content: fileText.max(bounds.writtenUnits).describe("All of the file's text, with the line break at its end"),
});

export const writeFile = defineTool({
  name: "write_file",
  title: "Write file",
  description:
    "Write a whole text file of the workspace: a new one, or in place of what is there. To change a part of a file, edit_file is better.",
  kind: "edit",
  input,
  output: z.object({
    path: z.string().describe("From the workspace"),
    created: z.boolean().describe("False: it was there, and was replaced"),
    lines: z.number().int().describe("Of the new text"),
    added: z.number().int().describe("Lines"),
    removed: z.number().int().describe("Lines"),
  }),
  describe: ({ path, content }) => `Writing ${named(path)} (${lineWords(content)})`,
  preview: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    return previewOf(await plan(input, workspace));
  },
  run: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    const change = await plan(input, workspace);
    context.signal.throwIfAborted();
    await makeChange(workspace, input.path, change);
    const { added, removed } = change.comparison;
    const lines = countLines(change.after);
    return {
      result: { path: change.place.relative, created: change.before === undefined, lines, added, removed },
      summary: summaryOf(change),
      ...tracesOf(change),
    };
  },
  toModel: ({ path, created, lines, added, removed }) => {
    if (created) return `Created ${oneLine(path)} (${counted(lines, "line", "lines")}).`;
    if (added + removed === 0) return `${oneLine(path)} had this text already; nothing was written.`;
    return `Replaced ${oneLine(path)} (${sumWords({ added, removed })}).`;
  },
});

async function plan({ path, content }: z.output<typeof input>, workspace: Workspace): Promise<TextChange> {
  const { place, type } = await workspace.examine(path);
  if (type === undefined) return textChange({ place, before: undefined, after: content });
  const file = await workspace.readText(path, bounds.editedBytes);
  // A model sees neither byte-order mark nor Windows' line ends: what it does not write is not meant to go.
  return textChange({ place: file.place, before: file.text, after: asSeen(file.text).restored(content) });
}

function summaryOf(change: TextChange): string {
  const path = named(change.place.relative);
  if (change.before === undefined) return `Created ${path} (${lineWords(change.after)})`;
  if (!isChange(change)) return `Left ${path} as it was (${lineWords(change.after)})`;
  return `Replaced ${path} (${sumWords(change.comparison)})`;
}

const lineWords = (text: string): string => counted(countLines(text), "line", "lines");

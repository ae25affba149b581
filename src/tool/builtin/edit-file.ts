// Replaces a piece of a file's text, to the letter. Line ends, byte-order mark and permissions stay as they are.
import { z } from "zod";
import { bounds } from "../change/bounds.js";
import { replaceText } from "../change/replace-text.js";
import {
  fileText,
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
  path: pathInput.describe("The file, from the workspace"),
  old_text: fileText
    .min(1)
    .max(bounds.writtenUnits)
    .describe("The text to replace, exactly as it stands in the file, with white space and line breaks"),
  new_text: fileText.max(bounds.writtenUnits).describe("The text in its place. Empty: the old text is taken out"),
  replace_all: z
    .boolean()
    .default(false)
    .describe("Replace every place where the text stands. Default: it must stand there exactly once"),
});

export const editFile = defineTool({
  name: "edit_file",
  title: "Edit file",
  description:
    "Replace a piece of a text file of the workspace by another, to the letter. Give enough of the text around it to make it the only one.",
  kind: "edit",
  input,
  output: z.object({
    path: z.string().describe("From the workspace"),
    replacements: z.number().int().describe("Places where the text stood"),
    added: z.number().int().describe("Lines"),
    removed: z.number().int().describe("Lines"),
  }),
  describe: ({ path }) => `Editing ${named(path)}`,
  preview: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    return previewOf((await plan(input, workspace)).change);
  },
  run: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    const { change, replacements } = await plan(input, workspace);
    context.signal.throwIfAborted();
    await makeChange(workspace, input.path, change);
    const { added, removed } = change.comparison;
    return {
      result: { path: change.place.relative, replacements, added, removed },
      summary: `Edited ${named(change.place.relative)} (${sumWords(change.comparison)})`,
      ...tracesOf(change),
    };
  },
  toModel: ({ path, replacements, added, removed }) =>
    `Edited ${oneLine(path)}: ${counted(replacements, "replacement", "replacements")} (${sumWords({ added, removed })}).`,
});

async function plan(
  { path, old_text, new_text, replace_all }: z.output<typeof input>,
  workspace: Workspace,
): Promise<{ change: TextChange; replacements: number }> {
  // Refuses what may not be changed before anything is read.
  await workspace.examine(path);
  const { place, text } = await workspace.readText(path, bounds.editedBytes);
  const replacement = { oldText: old_text, newText: new_text, replaceAll: replace_all };
  const { text: after, replacements } = replaceText(text, replacement, named(place.relative));
  return { change: textChange({ place, before: text, after }), replacements };
}

// Moves one file of the workspace, or gives it another name. Never replaces anything.
import { z } from "zod";
import { formatDiff } from "../change/format-diff.js";
import { diffContent, diffPreview, named, pathInput } from "../change/text-change.js";
import { defineTool, ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { type Place, Workspace } from "../workspace/workspace.js";

const input = z.object({
  from: pathInput.describe("The file, from the workspace"),
  to: pathInput.describe("Its new path, from the workspace, with its name. Missing directories are made"),
});

export const moveFile = defineTool({
  name: "move_file",
  title: "Move file",
  description: "Move a file of the workspace, or rename it. Fails when there is something under the new path already.",
  kind: "move",
  input,
  output: z.object({
    from: z.string().describe("Where it was, from the workspace"),
    to: z.string().describe("Where it is, from the workspace"),
  }),
  // The whole line is cut, not each path: two long ones would not fit.
  describe: ({ from, to }) => oneLine(`Moving ${named(from)} to ${named(to)}`),
  preview: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    const { from, to } = await plan(input, workspace);
    return diffPreview(diffOf(from, to));
  },
  run: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    await plan(input, workspace);
    context.signal.throwIfAborted();
    const { from, to } = await workspace.moveFile(input.from, input.to, { makeParents: true });
    return {
      result: { from: from.relative, to: to.relative },
      summary: oneLine(`Moved ${named(from.relative)} to ${named(to.relative)}`),
      content: [diffContent(diffOf(from, to))],
      locations: [{ path: to.absolute }],
    };
  },
  toModel: ({ from, to }) => oneLine(`Moved ${oneLine(from)} to ${oneLine(to)}.`),
});

async function plan({ from, to }: z.output<typeof input>, workspace: Workspace): Promise<{ from: Place; to: Place }> {
  const source = await workspace.examine(from, { lastLink: "keep" });
  const target = await workspace.examine(to, { lastLink: "keep" });
  if (source.type === undefined)
    throw failed("ENOENT", `File not found: ${named(from)}; list the directory to see what is there`);
  if (source.type === "directory") throw failed("EISDIR", `Is a directory: ${named(from)}; move its files one by one`);
  if (target.type !== undefined)
    throw failed("EEXIST", `Target exists: ${named(to)}; choose another path, or delete what is there first`);
  return { from: source.place, to: target.place };
}

const failed = (code: string, message: string): ToolFailure => new ToolFailure(message, { code });

const unchanged = { hunks: [], added: 0, removed: 0, firstLine: undefined };

const diffOf = (from: Place, to: Place): string =>
  formatDiff({ from: from.relative, to: to.relative, comparison: unchanged, after: "" });

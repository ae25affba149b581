// Applies a unified diff to files of the workspace: everything is worked out and checked first, then all of it is done, or nothing.
import { z } from "zod";
import { carryOut } from "../change/carry-out.js";
import { parsePatch, patchBounds } from "../change/parse-patch.js";
import { type PlannedFile, planPatch } from "../change/plan-patch.js";
import { diffContent, diffPreview, fileText, locationOf, sumWords } from "../change/text-change.js";
import { defineTool } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { Workspace } from "../workspace/workspace.js";

const input = z.object({
  patch: fileText
    .min(1)
    .max(patchBounds.units)
    .describe(
      'A unified diff: for each file "--- a/path" and "+++ b/path" (/dev/null for a new or deleted file), then hunks with right line counts. "rename from" and "rename to" under "diff --git" move a file.',
    ),
});

const file = z.object({
  path: z.string().describe("From the workspace"),
  change: z.enum(["edit", "create", "delete", "rename"]).describe("What became of it"),
  from: z.string().optional().describe("Where a renamed file was"),
  added: z.number().int().describe("Lines"),
  removed: z.number().int().describe("Lines"),
});

const output = z.object({
  files: z.array(file).describe("In the patch's order"),
  added: z.number().int().describe("Lines, of all files"),
  removed: z.number().int().describe("Lines, of all files"),
});

export const applyPatch = defineTool({
  name: "apply_patch",
  title: "Apply patch",
  description:
    "Apply a unified diff to one or several text files of the workspace: edit, create, delete, rename. All of it is done, or nothing. Lines must match to the letter; line numbers may be off.",
  kind: "edit",
  input,
  output,
  describe: ({ patch }) => startWords(patch),
  preview: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    return diffPreview(diffOf(await planPatch(workspace, parsePatch(input.patch))));
  },
  run: async (input, context) => {
    await using workspace = await Workspace.open(context.workspace);
    const planned = await planPatch(workspace, parsePatch(input.patch));
    await carryOut(
      workspace,
      planned.map(({ step }) => step),
      context.signal,
    );
    const result = resultOf(planned);
    return {
      result,
      summary: `Patched ${filesWords(planned.length)} (${sumWords(result)})`,
      content: [diffContent(diffOf(planned))],
      locations: planned.map((file) => (file.change === "delete" ? { path: file.place.absolute } : locationOf(file))),
    };
  },
  toModel: ({ files, ...sum }) =>
    [`Patched ${filesWords(files.length)} (${sumWords(sum)}):`, ...files.map(lineOf)].join("\n"),
});

/** The patch may be one that cannot be read: the call then fails, and says why. */
function startWords(patch: string): string {
  try {
    return `Applying a patch to ${filesWords(parsePatch(patch).length)}`;
  } catch {
    return "Applying a patch";
  }
}

const filesWords = (count: number): string => counted(count, "file", "files");

const diffOf = (planned: readonly PlannedFile[]): string => planned.map(({ diff }) => diff).join("");

function resultOf(planned: readonly PlannedFile[]): z.infer<typeof output> {
  const files = planned.map(({ place, change, from, comparison: { added, removed } }) => ({
    path: place.relative,
    change,
    ...(from && { from: from.relative }),
    added,
    removed,
  }));
  const sum = (field: "added" | "removed"): number => files.reduce((total, one) => total + one[field], 0);
  return { files, added: sum("added"), removed: sum("removed") };
}

const doneWords = { edit: "edited", create: "created", delete: "deleted", rename: "renamed" } as const;

const lineOf = ({ path, change, from, added, removed }: z.infer<typeof file>): string =>
  `${doneWords[change]} ${from === undefined ? "" : `${oneLine(from)} to `}${oneLine(path)} (${sumWords({ added, removed })})`;

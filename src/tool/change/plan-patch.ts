// What a patch would do to the workspace, worked out to the last letter and not yet done. One file that it does not fit refuses it all.
import { ToolFailure } from "../tool.js";
import type { Place, Workspace } from "../workspace/workspace.js";
import { applyHunks } from "./apply-hunks.js";
import { asSeen } from "./as-seen.js";
import { bounds } from "./bounds.js";
import type { Step } from "./carry-out.js";
import { type Comparison, compareTexts } from "./compare-texts.js";
import type { FilePatch } from "./file-patch.js";
import { formatDiff } from "./format-diff.js";
import type { Hunk } from "./hunk.js";
import { misfitWords } from "./misfit-words.js";
import { named } from "./text-change.js";

export interface PlannedFile {
  readonly change: FilePatch["change"];
  /** Where it is afterwards, or was before it is deleted. */
  readonly place: Place;
  /** Where a renamed file was. */
  readonly from?: Place;
  readonly comparison: Comparison;
  readonly diff: string;
  readonly step: Step;
}

/** Contract: changes nothing. */
export async function planPatch(workspace: Workspace, files: readonly FilePatch[]): Promise<PlannedFile[]> {
  const planned: PlannedFile[] = [];
  const taken = new Set<string>();
  for (const file of files) {
    const plan = await planFile(workspace, file);
    for (const { relative } of [plan.place, ...(plan.from ? [plan.from] : [])]) {
      if (taken.has(relative)) throw failed(relative, "the patch names it twice; join its hunks under one header");
      taken.add(relative);
    }
    planned.push(plan);
  }
  return planned;
}

function planFile(workspace: Workspace, file: FilePatch): Promise<PlannedFile> {
  switch (file.change) {
    case "create":
      return planCreate(workspace, file);
    case "edit":
      return planEdit(workspace, file);
    case "delete":
      return planDelete(workspace, file);
    case "rename":
      return planRename(workspace, file);
  }
}

type Of<Change extends FilePatch["change"]> = Extract<FilePatch, { change: Change }>;

async function planCreate(workspace: Workspace, { path, hunks, isExecutable }: Of<"create">): Promise<PlannedFile> {
  const { place, type } = await workspace.examine(path);
  if (type !== undefined)
    throw failed(path, "it is there already; patch what is there, or choose another name", "EEXIST");
  const after = patched("", hunks, path);
  const comparison = compareTexts("", after);
  const diff = formatDiff({ from: undefined, to: place.relative, comparison, after, isExecutable });
  // Where a link leads is what is made, and what would be taken away again.
  const step = { kind: "create", path: place.relative, text: after, isExecutable } as const;
  return { change: "create", place, comparison, diff, step };
}

async function planEdit(workspace: Workspace, { path, hunks }: Of<"edit">): Promise<PlannedFile> {
  // Refuses what may not be changed before anything is read.
  await workspace.examine(path);
  const { place, text: before } = await workspace.readText(path, bounds.editedBytes);
  const after = patched(before, hunks, path);
  const comparison = compareTexts(before, after);
  const diff = formatDiff({ from: place.relative, to: place.relative, comparison, after });
  return { change: "edit", place, comparison, diff, step: { kind: "write", path, text: after, before } };
}

async function planDelete(workspace: Workspace, { path, hunks }: Of<"delete">): Promise<PlannedFile> {
  const { place, before, isExecutable } = await readItself(workspace, path);
  if (patched(before, hunks, path) !== "")
    throw failed(path, "it is to be deleted, but the patch does not take out all its lines; use delete_file");
  const comparison = compareTexts(before, "");
  const diff = formatDiff({ from: place.relative, to: undefined, comparison, after: "", isExecutable });
  return { change: "delete", place, comparison, diff, step: { kind: "remove", path } };
}

async function planRename(workspace: Workspace, { path, to, hunks }: Of<"rename">): Promise<PlannedFile> {
  const { place: from, before } = await readItself(workspace, path);
  const { place, type } = await workspace.examine(to, { lastLink: "keep" });
  if (type !== undefined) throw failed(to, "it is there already; choose another name", "EEXIST");
  const after = patched(before, hunks, path);
  const comparison = compareTexts(before, after);
  const diff = formatDiff({ from: from.relative, to: place.relative, comparison, after });
  return { change: "rename", place, from, comparison, diff, step: { kind: "rename", path, to, text: after, before } };
}

/** A file that loses its name: it must be the file itself, not a link to it. */
async function readItself(workspace: Workspace, path: string) {
  const { type, mode = 0 } = await workspace.examine(path, { lastLink: "keep" });
  if (type === "symlink")
    throw failed(path, "it is a symbolic link; use move_file or delete_file, which work on the link itself");
  const { place, text: before } = await workspace.readText(path, bounds.editedBytes);
  return { place, before, isExecutable: (mode & 0o100) !== 0 };
}

/** To the letter; or, as a model sees the text, without byte-order mark and with plain line ends, which then stay. */
function patched(text: string, hunks: readonly Hunk[], path: string): string {
  const seen = asSeen(text);
  // Lines that are only put in fit anywhere, to the letter too: they must not bring plain ends along.
  const isPlain = seen.isWindows && !hunks.some(({ lines }) => lines.some((line) => line.text.endsWith("\r\n")));
  const exact = isPlain ? undefined : applyHunks(text, hunks);
  if (exact?.ok) return exact.text;
  const applied = exact !== undefined && seen.text === text ? exact : applyHunks(seen.text, hunks);
  if (applied.ok) return seen.restored(applied.text);
  const hunk = hunks[applied.hunk];
  const which = `hunk ${applied.hunk + 1} of ${hunks.length}${hunk ? ` (line ${hunk.oldStart})` : ""}`;
  throw failed(path, `${which} ${misfitWords(applied.why)}`);
}

const failed = (path: string, words: string, code = "NOT_APPLIED"): ToolFailure =>
  new ToolFailure(`Did not apply to ${named(path)}: ${words}`, { code });

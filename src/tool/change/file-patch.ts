// What a patch does to one file, from the headers that name it.
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { readName } from "./file-name.js";
import type { Hunk } from "./hunk.js";

export type FilePatch =
  | { readonly change: "edit"; readonly path: string; readonly hunks: readonly Hunk[] }
  | {
      readonly change: "create";
      readonly path: string;
      readonly hunks: readonly Hunk[];
      readonly isExecutable: boolean;
    }
  | { readonly change: "delete"; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly change: "rename"; readonly path: string; readonly to: string; readonly hunks: readonly Hunk[] };

/** As they stand in the patch, names without quotes. */
export interface FileHeaders {
  /** Both names of "diff --git", in one. */
  git?: string;
  oldName?: string;
  newName?: string;
  renameFrom?: string;
  renameTo?: string;
  createdMode?: string;
  deletedMode?: string;
  changedMode?: string;
  copied?: string;
  binary?: string;
}

const nothing = "/dev/null";

/** Throws a ToolFailure for what cannot be done. `readHunks` is asked for the hunks of the file that it is told of. */
export function filePatch(headers: FileHeaders, readHunks: (name: string) => Hunk[]): FilePatch {
  const { from, to } = namesOf(headers);
  const name = to ?? from ?? headers.copied;
  if (name === undefined) throw refused('a file has no name; write "--- a/path" and "+++ b/path"');
  refuseWhatCannotBe(headers, name);
  const hunks = readHunks(name);
  if (from === undefined)
    return { change: "create", path: name, hunks, isExecutable: headers.createdMode === "100755" };
  if (to === undefined) return { change: "delete", path: from, hunks };
  if (from !== to) {
    if (headers.renameFrom === undefined)
      throw refused(`${oneLine(from)} and ${oneLine(to)} are two files; say "rename from" and "rename to" to move one`);
    return { change: "rename", path: from, to, hunks };
  }
  if (hunks.length === 0)
    throw refused(`it changes nothing in ${oneLine(name)}; give its hunks, or leave the file out`);
  return { change: "edit", path: from, hunks };
}

interface Sides {
  /** Undefined where there is no file on that side. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

function namesOf(headers: FileHeaders): Sides {
  const { renameFrom, renameTo, createdMode, deletedMode } = headers;
  if (renameFrom !== undefined && renameTo !== undefined) return { from: renameFrom, to: renameTo };
  const { from, to } =
    headers.oldName === undefined ? gitSides(headers) : sidesOf({ old: headers.oldName, new: headers.newName });
  return { from: createdMode === undefined ? from : undefined, to: deletedMode === undefined ? to : undefined };
}

/** The names of "---" and "+++", as they stand there. */
export interface NameLines {
  readonly old: string | undefined;
  readonly new: string | undefined;
}

/** Whether the lines "---" and "+++" behind git's headers are about the same file. If not, another file begins with them. */
export function belongTo(headers: FileHeaders, lines: NameLines): boolean {
  const { renameFrom, renameTo, git } = headers;
  const { from, to } = sidesOf(lines);
  if (renameFrom !== undefined || renameTo !== undefined) {
    const isFrom = (name: string | undefined): boolean => renameFrom === undefined || name === renameFrom;
    const isTo = (name: string | undefined): boolean => renameTo === undefined || name === renameTo;
    return (isFrom(from) && isTo(to)) || (isFrom(lines.old) && isTo(lines.new));
  }
  if (git === undefined || git === `${lines.old} ${lines.new}`) return true;
  const named = gitSides(headers);
  return (from === undefined || from === named.from) && (to === undefined || to === named.to);
}

const gitSides = ({ git = "" }: FileHeaders): Sides => {
  const [first, second] = gitNames(git);
  return sidesOf({ old: first, new: second });
};

/** The letters are git's, unless only one of two names has its letter: then it is a directory. */
function sidesOf({ old: oldName, new: newName }: NameLines): Sides {
  const hasLetters =
    (oldName === nothing || oldName?.startsWith("a/")) && (newName === nothing || newName?.startsWith("b/"));
  const side = (name: string | undefined): string | undefined =>
    name === nothing ? undefined : hasLetters ? name?.slice(2) : name;
  return { from: side(oldName), to: side(newName) };
}

/** Two names in one line. Without quotes there may be spaces in them; both are then the same, or the same but for the letter. */
function gitNames(names: string): [string | undefined, string | undefined] {
  if (names.startsWith('"')) {
    const first = /^"(?:[^"\\]|\\.)*"/s.exec(names)?.[0] ?? "";
    return [readName(names), readName(names.slice(first.length + 1))];
  }
  const half = (names.length - 1) / 2;
  const [first, second] = [names.slice(0, half), names.slice(half + 1)];
  const isSame = first === second || first.replace(/^a\//, "") === second.replace(/^b\//, "");
  return isSame && names[half] === " " ? [first, second] : [undefined, undefined];
}

function refuseWhatCannotBe(headers: FileHeaders, name: string): void {
  if (headers.binary !== undefined) throw refused(`${oneLine(name)} is binary; only text can be patched`);
  if (headers.copied !== undefined)
    throw refused(`it copies to ${oneLine(name)}; create that file with its text instead`);
  if (headers.changedMode !== undefined)
    throw refused(`it changes the mode of ${oneLine(name)}, which is not possible; leave the mode lines out`);
  if (headers.createdMode !== undefined && !["100644", "100755"].includes(headers.createdMode))
    throw refused(`${oneLine(name)} would be no regular file; only those can be created`);
}

const refused = (words: string): ToolFailure =>
  new ToolFailure(`The patch cannot be applied: ${words}`, { code: "EINVAL" });

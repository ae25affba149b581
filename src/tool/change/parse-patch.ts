// Reads a unified diff over one or several files, plain or with git's headers. Strict where a guess could change the wrong thing:
// counts must be right, and a line that looks like a part of a hunk must stand in one. Text around the files is passed over.
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { readName } from "./file-name.js";
import { belongTo, type FileHeaders, type FilePatch, filePatch } from "./file-patch.js";
import type { Hunk, HunkLine } from "./hunk.js";

export const patchBounds = { units: 1_000_000, files: 100, hunks: 5_000 } as const;

/** Throws a ToolFailure that names the place. There is at least one file. */
export function parsePatch(patch: string): FilePatch[] {
  const reader = new PatchReader(patch);
  const files: FilePatch[] = [];
  while (!reader.isAtEnd) {
    if (reader.isAtFile) files.push(reader.readFile());
    else reader.passOver(files.length > 0);
    if (files.length > patchBounds.files)
      throw broken(`it is over more than ${patchBounds.files} files; send it in parts`);
  }
  if (files.length === 0) throw broken(`it names no file; ${nameFiles}`);
  return files;
}

const hunkHeader = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;
const nameFiles = 'begin each file with "--- a/path" and "+++ b/path"';
const gitHeader = "diff --git ";
/** What git's mail format ends with. */
const signature = /^-- \r?$/;

class PatchReader {
  readonly #lines: readonly string[];
  #at = 0;
  #hunks = 0;

  constructor(patch: string) {
    this.#lines = patch.split("\n");
    // The end of the last line is not a line.
    if (this.#lines.at(-1) === "") this.#lines = this.#lines.slice(0, -1);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#lines.length;
  }

  get isAtFile(): boolean {
    return this.#line().startsWith(gitHeader) || this.#isAtNames;
  }

  get #isAtNames(): boolean {
    return this.#line().startsWith("--- ") && this.#line(1).startsWith("+++ ");
  }

  /** Before the first file anything may stand; after it, nothing that may belong to a hunk. */
  passOver(isAfterFile: boolean): void {
    const line = this.#line();
    if (line.startsWith("@@"))
      throw broken(`line ${this.#at + 1} begins a hunk, but no file is named before it; ${nameFiles}`);
    if (line.startsWith("--- ") && hunkHeader.test(this.#line(1)))
      throw broken(`line ${this.#at + 1} (${quoted(line)}) needs a line "+++ b/path" after it`);
    if (isAfterFile && signature.test(line)) this.#at = this.#lines.length;
    else if (isAfterFile && /^[-+ \\].*\S/.test(line))
      throw broken(
        `line ${this.#at + 1} stands outside a hunk (${quoted(line)}); count the lines of the hunk before it`,
      );
    this.#at++;
  }

  readFile(): FilePatch {
    const headers: FileHeaders = this.#line().startsWith(gitHeader) ? this.#readGitHeaders() : {};
    const names = this.#isAtNames ? this.#readNames() : undefined;
    if (names !== undefined && belongTo(headers, names)) {
      headers.oldName = names.old;
      headers.newName = names.new;
      this.#at += 2;
    }
    return filePatch(headers, (name) => this.#readHunks(name));
  }

  #readNames(): { old: string; new: string } {
    return { old: readName(this.#line().slice(4)), new: readName(this.#line(1).slice(4)) };
  }

  #readGitHeaders(): FileHeaders {
    const headers: FileHeaders = { git: this.#line().slice(gitHeader.length).replace(/\r$/, "") };
    for (this.#at++; !this.isAtEnd && !this.isAtFile && !this.#line().startsWith("@@"); this.#at++) {
      const [, word, value = ""] = extendedHeader.exec(this.#line()) ?? [];
      if (word !== undefined) headers[extended[word]!] = readName(value);
    }
    return headers;
  }

  #readHunks(name: string): Hunk[] {
    const hunks: Hunk[] = [];
    for (;;) {
      const isGap = this.#line().trim() === "" && this.#line(1).startsWith("@@");
      if (isGap) this.#at++;
      if (!this.#line().startsWith("@@")) return hunks;
      if (++this.#hunks > patchBounds.hunks)
        throw broken(`it has more than ${patchBounds.hunks} hunks; send it in parts`);
      hunks.push(this.#readHunk(`hunk ${hunks.length + 1} of ${oneLine(name)}`));
    }
  }

  #readHunk(words: string): Hunk {
    const header = hunkHeader.exec(this.#line());
    if (!header) throw broken(`${words} needs a header such as "@@ -12,7 +12,9 @@", not ${quoted(this.#line())}`);
    const [oldStart, oldLines, newStart, newLines] = header.slice(1).map((number) => Number(number ?? 1));
    const counts = `its header says ${oldLines} old and ${newLines} new`;
    const lines: HunkLine[] = [];
    let [oldLeft, newLeft] = [oldLines!, newLines!];
    for (this.#at++; oldLeft > 0 || newLeft > 0 || this.#line().startsWith("\\"); this.#at++) {
      const line = this.#line();
      const sign = this.#signOf(line);
      if (sign === "\\") {
        endWithoutNewline(lines);
        continue;
      }
      if (sign !== "+") oldLeft--;
      if (sign !== "-") newLeft--;
      if (sign === undefined || oldLeft < 0 || newLeft < 0)
        throw broken(`${words} has other lines than announced (${counts}); count them again`);
      lines.push({ sign, text: `${line.slice(1)}\n` });
    }
    if (this.#isMoreOfHunk()) throw broken(`${words} has more lines than announced (${counts}); count them again`);
    return { oldStart: oldStart!, newStart: newStart!, lines };
  }

  /** An empty line stands for an empty line that stays: its space is easily lost. */
  #signOf(line: string): HunkLine["sign"] | "\\" | undefined {
    if (this.isAtEnd) return undefined;
    if (line === "" || line === "\r") return " ";
    const [sign] = line;
    return sign === " " || sign === "+" || sign === "-" || sign === "\\" ? sign : undefined;
  }

  #isMoreOfHunk(): boolean {
    return /^[-+ ]/.test(this.#line()) && !this.#isAtNames && !signature.test(this.#line());
  }

  #line(ahead = 0): string {
    return this.#lines[this.#at + ahead] ?? "";
  }
}

const extended: Readonly<Record<string, Exclude<keyof FileHeaders, "git">>> = {
  "new file mode": "createdMode",
  "deleted file mode": "deletedMode",
  "old mode": "changedMode",
  "new mode": "changedMode",
  "rename from": "renameFrom",
  "rename to": "renameTo",
  "copy from": "copied",
  "copy to": "copied",
  "Binary files": "binary",
  "GIT binary patch": "binary",
};
const extendedHeader = new RegExp(`^(${Object.keys(extended).join("|")})(?: (.*))?$`, "s");

function endWithoutNewline(lines: HunkLine[]): void {
  const last = lines.pop();
  if (last) lines.push({ ...last, text: last.text.replace(/\n$/, "") });
}

const shownUnits = 80;
const quoted = (line: string): string => `"${oneLine(line.slice(0, shownUnits))}"`;

const broken = (words: string): ToolFailure =>
  new ToolFailure(`The patch cannot be read: ${words}`, { code: "EINVAL" });

// Reads what `git diff --numstat -z` prints: `added TAB removed TAB path NUL`, with `-` for binary files; behind a rename the path
// is empty, and the old and the new one follow.

export interface FileChange {
  readonly path: string;
  /** Undefined for what is no text. */
  readonly added?: number;
  readonly removed?: number;
}

export function readNumstat(text: string): FileChange[] {
  const pieces = text.split("\0");
  const changes: FileChange[] = [];
  for (let at = 0; at < pieces.length; at++) {
    const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(pieces[at]!) ?? [];
    if (path === undefined) continue;
    if (path === "") at += 2;
    const to = path === "" ? pieces[at] : path;
    if (to === undefined) break;
    changes.push(added === "-" ? { path: to } : { path: to, added: Number(added), removed: Number(removed) });
  }
  return changes;
}

/** `4 files changed (+120 −33)`. */
export const changeWords = (files: number, added: number, removed: number): string =>
  files === 0 ? "No changes" : `${files === 1 ? "1 file" : `${files} files`} changed (+${added} −${removed})`;

// The read-only logs that this process has open. LMDB keeps one environment a process and file: while a reader's is open,
// an owner would get it too, and it cannot be written.
import { realpathSync } from "node:fs";
import { HeddleError } from "../thread/errors.js";

const readers = new Map<string, number>();

/** Counts a reader of an existing directory. Returns what takes it off the count again. */
export function countReader(dir: string): () => void {
  const path = realpathSync(dir);
  readers.set(path, (readers.get(path) ?? 0) + 1);
  return () => {
    const left = readers.get(path)! - 1;
    if (left === 0) readers.delete(path);
    else readers.set(path, left);
  };
}

/** Throws `directory_in_use` while this process reads the directory. */
export function refuseReadersHere(dir: string): void {
  if (!readers.has(realpathSync(dir))) return;
  const owner = `process ${process.pid}, which is this one, for reading`;
  throw new HeddleError("directory_in_use", `${dir} is in use by ${owner}: close the read-only log first`, {
    detail: { path: dir, owner },
  });
}

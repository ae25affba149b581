// Takes disk space before LMDB needs it, so that a full disk is met here and not inside a commit: LMDB reports a short
// write as an I/O error, and lmdb-js 3.5.6 overruns a buffer when it describes a failed one, which ends the process.
// The file grows at its end by zeros; LMDB does not mind a file longer than what it uses.
import { type FileHandle, open } from "node:fs/promises";
import type { Operation } from "./commit-queue.js";
import { DataFile } from "./lmdb-file.js";
import { pageBytes } from "./lmdb-tables.js";
import { storageError } from "./storage-error.js";

/** Least growth of the file: rare enough to be cheap, small enough that its flush holds nobody up. */
const growthBytes = 1024 * 1024;
const zeros = Buffer.alloc(64 * 1024);

/** Pages that one operation may change: a leaf, its twin after a split, and a share of the branches above. */
const pagesPerOperation = 3;
/** Pages that every commit changes: the roots of all tables and the list of free pages. */
const pagesPerCommit = 32;

/** What a commit is to write. */
type Write = readonly Pick<Operation, "value">[];

export class DiskSpace {
  readonly #file: string;
  readonly #data: DataFile;
  #size: number;
  #transaction = 0;

  constructor(file: string) {
    this.#file = file;
    this.#data = new DataFile(file);
    this.#size = this.#data.size();
  }

  /** The newest transaction of the file when space was last taken. */
  get transaction(): number {
    return this.#transaction;
  }

  /**
   * Contract: no commit is under way. A promise only where the file has to grow: it rejects with `storage_full` and has changed nothing
   * that matters.
   */
  reserve(group: Write): Promise<void> | undefined {
    const needed = bytesOf(group);
    const used = this.#look();
    return this.#size - used < needed ? this.#grow(used + needed) : undefined;
  }

  close(): void {
    this.#data.close();
  }

  #look(): number {
    const { transaction, usedBytes } = this.#data.newest();
    this.#transaction = transaction;
    return usedBytes;
  }

  /** By more than is needed, unless that is all there is. */
  async #grow(needed: number): Promise<void> {
    try {
      // Append mode never touches a byte that is there, whatever else is wrong.
      await using file = await open(this.#file, "a");
      this.#size = (await file.stat()).size;
      const wanted = Math.max(needed, this.#size + growthBytes);
      while (this.#size < wanted) this.#size += await writeZeros(file, wanted - this.#size);
    } catch (error) {
      if (this.#size < needed) throw storageError(error, this.#file);
    }
    this.#look(); // That took a while.
  }
}

async function writeZeros(file: FileHandle, atMost: number): Promise<number> {
  const { bytesWritten } = await file.write(zeros, 0, Math.min(zeros.length, atMost));
  return bytesWritten;
}

/** More than the commit will take, which is all that matters: what it leaves is there for the next one. */
function bytesOf(group: Write): number {
  let pages = pagesPerCommit + group.length * pagesPerOperation;
  for (const { value } of group) if (value) pages += Math.ceil(value.length / pageBytes);
  return pages * pageBytes;
}

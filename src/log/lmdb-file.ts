// Looks at LMDB's data file without LMDB: before it is opened, because lmdb-js 3.5.6 ends the process when the file is not LMDB's, and
// the system ends it when a page that LMDB counts on is not there; and before each commit, because LMDB's own way to the same
// numbers is many times as long.
//
// The first two pages hold a header (24), magic number (4), version (4), address (8), map size (8), two tables (96), the
// number of the last page (8) and of the transaction (8). The page with the higher transaction counts.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { HeddleError } from "../thread/errors.js";
import { pageBytes } from "./lmdb-tables.js";

/** Magic number and version. */
const signature = Buffer.from("dec0efbe0200", "hex");
const offsets = { signature: 24, lastPage: 144, transaction: 152 } as const;

/** Throws `storage_failed` unless LMDB can take the file for its own. An empty one is new. */
export function checkDataFile(file: string): void {
  const data = new DataFile(file);
  try {
    const isSigned = data.isSigned();
    const { usedBytes } = data.newest();
    // After the pages: beside a running owner the file may grow in between, never shrink.
    const size = data.size();
    if (size === 0 || (isSigned && size >= usedBytes)) return;
  } finally {
    data.close();
  }
  throw new HeddleError(
    "storage_failed",
    `${file} is damaged, cut short or not Heddle's: restore the data directory from a backup, or name another`,
    { detail: { path: file } },
  );
}

/** What the newest transaction says. */
export interface NewestTransaction {
  readonly transaction: number;
  /** What it may refer to. The file is always longer (disk-space.ts). */
  readonly usedBytes: number;
}

const metaBytes = offsets.transaction + 8;

/** The file, open for looks. Contract: closed in the end. */
export class DataFile {
  readonly #descriptor: number;
  readonly #pages = Buffer.alloc(pageBytes + metaBytes);
  #isClosed = false;

  constructor(file: string) {
    this.#descriptor = openSync(file, "r");
  }

  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  newest(): NewestTransaction {
    this.#read();
    const first = numberAt(this.#pages, offsets.transaction);
    const second = numberAt(this.#pages, pageBytes + offsets.transaction);
    const page = first > second ? 0 : pageBytes;
    return {
      transaction: Math.max(first, second),
      usedBytes: (numberAt(this.#pages, page + offsets.lastPage) + 1) * pageBytes,
    };
  }

  isSigned(): boolean {
    this.#read();
    return [0, pageBytes].every((page) => {
      const at = page + offsets.signature;
      return this.#pages.subarray(at, at + signature.length).equals(signature);
    });
  }

  /** Once, however often it is called: the number may be somebody else's by then. */
  close(): void {
    if (!this.#isClosed) closeSync(this.#descriptor);
    this.#isClosed = true;
  }

  /** Zeros where the file has ended. */
  #read(): void {
    const bytes = readSync(this.#descriptor, this.#pages, 0, this.#pages.length, 0);
    if (bytes < this.#pages.length) this.#pages.fill(0, bytes);
  }
}

/** Eight bytes, little-endian. Neither pages nor transactions come near what a number can hold. */
const numberAt = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;

// Looks at LMDB's data file before LMDB does: lmdb-js 3.5.6 ends the process when the file is not LMDB's, and the system
// ends it when a page that LMDB counts on is not there.
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
  const descriptor = openSync(file, "r");
  try {
    const metas = readMetas(descriptor);
    // After the pages: beside a running owner the file may grow in between, never shrink.
    const { size } = fstatSync(descriptor);
    if (size === 0 || (metas.every(isSigned) && size >= usedBytes(metas))) return;
  } finally {
    closeSync(descriptor);
  }
  throw new HeddleError(
    "storage_failed",
    `${file} is damaged, cut short or not Heddle's: restore the data directory from a backup, or name another`,
    { detail: { path: file } },
  );
}

/** What LMDB uses of its file, as its newest transaction says. Without LMDB: its own way to the number counts all free pages. */
export function usedBytesOf(file: string): number {
  const descriptor = openSync(file, "r");
  try {
    return usedBytes(readMetas(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

const metaBytes = offsets.transaction + 8;

/** Zeros where the file has ended. */
function readMetas(descriptor: number): Buffer[] {
  const pages = Buffer.alloc(pageBytes + metaBytes);
  readSync(descriptor, pages, 0, pages.length, 0);
  return [pages.subarray(0, metaBytes), pages.subarray(pageBytes)];
}

const isSigned = (meta: Buffer): boolean =>
  meta.subarray(offsets.signature, offsets.signature + signature.length).equals(signature);

/** What the newest transaction may refer to. The file is always longer (disk-space.ts). */
function usedBytes(metas: Buffer[]): number {
  const [a, b] = metas as [Buffer, Buffer];
  const isNewer = a.readBigUInt64LE(offsets.transaction) > b.readBigUInt64LE(offsets.transaction);
  return (Number((isNewer ? a : b).readBigUInt64LE(offsets.lastPage)) + 1) * pageBytes;
}

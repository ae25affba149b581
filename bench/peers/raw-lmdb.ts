// LMDB with nothing around it: puts that are flushed before they resolve, and a scan that only counts.
import { type Database, open, type RootDatabase } from "lmdb";
import type { Operation } from "../../src/log/commit-queue.js";

const binary = { encoding: "binary", keyEncoding: "binary" } as const;

export class RawLmdb {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables = new Map<string, Database<Buffer, Buffer>>();

  /** Flushed as Heddle flushes (`overlappingSync: false`), in groups as lmdb-js makes them by itself. */
  constructor(path: string, { readOnly = false } = {}) {
    this.#root = open<Buffer, Buffer>({
      path,
      readOnly,
      noSubdir: false,
      maxDbs: 16,
      pageSize: 4096,
      overlappingSync: false,
      ...binary,
    });
  }

  /** Resolves when all are flushed. Asked for in one turn, they share a commit. */
  async put(operations: readonly Operation[]): Promise<void> {
    let last: Promise<boolean> | undefined;
    for (const { table, key, value } of operations) last = this.#table(table).put(key, value!);
    await last;
  }

  scan(table: string, range: { start: Buffer; end: Buffer }): { entries: number; bytes: number } {
    let entries = 0;
    let bytes = 0;
    for (const { value } of this.#table(table).getRange(range)) {
      entries++;
      bytes += value.length;
    }
    return { entries, bytes };
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  #table(name: string): Database<Buffer, Buffer> {
    const known = this.#tables.get(name);
    if (known) return known;
    const opened = this.#root.openDB<Buffer, Buffer>(name, { ...binary });
    this.#tables.set(name, opened);
    return opened;
  }
}

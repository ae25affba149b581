// Commits to the documents' environment: one at a time, each whole or not at all, and flushed before it resolves. A full disk is
// met before LMDB meets it (log/disk-space.ts); an environment that LMDB has given up is opened again from the disk.
import { commitError } from "../../log/commit-error.js";
import { dataFile } from "../../log/data-directory.js";
import { DiskSpace } from "../../log/disk-space.js";
import { openEnvironment } from "../../log/lmdb-tables.js";
import { storageError } from "../../log/storage-error.js";
import { HeddleError } from "../../thread/errors.js";
import { type DocumentTableName, type DocumentTables, tablesIn } from "./document-tables.js";

export interface Operation {
  readonly table: DocumentTableName;
  readonly key: Buffer;
  /** Undefined: the key is taken away. */
  readonly value?: Buffer;
}

export class Commits {
  readonly #dir: string;
  readonly #space: DiskSpace;
  #tables: DocumentTables;
  /** Settles when the newest commit has; never rejects. */
  #last: Promise<void> = Promise.resolve();
  #refusal: HeddleError | undefined;

  constructor(dir: string, tables: DocumentTables) {
    this.#dir = dir;
    this.#tables = tables;
    this.#space = new DiskSpace(dataFile(dir));
  }

  /** For looks that are over before anything is awaited. What goes wrong in one is a HeddleError. */
  look<T>(at: (tables: DocumentTables) => T): T {
    if (this.#refusal !== undefined) throw this.#refusal;
    try {
      return at(this.#tables);
    } catch (error) {
      throw storageError(error, this.#dir);
    }
  }

  /**
   * When it is its turn, asks what is to be written, and writes it. `prepare` sees all that was committed before; its result is
   * given back once what it wrote is flushed.
   */
  commit<T>(prepare: (tables: DocumentTables) => { write: readonly Operation[]; result: T }): Promise<T> {
    const done = this.#last.then(async () => {
      const { write, result } = this.look(prepare);
      if (write.length > 0) await this.#write(write);
      return result;
    });
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  /** What was asked for before is written; nothing is afterwards. */
  async close(): Promise<void> {
    await this.#last;
    this.#refusal ??= new HeddleError("shutting_down", "The documents are closed");
    this.#space.close();
    await this.#tables.root.close();
  }

  async #write(write: readonly Operation[]): Promise<void> {
    const tables = this.#tables;
    await this.#space.reserve(write);
    try {
      await tables.root.batch(() => {
        for (const { table, key, value } of write)
          void (value === undefined ? tables[table].remove(key) : tables[table].put(key, value));
      });
    } catch (error) {
      const cause = await commitError(error);
      await this.#revive();
      throw storageError(cause, this.#dir);
    }
  }

  /** When the write of a meta page fails, LMDB declares the environment dead for this process (log/lmdb-session.ts). */
  async #revive(): Promise<void> {
    if (this.#isAlive()) return;
    try {
      await this.#tables.root.close();
      this.#tables = tablesIn(openEnvironment(this.#dir, false)!);
    } catch (error) {
      this.#refusal = storageError(error, this.#dir);
    }
  }

  #isAlive(): boolean {
    try {
      this.#tables.meta.resetReadTxn();
      this.#tables.meta.getKeysCount({});
      return true;
    } catch {
      return false;
    }
  }
}

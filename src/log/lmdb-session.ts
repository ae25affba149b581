// One open data directory: its tables, and what happens to them when they are closed or LMDB gives up.
import type { HeddleError } from "../thread/errors.js";
import { noData } from "./data-directory.js";
import { type Environment, openEnvironment, openTables, type Tables } from "./lmdb-tables.js";
import { closed } from "./log-errors.js";
import { storageError } from "./storage-error.js";

export class LmdbSession {
  readonly path: string;
  #tables: Tables;
  #reopening: Promise<void> | undefined;
  /** Why nobody may look: the log is closed, or LMDB could not be brought back. */
  #refusal: HeddleError | undefined;

  /** Somebody else writes: LMDB's snapshot, which it holds for a moment, may be old by the next look. */
  readonly #isReader: boolean;

  constructor(path: string, environment: Environment, { isReader = false } = {}) {
    this.path = path;
    this.#tables = allTables(path, environment);
    this.#isReader = isReader;
  }

  /** Looks at the tables, synchronously and so in one snapshot. What goes wrong there is a HeddleError. */
  look<T>(at: (tables: Tables) => T): Promise<Awaited<T>> {
    return this.#reopening === undefined ? this.#lookNow(at) : this.#reopening.then(() => this.#lookNow(at));
  }

  /** Not async: what `at` returns is often a promise already, and every append passes here. */
  #lookNow<T>(at: (tables: Tables) => T): Promise<Awaited<T>> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    try {
      if (this.#isReader) this.#tables.meta.resetReadTxn();
      return Promise.resolve(at(this.#tables));
    } catch (error) {
      return Promise.reject(storageError(error, this.path));
    }
  }

  /** For the writes that were taken before the log was closed. */
  get tables(): Tables {
    return this.#tables;
  }

  /** From here on nobody looks. */
  shut(): void {
    this.#refusal ??= closed();
  }

  /** Contract: no commit is under way. */
  async close(): Promise<void> {
    this.shut();
    await this.#tables.root.close();
  }

  /**
   * To be called after a failed commit. When the write of its meta page fails, LMDB declares the environment dead: every
   * read fails from then on, and lmdb-js waits for ever for the next commit. A new environment goes on from the disk.
   * Returns whether there had to be one.
   */
  async revive(): Promise<boolean> {
    if (this.isAlive()) return false;
    this.#reopening = this.#reopen();
    await this.#reopening;
    this.#reopening = undefined;
    return true;
  }

  isAlive(): boolean {
    try {
      this.#tables.meta.resetReadTxn();
      this.#tables.meta.getKeysCount({});
      return true;
    } catch {
      return false;
    }
  }

  async #reopen(): Promise<void> {
    try {
      await this.#tables.root.close();
      this.#tables = allTables(this.path, openEnvironment(this.path, false));
    } catch (error) {
      this.#refusal = storageError(error, this.path);
    }
  }
}

function allTables(path: string, environment: Environment | undefined): Tables {
  const tables = environment && openTables(environment);
  if (tables === undefined) throw noData(path);
  return tables;
}

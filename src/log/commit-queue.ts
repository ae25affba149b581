// Group commit: what is asked for while a commit is under way goes into the next one, so that the price of a flush is
// shared. One commit at a time, because lmdb-js cannot be stopped: a commit that is queued behind a failed one may wait for
// ever (LmdbSession.revive).
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TableName } from "./lmdb-tables.js";

/** Keys and values are encoded before they get here: an exception in the middle of a batch would leave half of it. */
export interface Operation {
  readonly table: TableName;
  readonly key: Buffer;
  /** Undefined: the key is taken away. */
  readonly value?: Buffer;
}

/** Operations that land together or not at all. */
export type Write = readonly Operation[];

/** What one commit takes: enough to share the flush, little enough that nobody waits long for it. */
const groupLimits = { operations: 4096, valueBytes: 8 * 1024 * 1024 } as const;

interface Entry {
  readonly write: Write;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** So many writes are worth a commit of their own, while the callers of the others are still being heard. */
const enoughWrites = 48;

export class CommitQueue {
  #entries: Entry[] = [];
  /** Ends the wait for more. Set while a group gathers. */
  #haveEnough: (() => void) | undefined;
  #running: Promise<void> | undefined;
  /** The last commit was shared: whoever shared it is likely to ask again in this turn. */
  #isCrowded = false;
  readonly #commit: (group: Write) => Promise<void>;

  /** `commit` lands a group whole or rejects; it is never called before it has settled. */
  constructor(commit: (group: Write) => Promise<void>) {
    this.#commit = commit;
  }

  /** Resolves when the write is flushed. An empty one needs no commit. */
  add(write: Write): Promise<void> {
    if (write.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#entries.push({ write, resolve, reject });
      if (this.#entries.length >= enoughWrites) this.#haveEnough?.();
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing is left to do. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    do {
      // A lone writer is not made to wait for others.
      if (this.#isCrowded) await this.#gather();
      await this.#settle(this.#takeGroup());
    } while (this.#entries.length > 0);
    this.#running = undefined;
  }

  /**
   * Lets the rest of this turn come along: those whose commit has just been acknowledged ask again at once. Not longer than
   * it takes to have enough, for the disk can work while the rest is still being prepared.
   */
  async #gather(): Promise<void> {
    if (this.#entries.length >= enoughWrites) return;
    const enough = new Promise<void>((resolve) => {
      this.#haveEnough = resolve;
    });
    await Promise.race([nextTurn(), enough]);
    this.#haveEnough = undefined;
  }

  #takeGroup(): Entry[] {
    let operations = 0;
    let valueBytes = 0;
    const tooMuch = this.#entries.findIndex(({ write }, index) => {
      operations += write.length;
      for (const { value } of write) valueBytes += value?.length ?? 0;
      return index > 0 && (operations > groupLimits.operations || valueBytes > groupLimits.valueBytes);
    });
    return this.#entries.splice(0, tooMuch === -1 ? this.#entries.length : tooMuch);
  }

  async #settle(group: Entry[]): Promise<void> {
    this.#isCrowded = group.length > 1;
    try {
      await this.#commit(joined(group));
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

function joined(group: readonly Entry[]): Write {
  if (group.length === 1) return group[0]!.write;
  const operations: Operation[] = [];
  for (const { write } of group) for (const operation of write) operations.push(operation);
  return operations;
}

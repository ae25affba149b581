// Group commit: what is asked for while a commit is under way goes into the next one, so that the price of a flush is
// shared. One commit at a time, because lmdb-js cannot be stopped: a commit that is queued behind a failed one may wait for
// ever (LmdbSession.revive).
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TableName } from "./lmdb-tables.js";
import { endProcess } from "./own-fault.js";

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

/** A write that waits, and who is told what became of it. Contract: neither throws. */
interface Entry {
  readonly write: Write;
  readonly landed: () => void;
  readonly failed: (reason: unknown) => void;
}

/** So many writes are worth a commit of their own, while the callers of the others are still being heard. */
const enoughWrites = 48;

interface Commits {
  /** Lands a group whole or rejects. Never called before it has settled. */
  commit(group: Write): Promise<unknown>;
  /** What the writers of a group are told that failed. Nothing is committed before it resolves. */
  explain(reason: unknown): Promise<unknown>;
}

export class CommitQueue {
  #entries: Entry[] = [];
  /** Ends the wait for more. Set while a group gathers. */
  #haveEnough: (() => void) | undefined;
  #isRunning = false;
  #onDrained: (() => void)[] = [];
  /** The last commit was shared: whoever shared it is likely to ask again in this turn. */
  #isCrowded = false;
  readonly #commits: Commits;

  constructor(commits: Commits) {
    this.#commits = commits;
  }

  /** Resolves when the write is flushed. An empty one needs no commit. */
  add(write: Write): Promise<void> {
    return new Promise((landed, failed) => this.push({ write, landed, failed }));
  }

  /** The same for who wants to be told at once: every append passes here. */
  push(entry: Entry): void {
    if (entry.write.length === 0) {
      queueMicrotask(entry.landed);
      return;
    }
    this.#entries.push(entry);
    if (this.#entries.length >= enoughWrites) this.#haveEnough?.();
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#next();
  }

  /** Resolves when nothing is left to do. */
  async drained(): Promise<void> {
    while (this.#isRunning) await new Promise<void>((resolve) => this.#onDrained.push(resolve));
  }

  #next(): void {
    if (this.#entries.length === 0) {
      this.#isRunning = false;
      for (const resolve of this.#onDrained.splice(0)) resolve();
    } else if (this.#isCrowded) {
      this.#gather()
        .then(() => this.#commitGroup())
        .catch(endProcess);
    } else {
      this.#commitGroup(); // A lone writer is not made to wait for others.
    }
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

  #commitGroup(): void {
    const group = this.#takeGroup();
    this.#isCrowded = group.length > 1;
    const settled = this.#commits.commit(joined(group)).then(
      () => {
        for (const { landed } of group) landed();
        this.#next();
      },
      async (reason) => {
        const told = await this.#commits.explain(reason).catch(() => reason);
        for (const { failed } of group) failed(told);
        this.#next();
      },
    );
    settled.catch(endProcess);
  }

  #takeGroup(): Entry[] {
    if (this.#entries.length === 1) {
      const alone = this.#entries;
      this.#entries = [];
      return alone;
    }
    let operations = 0;
    let valueBytes = 0;
    const tooMuch = this.#entries.findIndex(({ write }, index) => {
      operations += write.length;
      for (const { value } of write) valueBytes += value?.length ?? 0;
      return index > 0 && (operations > groupLimits.operations || valueBytes > groupLimits.valueBytes);
    });
    return this.#entries.splice(0, tooMuch === -1 ? this.#entries.length : tooMuch);
  }
}

function joined(group: readonly Entry[]): Write {
  if (group.length === 1) return group[0]!.write;
  const operations: Operation[] = [];
  for (const { write } of group) for (const operation of write) operations.push(operation);
  return operations;
}

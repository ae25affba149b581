// Holding without descriptors (see held.ts): the path is real, nothing on it is a link, and what is found there is the same
// before and after. This narrows the race; only a descriptor closes it.
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { systemError } from "./failures.js";
import type { Held, HeldRoot } from "./held.js";

export async function holdRootByPath(directory: string): Promise<HeldRoot> {
  const real = await realpath(directory);
  const stats = await lstat(real);
  if (!stats.isDirectory()) throw systemError("ENOTDIR");
  return { held: new HeldByPath(real, stats), real };
}

class HeldByPath implements Held {
  constructor(
    readonly path: string,
    readonly stats: Stats,
  ) {}

  whereabouts(): undefined {}

  async hold(name: string): Promise<Held> {
    const path = join(this.path, name);
    const stats = await lstat(path);
    await this.verify();
    return new HeldByPath(path, stats);
  }

  async openToRead(): Promise<FileHandle> {
    await this.verify();
    const handle = await open(this.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!isSame(await handle.stat(), this.stats)) throw systemError("ESTALE");
      await this.verify();
      return handle;
    } catch (reason) {
      await handle.close();
      throw reason;
    }
  }

  async verify(): Promise<void> {
    if ((await realpath(this.path)) !== this.path) throw systemError("ESTALE");
    if (!isSame(await lstat(this.path), this.stats)) throw systemError("ESTALE");
  }

  async close(): Promise<void> {}
}

const isSame = (one: Stats, other: Stats): boolean => one.dev === other.dev && one.ino === other.ino;
